#include "placement/catalogue/catalogue.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "placement/catalogue/model_entries.hpp"
#include "placement/catalogue/nearest_name.hpp"

namespace fareway {
namespace {

struct Alias {
  std::string_view alias;
  std::string_view name;
};

constexpr std::array kDeviceAliases{
    Alias{"A100-80GB", "A100"}, Alias{"A100-80GB-SXM", "A100"}, Alias{"H100-SXM", "H100"},
    Alias{"H100-80GB", "H100"}, Alias{"H200-SXM", "H200"},      Alias{"B200-SXM", "B200"},
    Alias{"B300-SXM", "B300"},  Alias{"GB200-NVL72", "GB200"},  Alias{"GB300-NVL72", "GB300"}};

const std::vector<ModelEntry>& model_entries() {
  static const std::vector<ModelEntry> entries = [] {
    std::vector<ModelEntry> all = dense_models();
    for (auto* group : {expert_models, latent_models}) std::ranges::move(group(), std::back_inserter(all));
    return all;
  }();
  return entries;
}

/// The part after the owner: "gpt-oss-120b" of "openai/gpt-oss-120b".
std::string_view without_owner(std::string_view repository) {
  return repository.substr(repository.find('/') + 1);
}

}  // namespace

std::span<const Model> catalogue_models() {
  static const std::vector<Model> models = [] {
    std::vector<Model> all;
    for (const ModelEntry& entry : model_entries()) all.push_back(entry.model);
    return all;
  }();
  return models;
}

const Device* find_device(std::string_view name) {
  for (const Alias& alias : kDeviceAliases)
    if (same_name(alias.alias, name)) name = alias.name;
  const auto found = std::ranges::find_if(catalogue_devices(),
                                          [&](const Device& device) { return same_name(device.name, name); });
  return found == catalogue_devices().end() ? nullptr : &*found;
}

const Model* find_model(std::string_view name) {
  for (std::size_t i = 0; i < model_entries().size(); ++i) {
    const ModelEntry& entry = model_entries()[i];
    if (same_name(entry.model.name, name) || same_name(entry.repository, name) ||
        same_name(without_owner(entry.repository), name))
      return &catalogue_models()[i];
  }
  return nullptr;
}

std::optional<std::string> nearest_device_name(std::string_view name) {
  std::vector<std::string> names;
  for (const Device& device : catalogue_devices()) names.push_back(device.name);
  for (const Alias& alias : kDeviceAliases) names.emplace_back(alias.alias);
  return closest(name, names);
}

std::optional<std::string> nearest_model_name(std::string_view name) {
  std::vector<std::string> names;
  for (const Model& model : catalogue_models()) names.push_back(model.name);
  for (const ModelEntry& entry : model_entries()) names.emplace_back(entry.repository);
  return closest(name, names);
}

}  // namespace fareway
