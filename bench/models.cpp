// How long questions to the models take: they run inside every decision and millions of times in a
// simulation.
//
//     bench_models [--rounds N]
//
// One line a question, in nanoseconds: median and slowest of the rounds, each of 100,000 questions over all
// models of the catalogue on one device, or over loads of one measured deployment, so that no answer can be
// kept. Speeds are asked of estimates made before.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <CLI/CLI.hpp>

#include "placement/catalogue/catalogue.hpp"
#include "placement/model/capacity_question.hpp"
#include "placement/speed/closed_loop.hpp"
#include "placement/speed/deployment_text.hpp"
#include "placement/speed/speed_answer.hpp"
#include "placement/speed/speed_estimate.hpp"

namespace fareway {
namespace {

constexpr int kQuestions = 100'000;

std::vector<CapacityQuestion> capacity_questions() {
  std::vector<CapacityQuestion> all;
  for (const Model& model : catalogue_models())
    all.push_back({.model = &model,
                   .device = find_device("MI355X"),
                   .checkpoint = model.checkpoints.front(),
                   .parallelism = {.tp = 8},
                   .context = {8'192}});
  return all;
}

std::vector<SpeedProfile> speed_profiles() {
  std::vector<SpeedProfile> all;
  for (const CapacityQuestion& question : capacity_questions())
    all.push_back(estimate_speed({.model = *question.model,
                                  .device = *question.device,
                                  .parallelism = question.parallelism,
                                  .format = question.checkpoint.format,
                                  .weights = question.checkpoint.weights})
                      .profile);
  return all;
}

std::int64_t picoseconds(Seconds time) {
  return static_cast<std::int64_t>(time.count() * 1e12);
}

template <class F>
void measure(const char* name, int rounds, const F& ask) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> nanoseconds;
  std::int64_t sum = 0;  // printed, so that no question is optimised away
  for (int round = 0; round < rounds; ++round) {
    const auto begin = Clock::now();
    for (int i = 0; i < kQuestions; ++i) sum += ask(i);
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    nanoseconds.push_back(took.count() / kQuestions);
  }
  std::ranges::sort(nanoseconds);
  std::printf("%-28s %8.1f ns median %8.1f ns slowest   (checksum %lld)\n", name,
              nanoseconds[nanoseconds.size() / 2], nanoseconds.back(), static_cast<long long>(sum));
}

void measure_capacity(int rounds) {
  const std::vector<CapacityQuestion> questions = capacity_questions();
  measure("capacity, from the model", rounds, [&](int i) {
    const CapacityQuestion& question = questions[static_cast<std::size_t>(i) % questions.size()];
    return capacity_of(question).sessions({question.context.value + i % 1'000});
  });
  std::vector<Capacity> warm;
  for (const CapacityQuestion& question : questions) warm.push_back(capacity_of(question));
  measure("sessions, from a deployment", rounds, [&](int i) {
    return warm[static_cast<std::size_t>(i) % warm.size()].sessions({8'192 + i % 1'000});
  });
}

void measure_speed(int rounds) {
  const std::vector<SpeedProfile> profiles = speed_profiles();
  const auto profile = [&](int i) -> const SpeedProfile& {
    return profiles[static_cast<std::size_t>(i) % profiles.size()];
  };
  measure("speed, step and prefill", rounds, [&](int i) {
    const double context = 8'192 + i % 1'000;
    const double batch = 1 + i % 64;
    return picoseconds(profile(i).step(batch, batch * context) + profile(i).prefill(context, 0));
  });
  measure("speed, TPOT under load", rounds, [&](int i) {
    return picoseconds(loaded_tpot(
        profile(i),
        {.input_tokens = 8'192.0 + i % 1'000, .output_tokens = 1'024, .concurrency = 1.0 + i % 64}));
  });
  const Model& model = *find_model("DeepSeek-R1");
  const auto read = loop_reader(estimate_named(*parse_deployment(model, "8xMI300X")), false);
  measure("speed, from measured points", rounds, [&](int i) {
    return picoseconds(
        read({.input_tokens = 4'096.0 + i % 1'000, .output_tokens = 1'024, .concurrency = 4.0 + i % 60})
            .tpot);
  });
}

}  // namespace
}  // namespace fareway

int main(int argc, char** argv) {
  CLI::App app{"What a question to the models costs"};
  int rounds = 21;
  app.add_option("--rounds", rounds, "Rounds of 100,000 questions")->check(CLI::Range(1, 10'000));
  CLI11_PARSE(app, argc, argv);
  fareway::measure_capacity(rounds);
  fareway::measure_speed(rounds);
}
