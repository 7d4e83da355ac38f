#include "adapters/emulator/batch.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fareway::emulator {
namespace {

using Kind = BatchEvent::Kind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kExact = 1e-12;
constexpr Seconds kForEver{1e9};

/// A step takes 10 ms, and 1 ms for each decoding sequence, 10 us for each token it holds, 100 us for each
/// prompt token.
BatchLimits limits() {
  BatchLimits limits{.kv_pool = Tokens{10'000},
                     .state_per_sequence = {},
                     .context = Tokens{10'000},
                     .seats = 8,
                     .chunk = Tokens{1'000},
                     .speed = {}};
  limits.speed.step_floor = 0.010;
  limits.speed.per_sequence = 0.001;
  limits.speed.per_context_token = 0.00001;
  limits.speed.per_prompt_token = 0.0001;
  return limits;
}

Sequence sequence(std::int64_t prompt, std::int64_t output, std::vector<BlockKey> blocks = {}) {
  return {.prompt = Tokens{prompt}, .output = Tokens{output}, .blocks = std::move(blocks)};
}

std::vector<double> times_of(SequenceId id, const std::vector<BatchEvent>& events) {
  std::vector<double> times;
  for (const BatchEvent& event : events)
    if (event.id == id && event.kind != Kind::kFinished) times.push_back(event.at.count());
  return times;
}

auto near(double seconds) {
  return ::testing::DoubleNear(seconds, kExact);
}

TEST(Batch, TakesAStepAndThePrefillToTheFirstToken) {
  Batch batch(limits());
  const auto id = batch.submit(sequence(100, 3), Seconds{0});
  const auto events = batch.advance(kForEver);
  // 10 ms + 100 x 0.1 ms; then 10 + 1 + 100 x 0.01 ms; then one context token more.
  EXPECT_THAT(times_of(*id, events), ElementsAre(near(0.020), near(0.032), near(0.04401)));
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events.front().kind, Kind::kFirstToken);
  EXPECT_EQ(events[1].kind, Kind::kToken);
  EXPECT_EQ(events.back().kind, Kind::kFinished);
  EXPECT_FALSE(batch.next_event_time());
}

TEST(Batch, TellsNothingBeforeTheStepIsOver) {
  Batch batch(limits());
  batch.submit(sequence(100, 1), Seconds{5});
  EXPECT_THAT(batch.advance(Seconds{5.019}), IsEmpty());
  EXPECT_NEAR(batch.next_event_time()->count(), 5.020, kExact);
  EXPECT_EQ(batch.advance(Seconds{5.021}).size(), 2U);
}

TEST(Batch, SharesStepsBetweenSequences) {
  Batch batch(limits());
  const auto a = batch.submit(sequence(100, 3), Seconds{0});
  const auto b = batch.submit(sequence(100, 2), Seconds{0.005});
  const auto events = batch.advance(kForEver);
  // Step 1, a alone: 20 ms. Step 2, a decodes and b's prompt: 10 + 1 + 1 + 10. Step 3, both: 10 + 2 + 2.01.
  EXPECT_THAT(times_of(*a, events), ElementsAre(near(0.020), near(0.042), near(0.05601)));
  EXPECT_THAT(times_of(*b, events), ElementsAre(near(0.042), near(0.05601)));
}

TEST(Batch, AdmitsNothingIntoAStepThatBeganBeforeItCame) {
  Batch batch(limits());
  batch.submit(sequence(100, 2), Seconds{0});
  // The caller is late: the first step was over at 20 ms, and the second one ran from there without b.
  const auto b = batch.submit(sequence(100, 1), Seconds{0.025});
  EXPECT_THAT(times_of(*b, batch.advance(kForEver)), ElementsAre(near(0.032 + 0.020)));
}

TEST(Batch, StallsDecodingByOneChunkAtATime) {
  BatchLimits tight = limits();
  tight.chunk = Tokens{64};
  Batch batch(tight);
  const auto a = batch.submit(sequence(10, 6), Seconds{0});
  const auto b = batch.submit(sequence(200, 1), Seconds{0.001});
  const auto events = batch.advance(kForEver);
  // 63 tokens of b fit beside a's one: 63, 63, 63 and 11. Each step is 10 + 1 + (10 + i) x 0.01 + chunk x 0.1
  // ms.
  const double full = 0.010 + 0.001 + 0.0001 + 0.0063;
  const double rest = 0.010 + 0.001 + 0.0001 + 0.0011;
  const double first = 0.011;
  EXPECT_THAT(times_of(*a, events),
              ElementsAre(near(first), near(first + full), near(first + 2 * full + 0.00001),
                          near(first + 3 * full + 0.00003), near(first + 3 * full + rest + 0.00006),
                          near(first + 3 * full + rest + 0.00006 + 0.01114)));
  EXPECT_THAT(times_of(*b, events), ElementsAre(near(first + 3 * full + rest + 0.00006)));
}

TEST(Batch, CountsThePromptPairsOfALaterChunk) {
  BatchLimits quadratic = limits();
  quadratic.chunk = Tokens{50};
  quadratic.speed.per_prompt_pair = 0.000001;
  Batch batch(quadratic);
  const auto id = batch.submit(sequence(100, 1), Seconds{0});
  // Two steps of 10 + 5 ms; pairs 50 x 50 / 2 = 1250, then 50 x 50 + 1250 = 3750, at 1 us each.
  EXPECT_THAT(times_of(*id, batch.advance(kForEver)), ElementsAre(near(0.030 + 0.005)));
}

TEST(Batch, LetsAPromptWaitUntilItFitsThePool) {
  BatchLimits small = limits();
  small.kv_pool = small.context = Tokens{300};
  Batch batch(small);
  const auto a = batch.submit(sequence(200, 2), Seconds{0});
  const auto b = batch.submit(sequence(150, 1), Seconds{0});
  EXPECT_EQ(batch.load().running, 1);
  EXPECT_EQ(batch.load().waiting, 1);
  EXPECT_EQ(batch.load().kv_used, Tokens{200});
  const auto events = batch.advance(kForEver);
  const double a_ends = 0.030 + 0.013;
  EXPECT_NEAR(times_of(*a, events).back(), a_ends, kExact);
  EXPECT_THAT(times_of(*b, events), ElementsAre(near(a_ends + 0.025)));
}

TEST(Batch, LetsThoseWaitWhoFindNoSeatInOrderOfArrival) {
  BatchLimits one_seat = limits();
  one_seat.seats = 1;
  Batch batch(one_seat);
  const auto a = batch.submit(sequence(100, 1), Seconds{0});
  const auto b = batch.submit(sequence(100, 1), Seconds{0});
  const auto c = batch.submit(sequence(100, 1), Seconds{0});
  const auto events = batch.advance(kForEver);
  EXPECT_THAT(times_of(*a, events), ElementsAre(near(0.020)));
  EXPECT_THAT(times_of(*b, events), ElementsAre(near(0.040)));
  EXPECT_THAT(times_of(*c, events), ElementsAre(near(0.060)));
}

TEST(Batch, SkipsThePrefillOfACachedPrefix) {
  Batch batch(limits());
  batch.submit(sequence(600, 1, {1, 2}), Seconds{0});
  batch.advance(Seconds{1});
  const auto again = batch.submit(sequence(600, 1, {1, 2}), Seconds{1});
  const auto other = batch.submit(sequence(600, 1, {1, 3}), Seconds{2});
  const auto events = batch.advance(kForEver);
  // 600 - 512 tokens are left to compute, then 600 - 256.
  EXPECT_THAT(times_of(*again, events), ElementsAre(near(1 + 0.010 + 0.0088)));
  EXPECT_THAT(times_of(*other, events), ElementsAre(near(2 + 0.010 + 0.0344)));
  EXPECT_EQ(events.front().cached, Tokens{512});
  EXPECT_EQ(batch.load().prefix_queries, Tokens{1800});
  EXPECT_EQ(batch.load().prefix_hits, Tokens{768});
}

TEST(Batch, AlwaysComputesTheLastTokenOfThePrompt) {
  Batch batch(limits());
  batch.submit(sequence(512, 1, {1, 2}), Seconds{0});
  batch.advance(Seconds{1});
  batch.submit(sequence(512, 1, {1, 2}), Seconds{1});
  EXPECT_EQ(batch.advance(kForEver).front().cached, Tokens{256});
}

TEST(Batch, CachesWhatItGeneratedForTheNextTurn) {
  Batch batch(limits());
  batch.submit(sequence(200, 100, {7}), Seconds{0});  // block 7 is the prompt and 56 tokens of the answer
  batch.advance(Seconds{100});
  batch.submit(sequence(400, 1, {7}), Seconds{100});
  EXPECT_EQ(batch.advance(kForEver).front().cached, Tokens{256});
}

TEST(Batch, ForgetsTheTailOfTheOldestPrefixFirst) {
  BatchLimits small = limits();
  small.kv_pool = small.context = Tokens{1024};
  Batch batch(small);
  batch.submit(sequence(600, 1, {1, 2}), Seconds{0});
  batch.advance(Seconds{1});
  batch.submit(sequence(700, 1, {3, 4}), Seconds{1});  // leaves room for one of the two blocks
  batch.advance(Seconds{2});
  batch.submit(sequence(600, 1, {1, 2}), Seconds{2});
  EXPECT_EQ(batch.advance(kForEver).front().cached, Tokens{256});
}

TEST(Batch, HoldsASharedPrefixOnlyOnce) {
  Batch batch(limits());
  batch.submit(sequence(600, 50, {1, 2}), Seconds{0});
  batch.advance(Seconds{0.1});
  const Tokens alone = batch.load().kv_used;
  batch.submit(sequence(600, 50, {1, 2}), Seconds{0.1});
  batch.advance(Seconds{0.15});
  ASSERT_EQ(batch.load().running, 2);
  EXPECT_LT(batch.load().kv_used.value, alone.value + 600 - 512 + 20);
  batch.advance(kForEver);
  EXPECT_EQ(batch.load().kv_used, Tokens{0});
}

TEST(Batch, RecomputesTheLastAdmittedWhenDecodingOutgrowsThePool) {
  BatchLimits small = limits();
  small.kv_pool = small.context = Tokens{220};
  Batch batch(small);
  const auto a = batch.submit(sequence(100, 50), Seconds{0});
  const auto b = batch.submit(sequence(100, 50), Seconds{0});
  const auto events = batch.advance(kForEver);
  EXPECT_EQ(batch.load().preemptions, 1);
  EXPECT_EQ(times_of(*a, events).size(), 50U);
  EXPECT_EQ(times_of(*b, events).size(), 50U);
  EXPECT_EQ(batch.load().kv_used, Tokens{0});
  EXPECT_EQ(batch.load().prompt_tokens, Tokens{200});
  EXPECT_EQ(batch.load().generated_tokens, Tokens{100});
  // b stood still until a had ended, then computed its prompt and what it had generated once more.
  const std::vector<double> times = times_of(*b, events);
  const double a_ends = times_of(*a, events).back();
  const auto resumed = std::ranges::find_if(times, [&](double at) { return at > a_ends; });
  const auto kept = static_cast<double>(resumed - times.begin());
  EXPECT_NEAR(*resumed - a_ends, 0.010 + (100 + kept) * 0.0001, kExact);
}

TEST(Batch, CountsTheConstantStateOfASequence) {
  BatchLimits hybrid = limits();
  hybrid.kv_pool = Tokens{1000};
  hybrid.context = Tokens{1000};
  hybrid.state_per_sequence = Tokens{300};
  Batch batch(hybrid);
  EXPECT_EQ(batch.limits().context, Tokens{700});
  batch.submit(sequence(100, 1), Seconds{0});
  EXPECT_EQ(batch.load().kv_used, Tokens{400});
}

TEST(Batch, FreesSeatAndMemoryOfACancelledSequenceAtOnce) {
  BatchLimits one_seat = limits();
  one_seat.seats = 1;
  Batch batch(one_seat);
  const auto a = batch.submit(sequence(300, 50, {1}), Seconds{0});
  const auto b = batch.submit(sequence(100, 1), Seconds{0});
  const auto c = batch.submit(sequence(100, 1), Seconds{0});
  batch.advance(Seconds{0.041});
  batch.cancel(*a);
  batch.cancel(*b);
  EXPECT_EQ(batch.load().running, 0);
  EXPECT_EQ(batch.load().waiting, 1);
  EXPECT_EQ(batch.load().kv_used, Tokens{0});
  // The step under way (a's second token) still runs its 14 ms; then c's 20.
  const auto events = batch.advance(kForEver);
  EXPECT_THAT(times_of(*a, events), IsEmpty());
  EXPECT_THAT(times_of(*c, events), ElementsAre(near(0.040 + 0.014 + 0.020)));
  batch.cancel(*c);  // long gone: ignored
}

TEST(Batch, EndsAnEmbeddingWithItsPrompt) {
  Batch batch(limits());
  batch.submit(sequence(100, 0), Seconds{0});
  const auto events = batch.advance(kForEver);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events.front().kind, Kind::kFinished);
  EXPECT_NEAR(events.front().at.count(), 0.020, kExact);
}

TEST(Batch, RefusesWhatCanNeverFit) {
  BatchLimits small = limits();
  small.context = Tokens{150};
  Batch batch(small);
  EXPECT_FALSE(batch.submit(sequence(100, 51), Seconds{0}));
  EXPECT_FALSE(batch.submit(sequence(0, 10), Seconds{0}));
  EXPECT_TRUE(batch.submit(sequence(100, 50), Seconds{0}));
}

TEST(Batch, FinishesEverythingWithinItsMemoryWhateverComes) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto pick = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    BatchLimits tight = limits();
    tight.kv_pool = tight.context = Tokens{1500};
    tight.chunk = Tokens{pick(16, 400)};
    Batch batch(tight);
    std::map<SequenceId, std::int64_t> left;
    const auto take = [&](const std::vector<BatchEvent>& events) {
      for (const BatchEvent& event : events)
        if (event.kind != Kind::kFinished) --left[event.id];
    };
    Seconds now{};
    for (int i = 0; i < 60; ++i) {
      now += Seconds{static_cast<double>(pick(0, 60)) / 1000};
      take(batch.advance(now));
      const std::int64_t prompt = pick(1, 1000);
      const std::int64_t output = pick(1, 400);
      // Few different prefixes, so that blocks are shared.
      std::vector<BlockKey> blocks;
      const auto family = static_cast<BlockKey>(pick(1, 4));
      for (BlockKey block = 0; block < static_cast<BlockKey>((prompt + output) / kBlockTokens); ++block)
        blocks.push_back(family * 100 + block);
      left[*batch.submit(sequence(prompt, output, blocks), now)] = output;
      if (pick(0, 9) == 0) {
        batch.cancel(left.rbegin()->first);
        left.erase(left.rbegin()->first);
      }
      EXPECT_LE(batch.load().kv_used, tight.kv_pool);
      EXPECT_GE(batch.load().kv_used, Tokens{0});
    }
    take(batch.advance(kForEver));
    for (const auto& [id, tokens] : left) EXPECT_EQ(tokens, 0) << "sequence " << id;
    EXPECT_EQ(batch.load().kv_used, Tokens{0});
    EXPECT_EQ(batch.load().running + batch.load().waiting, 0);
  }
}

TEST(BatchLimits, FollowFromTheDeployment) {
  Deployment deployment;
  deployment.name = "d";
  deployment.capacity = {
      .kv_pool = Bytes{10'050}, .kv_per_token = Bytes{10}, .state_per_sequence = Bytes{1'000}};
  deployment.context_limit = Tokens{2'000};
  const BatchLimits found = limits_of(deployment);
  EXPECT_EQ(found.kv_pool, Tokens{1'005});
  EXPECT_EQ(found.state_per_sequence, Tokens{100});
  EXPECT_EQ(found.context, Tokens{905});  // what the pool holds of one sequence
  deployment.context_limit = Tokens{500};
  EXPECT_EQ(limits_of(deployment).context, Tokens{500});
  deployment.capacity.kv_pool = Bytes{-1};
  EXPECT_THROW(limits_of(deployment), std::invalid_argument);
}

}  // namespace
}  // namespace fareway::emulator
