#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "placement/catalogue/measurements.hpp"
#include "placement/model/capacity_question.hpp"
#include "placement/model/format_support.hpp"
#include "placement/speed/speed_answer.hpp"
#include "router/cli/commands.hpp"
#include "router/cli/model_questions.hpp"

namespace fareway {
namespace {

using Json = nlohmann::ordered_json;

double milliseconds(Seconds time) {
  return time.count() * 1000;
}

std::vector<std::string> notes_on(const SpeedAnswer& answer, const NamedDeployment& deployment,
                                  double batch) {
  std::vector<std::string> notes;
  if (answer.kv_pool.value < 0)
    notes.push_back("the weights do not fit; `fareway capacity` says by how much and what would");
  else if (static_cast<double>(answer.sessions) < batch)
    notes.push_back(fmt::format("the KV cache holds {} such sequences at once", answer.sessions));
  if (answer.loop.extrapolated) notes.emplace_back(kExtrapolationNote);
  if (format_support(*deployment.device, deployment.format) == FormatSupport::kEmulated)
    notes.push_back(fmt::format("{} emulates {}, so it computes at bf16 speed", deployment.device->name,
                                to_string(deployment.format)));
  if (answer.estimate.basis.tier == SpeedTier::kDataSheet)
    notes.push_back("data sheet only: no objective can be promised on it");
  return notes;
}

Json json_of(const SpeedAnswer& answer, const NamedDeployment& deployment, const SpeedOptions& options) {
  const SpeedBasis& basis = answer.estimate.basis;
  const auto batch = static_cast<double>(options.batch);
  Json json{{"model", deployment.model->name},
            {"deployment", deployment.text},
            {"device", deployment.device->name},
            {"devices", deployment.parallelism.devices()},
            {"format", to_string(deployment.format)},
            {"context", options.context},
            {"batch", options.batch},
            {"tier", to_string(basis.tier)},
            {"basis", basis.text},
            {"error_median", basis.tpot_error ? Json(*basis.tpot_error) : Json()},
            {"error_p90", basis.tpot_error_p90 ? Json(*basis.tpot_error_p90) : Json()}};
  json["step_ms"] = {{"weights", milliseconds(answer.parts.weights)},
                     {"kv", milliseconds(answer.parts.kv)},
                     {"collectives", milliseconds(answer.parts.collectives)},
                     {"compute", milliseconds(answer.parts.compute)},
                     {"overhead", milliseconds(answer.parts.overhead)},
                     {"total", milliseconds(answer.parts.total())}};
  json["tpot_ms"] = milliseconds(answer.tpot);
  json["tokens_per_second_stream"] = answer.stream();
  json["tokens_per_second_aggregate"] = batch * answer.stream();
  json["closed_loop"] = {{"output_tokens", kLoopOutputTokens},
                         {"tpot_ms", milliseconds(answer.loop.tpot)},
                         {"measured", answer.loop.measured},
                         {"extrapolated", answer.loop.extrapolated}};
  json["prefill_seconds"] = answer.prefill.count();
  json["ttft_cold_seconds"] = answer.cold_ttft.count();
  json["fits"] = answer.kv_pool.value >= 0;
  if (const MeasuredDeployment* measured = answer.estimate.measured) {
    json["measured"] = {
        {"software", measured->software}, {"date", measured->date}, {"source", measured->source}};
    if (measured->stream) json["measured"]["tokens_per_second_stream"] = measured->stream->value;
    if (measured->aggregate) json["measured"]["tokens_per_second_aggregate"] = measured->aggregate->value;
  }
  json["notes"] = notes_on(answer, deployment, batch);
  return json;
}

std::string error_text(const SpeedBasis& basis) {
  if (!basis.tpot_error) return "not stated";
  return fmt::format("{:.1f} % in the median, {:.1f} % at the 90th percentile", 100 * *basis.tpot_error,
                     100 * basis.tpot_error_p90.value_or(*basis.tpot_error));
}

void print(const SpeedAnswer& answer, const NamedDeployment& deployment, const SpeedOptions& options) {
  const auto batch = static_cast<double>(options.batch);
  const StepParts& parts = answer.parts;
  std::cout << fmt::format("{} {} on {} x {} ({}), {} sequences of {} tokens\n", deployment.model->name,
                           to_string(deployment.format), deployment.parallelism.devices(),
                           deployment.device->name, deployment.text, options.batch, options.context)
            << fmt::format("tier: {}: {}\nerror of TPOT: {}\n\n", to_string(answer.estimate.basis.tier),
                           answer.estimate.basis.text, error_text(answer.estimate.basis));
  for (const auto& [name, time] :
       {std::pair{"weights", parts.weights}, std::pair{"KV cache", parts.kv},
        std::pair{"collectives", parts.collectives}, std::pair{"compute", parts.compute},
        std::pair{"overhead", parts.overhead}, std::pair{"step", parts.total()}})
    std::cout << fmt::format("  {:<12}{:>10.3f} ms\n", name, milliseconds(time));
  std::cout << fmt::format("\nTPOT {:.2f} ms: {:.1f} tok/s a stream, {:.0f} tok/s in all\n",
                           milliseconds(answer.tpot), answer.stream(), batch * answer.stream())
            << fmt::format(
                   "with the prefills of {} clients in between ({:.0f}-token answers): {:.2f} ms, {}\n",
                   options.batch, kLoopOutputTokens, milliseconds(answer.loop.tpot),
                   answer.loop.measured ? "measured" : "modelled")
            << fmt::format("prefill of {} tokens {:.2f} s; TTFT cold {:.2f} s\n", options.context,
                           answer.prefill.count(), answer.cold_ttft.count());
  for (const std::string& note : notes_on(answer, deployment, batch)) std::cout << "note: " << note << '\n';
}

}  // namespace

int print_speed(const SpeedOptions& options) {
  const Model& model = asked_model(options.model);
  const NamedDeployment deployment = asked_deployment(model, "deployment", options.deployment);
  check_context(model, options.context);
  if (options.batch < 1 || options.batch > kMostBatch)
    throw UsageError(fmt::format("--batch: {} is not a number from 1 to {}", options.batch, kMostBatch));
  const SpeedAnswer answer = answer_speed(deployment, static_cast<double>(options.context),
                                          static_cast<double>(options.batch), kDefaultReservePerDevice);
  if (options.json) {
    std::cout << json_of(answer, deployment, options).dump(2) << '\n';
  } else {
    print(answer, deployment, options);
  }
  return 0;
}

}  // namespace fareway
