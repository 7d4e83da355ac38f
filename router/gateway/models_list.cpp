#include "router/gateway/models_list.hpp"

#include <cstdint>

#include <nlohmann/json.hpp>

#include "router/gateway/job_builder.hpp"

namespace fareway {

namespace {

nlohmann::json entry(const Model& model) {
  // The configuration does not say when a model was made, and the member is required.
  return {{"id", model.name},
          {"object", "model"},
          {"created", 0},
          {"owned_by", "fareway"},
          {"max_model_len", model.context_limit.value}};
}

}  // namespace

std::optional<std::string> models_answer(const Fleet& fleet, TenantIndex tenant, std::string_view id) {
  nlohmann::json data = nlohmann::json::array();
  for (std::uint32_t i = 0; i < fleet.models.size(); ++i) {
    const ModelIndex model{i};
    if (!may_use(fleet[tenant], model)) continue;
    if (!id.empty() && fleet[model].name == id) return entry(fleet[model]).dump();
    data.push_back(entry(fleet[model]));
  }
  if (!id.empty()) return std::nullopt;
  return nlohmann::json{{"object", "list"}, {"data", std::move(data)}}.dump();
}

}  // namespace fareway
