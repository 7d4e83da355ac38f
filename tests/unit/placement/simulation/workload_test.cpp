#include "placement/simulation/workload.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "placement/simulation/reference_fleet.hpp"

namespace fareway::simulation {
namespace {

Trace regular_trace(std::size_t requests, double gap) {
  Trace trace{.name = "regular", .requests = {}};
  for (std::size_t i = 0; i < requests; ++i)
    trace.requests.push_back({.seconds = gap * static_cast<double>(i),
                              .prompt = static_cast<std::int64_t>(1000 + i),
                              .output = 10,
                              .blocks = {1, 100 + i}});
  return trace;
}

std::vector<SimTime> times(const Workload& workload) {
  std::vector<SimTime> result;
  for (const Arrival& arrival : workload.arrivals()) result.push_back(arrival.time);
  return result;
}

TEST(Workload, ScalesTheRateAndKeepsTheOrderOfContents) {
  const std::vector<Trace> traces{regular_trace(1000, 1)};
  const Workload workload(traces, {.rate = 5, .seconds = 100});
  const auto arrivals = workload.arrivals();
  ASSERT_NEAR(static_cast<double>(arrivals.size()), 500, 2);
  for (std::size_t i = 1; i < arrivals.size(); ++i) {
    EXPECT_NEAR(arrivals[i].time - arrivals[i - 1].time, 0.2, 1e-9);
    const bool next = arrivals[i].prompt == arrivals[i - 1].prompt + 1;
    EXPECT_TRUE(next || arrivals[i].prompt == 1000) << i;
  }
}

TEST(Workload, IsTheSameForTheSameSeedAndAnotherForAnother) {
  const std::vector<Trace> traces{generate_trace({}, 1)};
  const WorkloadOptions options{.rate = 5, .seconds = 60, .seed = 3};
  EXPECT_EQ(times(Workload(traces, options)), times(Workload(traces, options)));
  WorkloadOptions other = options;
  other.seed = 4;
  EXPECT_NE(times(Workload(traces, options)), times(Workload(traces, other)));
}

TEST(Workload, AnotherRateMeetsTheSameRequestsAndTheSameClasses) {
  const std::vector<Trace> traces{generate_trace({}, 1)};
  const Workload slow(traces, {.rate = 2, .seconds = 100, .seed = 9});
  const Workload fast(traces, {.rate = 4, .seconds = 50, .seed = 9});
  ASSERT_EQ(slow.arrivals().size(), fast.arrivals().size());
  for (std::size_t i = 0; i < slow.arrivals().size(); ++i) {
    EXPECT_EQ(slow.arrivals()[i].prompt, fast.arrivals()[i].prompt);
    EXPECT_EQ(slow.arrivals()[i].service_class, fast.arrivals()[i].service_class);
    EXPECT_NEAR(slow.arrivals()[i].time, 2 * fast.arrivals()[i].time, 1e-9);
  }
}

TEST(Workload, ATraceThatBeginsAgainHasNewContentAndNewSessions) {
  const std::vector<Trace> traces{regular_trace(100, 1)};
  const Workload workload(traces, {.rate = 1, .seconds = 300});
  std::set<BlockId> seconds;
  std::set<BlockId> shared;
  for (const Arrival& arrival : workload.arrivals()) {
    shared.insert(arrival.blocks[0]);
    EXPECT_TRUE(seconds.insert(arrival.blocks[1]).second);
  }
  EXPECT_GE(shared.size(), 3u);
  EXPECT_LE(shared.size(), 4u);
}

TEST(Workload, ClassesFollowTheRule) {
  Trace trace = regular_trace(4000, 1);
  for (std::size_t i = 0; i < trace.requests.size(); i += 2) trace.requests[i].prompt = 40'000;
  const std::vector<Trace> traces{trace};
  const Workload by_session(traces, {.rate = 1, .seconds = 4000});
  double interactive = 0;
  double batch = 0;
  double short_ones = 0;
  for (const Arrival& arrival : by_session.arrivals()) {
    if (arrival.prompt == 40'000) {
      EXPECT_NE(arrival.service_class, kInteractive);
      continue;
    }
    short_ones += 1;
    interactive += arrival.service_class == kInteractive ? 1 : 0;
    batch += arrival.service_class == kBatch ? 1 : 0;
  }
  EXPECT_NEAR(interactive / short_ones, 0.5, 0.05);
  EXPECT_NEAR(batch / short_ones, 0.2, 0.04);

  const Workload by_length(traces, {.rate = 1, .seconds = 100, .class_rule = ClassRule::kByLength});
  for (const Arrival& arrival : by_length.arrivals()) {
    if (arrival.prompt == 40'000) {
      EXPECT_EQ(arrival.service_class, kBatch);
    } else if (arrival.prompt < 4096) {
      EXPECT_EQ(arrival.service_class, kInteractive);
    }
  }
}

TEST(Workload, SuperposesTracesInTheProportionOfTheirRates) {
  const std::vector<Trace> traces{regular_trace(1000, 1), regular_trace(1000, 3)};
  const Workload workload(traces, {.rate = 4, .seconds = 300});
  EXPECT_NEAR(static_cast<double>(workload.arrivals().size()), 1200, 4);
  EXPECT_TRUE(std::ranges::is_sorted(workload.arrivals(), {}, &Arrival::time));
}

TEST(GeneratedTrace, SessionsGrowTurnByTurnFromASharedSystemPrompt) {
  const Trace trace = generate_trace({.requests = 500}, 5);
  std::set<BlockId> firsts;
  std::size_t continued = 0;
  for (const TraceRequest& request : trace.requests) {
    firsts.insert(request.blocks.front());
    EXPECT_LE(static_cast<std::int64_t>(request.blocks.size()), request.prompt / kTraceBlockTokens);
    continued += request.blocks.size() > 1 && request.prompt > 6000 ? 1u : 0u;
  }
  EXPECT_EQ(firsts.size(), 1u);
  EXPECT_GT(continued, 20u);
}

}  // namespace
}  // namespace fareway::simulation
