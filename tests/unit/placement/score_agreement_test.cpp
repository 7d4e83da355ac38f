#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "placement/decision.hpp"
#include "placement/load.hpp"
#include "tests/support/exact_score.hpp"
#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using testing::FleetBuilder;
using testing::kNow;
using testing::request;

/// Over random fleets: what is computed sixteen at a time in single precision is what the formulae say.
class ScoreAgreement : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  std::mt19937_64 random{GetParam()};
  FleetBuilder builder;

  double real(double low, double high) { return std::uniform_real_distribution{low, high}(random); }
  std::int64_t whole(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution{low, high}(random);
  }

  void add_replica() {
    const ReplicaIndex index = builder.add({.name = "r",
                                            .usd_per_hour = real(1, 50),
                                            .capacity = static_cast<CapacityKind>(random() % 3),
                                            .step_seconds = real(0.004, 0.03),
                                            .step_seconds_per_sequence = real(0, 0.0005),
                                            .prompt_token_seconds = real(1e-5, 2e-4)});
    SpeedProfile& speed = builder.fleet().deployments[index.value].speed;
    speed.per_prompt_pair = real(0, 1e-9);
    speed.per_context_token = real(0, 1e-7);
    if (random() % 2 == 0) {
      speed.expert_weights = real(0, 0.02);
      speed.expert_share = real(0.01, 0.2);
    }
    builder.fleet().deployments[index.value].seats = static_cast<std::uint32_t>(whole(8, 256));
    Replica& replica = builder.fleet().replicas[index.value];
    replica.foreign_running = whole(0, 8);
    replica.foreign_context = static_cast<double>(replica.foreign_running) * 500;
    replica.foreign_waiting = whole(0, 2);
    replica.prefill_share = real(0, 1.2);
    replica.prefill_share_at = kNow - std::chrono::seconds{whole(0, 30)};
    for (Spread& spread : replica.errors.by_kind) spread = {real(0.08, 0.8), real(0.08, 0.8)};
    for (std::int64_t i = whole(0, 40); i > 0; --i) add_request(index);
  }

  void add_request(ReplicaIndex index) {
    builder.decoding(index, 1, {whole(0, 400)}, real(1, 800));
    InFlight& q = builder.fleet().replicas[index.value].in_flight.back();
    q.service_class = ClassIndex{static_cast<std::uint32_t>(random() % 2)};
    q.prompt = {whole(10, 20'000)};
    if (random() % 5 == 0) {
      q.first_token.reset();
      q.generated = {};
      q.predicted_ttft = Seconds{real(0.05, 2)};
    }
    if (random() % 3 == 0) q.waited = Seconds{real(0, 0.8)};
  }

  void pay_by_the_second() {
    for (ServiceClass& service_class : builder.fleet().classes)
      service_class.miss_per_second = Usd{real(0.001, 0.1)};
    builder.fleet().classes[0].tpot_over = {50};
  }

  RequestShape some_request() {
    return request(whole(1, 60'000), whole(1, 900), ClassIndex{static_cast<std::uint32_t>(random() % 2)});
  }
};

double relative(double value, double exact) {
  return std::abs(value - exact) / std::max(std::abs(exact), 1e-9);
}

TEST_P(ScoreAgreement, PredictionsGpuDollarsAndOwnMissesAreThoseOfTheFormulae) {
  for (int i = 0; i < 20; ++i) add_replica();
  if (GetParam() % 2 == 0) pay_by_the_second();
  const Fleet& fleet = builder.fleet();
  for (int i = 0; i < 20; ++i) {
    const RequestShape shape = some_request();
    for (const Candidate& candidate : decide(shape, fleet, {}, kNow).candidates) {
      const Replica& replica = fleet[candidate.replica];
      const Prediction exact = testing::exact_prediction(shape, fleet, replica, {}, kNow);
      EXPECT_LT(relative(candidate.prediction.ttft.count(), exact.ttft.count()), 2e-5);
      EXPECT_LT(relative(candidate.prediction.tpot.count(), exact.tpot.count()), 2e-5);
      EXPECT_NEAR(candidate.prediction.miss_probability, exact.miss_probability, 1e-4);
      const Score score = testing::exact_score(shape, fleet, replica, {}, kNow);
      EXPECT_LT(relative(candidate.score.gpu.value, score.gpu.value), 1e-5);
      EXPECT_NEAR(candidate.score.own_miss.value, score.own_miss.value, 1e-4 * (1 + score.own_miss.value));
    }
  }
}

/// A curve has two points an octave, and the delay of each is taken as that of those who suffer most: so
/// nearly every figure lies between the exact dollars of a delay a third shorter and of one half longer, and
/// the sum of all errors is small beside the sum of all dollars.
TEST_P(ScoreAgreement, OthersMissesLieWithinTheirTolerance) {
  for (int i = 0; i < 20; ++i) add_replica();
  if (GetParam() % 2 == 0) pay_by_the_second();
  const Fleet& fleet = builder.fleet();
  int within = 0;
  int all = 0;
  double errors = 0;
  double dollars = 0;
  for (int i = 0; i < 20; ++i) {
    const RequestShape shape = some_request();
    for (const Candidate& candidate : decide(shape, fleet, {}, kNow).candidates) {
      const Replica& replica = fleet[candidate.replica];
      const auto [stall, slower] = testing::disturbance(shape, fleet, replica, {}, kNow);
      const auto exact = [&](double factor) {
        return testing::exact_others_miss(shape, fleet, replica, factor * stall, factor * slower, kNow).value;
      };
      const double fast = candidate.score.others_miss.value;
      const double allowance = 0.002 * static_cast<double>(replica.in_flight.size()) + 1e-6;
      within += fast >= exact(1 / 1.5) - allowance && fast <= exact(1.5) + allowance ? 1 : 0;
      ++all;
      errors += std::abs(fast - exact(1));
      dollars += exact(1);
    }
  }
  EXPECT_GE(within, 0.97 * all);
  EXPECT_LT(errors, 0.05 * dollars);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ScoreAgreement, ::testing::Range(1U, 11U));

}  // namespace
}  // namespace fareway
