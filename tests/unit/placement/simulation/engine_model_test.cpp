#include "placement/simulation/engine_model.hpp"

#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fareway::simulation {
namespace {

using Kind = EngineEvent::Kind;

/// Round figures: a step takes 10 ms and 1 ms a sequence, a prompt token 1 ms; 100 tokens a step.
EngineParameters round_figures() {
  return {.speed = {.step_floor = 0.010, .per_sequence = 0.001, .per_prompt_token = 0.001},
          .seats = 4,
          .chunk = 100,
          .kv_tokens = 10'000};
}

struct Times {
  std::map<RequestId, SimTime> first;
  std::map<RequestId, SimTime> finished;
  std::map<RequestId, std::int64_t> cached;
};

Times run_until(EngineModel& engine, SimTime until) {
  Times times;
  engine.advance(until);
  for (const EngineEvent& event : engine.take_events(until)) {
    (event.kind == Kind::kFirstToken ? times.first : times.finished)[event.request] = event.time;
    times.cached[event.request] = event.cached;
  }
  return times;
}

TEST(EngineModel, ALoneRequestTakesItsPrefillAndOneStepAToken) {
  EngineModel engine(round_figures());
  engine.submit({.id = 1, .prompt = 50, .output = 11, .blocks = {}}, 2.0);
  const Times times = run_until(engine, 100);
  // 10 ms of step with nobody decoding + 50 × 1 ms; then ten steps of 10 + 1 ms.
  EXPECT_NEAR(times.first.at(1), 2.060, 1e-9);
  EXPECT_NEAR(times.finished.at(1), 2.060 + 0.110, 1e-9);
  EXPECT_TRUE(engine.idle());
  EXPECT_EQ(engine.kv_used(), 0);
}

TEST(EngineModel, AnAnswerOfOneTokenEndsWithItsPrefill) {
  EngineModel engine(round_figures());
  engine.submit({.id = 1, .prompt = 50, .output = 1, .blocks = {}}, 0);
  const Times times = run_until(engine, 1);
  EXPECT_EQ(times.first.at(1), times.finished.at(1));
}

TEST(EngineModel, ALongPromptIsCutIntoChunks) {
  EngineModel engine(round_figures());
  engine.submit({.id = 1, .prompt = 250, .output = 1, .blocks = {}}, 0);
  // Three steps of 100, 100 and 50 tokens: 3 × 10 ms + 250 × 1 ms.
  EXPECT_NEAR(run_until(engine, 1).first.at(1), 0.280, 1e-9);
}

TEST(EngineModel, APrefillStallsWhoeverDecodes) {
  EngineModel engine(round_figures());
  engine.submit({.id = 1, .prompt = 10, .output = 3, .blocks = {}}, 0);
  engine.advance(0.015);
  engine.submit({.id = 2, .prompt = 80, .output = 1, .blocks = {}}, 0.015);
  const Times times = run_until(engine, 1);
  // First token at 20 ms. The step that follows carries the other's 80 tokens: 11 + 80 ms. Then one of 11 ms.
  EXPECT_NEAR(times.first.at(1), 0.020, 1e-9);
  EXPECT_NEAR(times.first.at(2), 0.111, 1e-9);
  EXPECT_NEAR(times.finished.at(1), 0.122, 1e-9);
}

TEST(EngineModel, WhatArrivesInTheMiddleOfAStepWaitsForItsEnd) {
  EngineModel engine(round_figures());
  engine.submit({.id = 1, .prompt = 10, .output = 100, .blocks = {}}, 0);
  engine.advance(0.036);  // first token at 20 ms, steps end at 31, 42, ...
  engine.submit({.id = 2, .prompt = 10, .output = 1, .blocks = {}}, 0.036);
  EXPECT_NEAR(run_until(engine, 1).first.at(2), 0.042 + 0.011 + 0.010, 1e-9);
}

TEST(EngineModel, EqualDecodeStepsInOneGoTakeAsLongAsOneByOne) {
  EngineParameters parameters = round_figures();
  parameters.speed.per_context_token = 1e-5;  // steps grow with the context
  EngineModel whole(parameters);
  EngineModel stepwise(parameters);
  for (EngineModel* engine : {&whole, &stepwise}) {
    engine->submit({.id = 1, .prompt = 50, .output = 200, .blocks = {}}, 0);
    engine->submit({.id = 2, .prompt = 30, .output = 150, .blocks = {}}, 0);
  }
  for (SimTime now = 0; now < 20; now += 0.003) stepwise.advance(now);
  const Times expected = run_until(stepwise, 20);
  const Times actual = run_until(whole, 20);
  EXPECT_NEAR(actual.finished.at(1), expected.finished.at(1), 1e-9);
  EXPECT_NEAR(actual.finished.at(2), expected.finished.at(2), 1e-9);
  // By hand: first tokens after 10 + 80 ms. 149 steps of 12 ms + (82 + 2i) × 10 µs, then 50 of 11 ms +
  // (200 + i) × 10 µs.
  EXPECT_NEAR(actual.finished.at(2), 0.090 + 149 * 0.012 + (149 * 82 + 149 * 148) * 1e-5, 1e-9);
  EXPECT_NEAR(actual.finished.at(1), actual.finished.at(2) + 50 * 0.011 + (50 * 200 + 50 * 49 / 2) * 1e-5,
              1e-9);
}

TEST(EngineModel, SeatsLimitWhoRunsFirstComeFirstServed) {
  EngineModel engine(round_figures());
  for (RequestId id = 0; id < 6; ++id) engine.submit({.id = id, .prompt = 10, .output = 50, .blocks = {}}, 0);
  engine.advance(0.2);
  EXPECT_EQ(engine.running(), 4u);
  EXPECT_EQ(engine.waiting(), 2u);
  const Times times = run_until(engine, 10);
  EXPECT_GT(times.first.at(4), times.finished.at(3));
  EXPECT_EQ(times.finished.size(), 6u);
}

TEST(EngineModel, CachedBlocksAreNotPrefilledButTheLastTokenAlwaysIs) {
  EngineParameters parameters = round_figures();
  parameters.chunk = 10'000;
  EngineModel engine(parameters);
  const std::vector<BlockId> blocks{1, 2};
  engine.submit({.id = 1, .prompt = 1024, .output = 1, .blocks = blocks}, 0);
  const Times cold = run_until(engine, 10);
  EXPECT_NEAR(cold.first.at(1), 0.010 + 1.024, 1e-9);
  engine.submit({.id = 2, .prompt = 1024, .output = 1, .blocks = blocks}, 10);
  const Times warm = run_until(engine, 20);
  EXPECT_EQ(warm.cached.at(2), 1023);
  EXPECT_NEAR(warm.first.at(2), 10 + 0.010 + 0.001, 1e-9);
}

TEST(EngineModel, PreemptsTheYoungestByRecomputeWhenMemoryIsFull) {
  EngineParameters parameters = round_figures();
  parameters.kv_tokens = 200;
  EngineModel engine(parameters);
  engine.submit({.id = 1, .prompt = 60, .output = 100, .blocks = {}}, 0);
  engine.submit({.id = 2, .prompt = 60, .output = 100, .blocks = {}}, 0);
  const Times times = run_until(engine, 100);
  EXPECT_GE(engine.preemptions(), 1);
  EXPECT_LT(times.finished.at(1), times.finished.at(2));
  EXPECT_EQ(engine.kv_used(), 0);
  // Every token is generated once; what is recomputed is prompt.
  EXPECT_EQ(engine.tokens_generated(), 200);
  EXPECT_GT(engine.prompt_tokens_computed(), 120);
}

TEST(EngineModel, TellsNothingBeforeItHappens) {
  EngineModel engine(round_figures());
  engine.submit({.id = 1, .prompt = 50, .output = 1, .blocks = {}}, 0);
  engine.advance(0.001);  // the step has begun and will end at 60 ms
  EXPECT_TRUE(engine.take_events(0.059).empty());
  EXPECT_EQ(engine.take_events(0.061).size(), 2u);
}

TEST(EngineModel, EveryRequestEndsOnceAndEveryTokenIsGeneratedOnce) {
  EngineParameters parameters = round_figures();
  parameters.kv_tokens = 600;
  parameters.speed.per_context_token = 1e-6;
  EngineModel engine(parameters);
  std::mt19937_64 chance{7};
  std::int64_t tokens = 0;
  std::map<RequestId, int> first;
  std::map<RequestId, int> finished;
  const auto count = [&](SimTime until) {
    engine.advance(until);
    for (const EngineEvent& event : engine.take_events(until))
      ++(event.kind == Kind::kFirstToken ? first : finished)[event.request];
  };
  SimTime now = 0;
  for (RequestId id = 0; id < 500; ++id) {
    now += static_cast<double>(chance() % 1000) * 1e-3;
    count(now);
    const auto prompt = static_cast<std::int64_t>(1 + chance() % 300);
    const auto output = static_cast<std::int64_t>(1 + chance() % 200);
    tokens += output;
    engine.submit({.id = id, .prompt = prompt, .output = output, .blocks = {}}, now);
  }
  count(1e6);
  EXPECT_EQ(first.size(), 500u);
  EXPECT_EQ(finished.size(), 500u);
  for (const auto& [id, times] : finished) EXPECT_EQ(times, 1) << id;
  EXPECT_EQ(engine.tokens_generated(), tokens);
  EXPECT_EQ(engine.kv_used(), 0);
  EXPECT_GT(engine.preemptions(), 0);
}

}  // namespace
}  // namespace fareway::simulation
