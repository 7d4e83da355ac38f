#include "router/cli/model_questions.hpp"

#include <fmt/format.h>

#include "placement/catalogue/catalogue.hpp"
#include "router/cli/commands.hpp"

namespace fareway {

const Model& asked_model(const std::string& name) {
  if (const Model* model = find_model(name)) return *model;
  if (const auto nearest = nearest_model_name(name))
    throw UsageError(fmt::format("--model: no model is named \"{}\"; did you mean \"{}\"?", name, *nearest));
  std::string known;
  for (const Model& model : catalogue_models()) known += (known.empty() ? "" : ", ") + model.name;
  throw UsageError(fmt::format("--model: no model is named \"{}\"; known: {}", name, known));
}

NamedDeployment asked_deployment(const Model& model, std::string_view option, const std::string& text) {
  auto named = parse_deployment(model, text);
  if (!named) throw UsageError(fmt::format("--{}: {}", option, named.error().what));
  return *std::move(named);
}

void check_context(const Model& model, std::int64_t tokens) {
  if (tokens < 1 || tokens > model.context_limit.value)
    throw UsageError(fmt::format("--context: {} is not a number from 1 to {}'s limit of {} tokens", tokens,
                                 model.name, model.context_limit.value));
}

}  // namespace fareway
