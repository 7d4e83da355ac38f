// How long questions to the models take: they run inside every decision and millions of times in a
// simulation.
//
//     bench_models [--rounds N]
//
// One line a question, in nanoseconds: median and slowest of the rounds, each of 100,000 questions over all
// models of the catalogue on one device, so that no answer can be kept.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <CLI/CLI.hpp>

#include "placement/catalogue/catalogue.hpp"
#include "placement/model/capacity_question.hpp"

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

void run(int rounds) {
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

}  // namespace
}  // namespace fareway

int main(int argc, char** argv) {
  CLI::App app{"What a question to the models costs"};
  int rounds = 21;
  app.add_option("--rounds", rounds, "Rounds of 100,000 questions")->check(CLI::Range(1, 10'000));
  CLI11_PARSE(app, argc, argv);
  fareway::run(rounds);
}
