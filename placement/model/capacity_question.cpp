#include "placement/model/capacity_question.hpp"

#include <cmath>

#include <fmt/format.h>

#include "placement/model/capacity_lines.hpp"
#include "placement/model/capacity_remedies.hpp"

namespace fareway {

std::vector<QuestionProblem> parallelism_problems(const Model& model, const Parallelism& degrees) {
  std::vector<QuestionProblem> problems;
  const auto report = [&](std::string key, std::string what) {
    problems.push_back({std::move(key), std::move(what)});
  };
  if (model.heads && *model.heads % degrees.tp != 0)
    report("tp", fmt::format("{} does not divide the {} heads of {}", degrees.tp, *model.heads, model.name));
  if (model.kv_heads % degrees.tp != 0 && degrees.tp % model.kv_heads != 0)
    report("tp", fmt::format("{} neither divides the {} KV heads of {} nor is a multiple of them", degrees.tp,
                             model.kv_heads, model.name));
  if (degrees.pp > model.layers)
    report("pp",
           fmt::format("{} stages are more than the {} layers of {}", degrees.pp, model.layers, model.name));
  if (degrees.ep > 1 && model.experts == 0)
    report("ep", fmt::format("{} has no experts to spread; leave ep out", model.name));
  if (degrees.ep > 1 && degrees.tp * degrees.dp % degrees.ep != 0)
    report("ep", fmt::format("{} does not divide the {} devices of a stage (tp x dp)", degrees.ep,
                             degrees.tp * degrees.dp));
  if (degrees.dcp > 1 && degrees.tp % (degrees.dcp * model.kv_heads) != 0)
    report("dcp",
           fmt::format("splits copies of the KV cache, but tp {} over {} KV heads does not make {} copies; "
                       "lower dcp",
                       degrees.tp, model.kv_heads, degrees.dcp));
  return problems;
}

std::vector<QuestionProblem> question_problems(const CapacityQuestion& question) {
  std::vector<QuestionProblem> problems = parallelism_problems(*question.model, question.parallelism);
  const Model& model = *question.model;
  if (question.context.value <= 0) problems.push_back({"context", "must be more than zero tokens"});
  if (question.context > model.context_limit)
    problems.push_back(
        {"context", fmt::format("{} tokens are more than the {} that {} allows", question.context.value,
                                model.context_limit.value, model.name)});
  // Written so that a NaN fails it too.
  if (!(question.utilisation > 0 && question.utilisation <= 1))
    problems.push_back({"utilisation", "must be more than 0 and at most 1"});
  if (question.reserve_per_device.value < 0) problems.push_back({"reserve", "must not be negative"});
  return problems;
}

Bytes weights_in_group(const Model& model, Bytes one_copy, const Parallelism& parallelism) {
  const double copied = (1 - model.expert_share_of_parameters()) * (parallelism.dp - 1);
  return one_copy + Bytes{std::llround(static_cast<double>(one_copy.value) * copied)};
}

Capacity capacity_of(const CapacityQuestion& question) {
  return capacity_of(
      *question.model, *question.device, question.parallelism,
      {.weights = weights_in_group(*question.model, question.checkpoint.weights, question.parallelism),
       .reserve_per_device = question.reserve_per_device,
       .utilisation = question.utilisation,
       .kv_format = question.kv_format});
}

CapacityAnswer answer(const CapacityQuestion& question, std::span<const Device> alternatives) {
  const Capacity capacity = capacity_of(question);
  CapacityAnswer answer{
      .format = format_verdict(*question.device, question.checkpoint, question.engine),
      .capacity = capacity,
      .bytes_per_session = capacity.sequence(question.context),
      .sessions = capacity.sessions(question.context),
      .longest_context = std::min(question.model->context_limit, capacity.longest_sequence())};
  if (answer.sessions == 0) answer.missing = answer.bytes_per_session * capacity.pools - capacity.kv_pool;
  if (!answer.fits()) answer.remedies = capacity_remedies(question, alternatives);
  answer.lines = arithmetic_lines(question, answer);
  return answer;
}

}  // namespace fareway
