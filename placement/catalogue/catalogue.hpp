#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "placement/model/device.hpp"
#include "placement/model/model.hpp"

namespace fareway {

// Devices and models known without any configuration; figures and their sources in devices.cpp,
// dense_models.cpp, expert_models.cpp and latent_models.cpp. Built once, on first use; immutable and safe
// from any thread.
std::span<const Device> catalogue_devices();
std::span<const Model> catalogue_models();

/// By name, without regard to case; devices by their trade names too ("H100-SXM"), models by their repository
/// ("openai/gpt-oss-120b"). Null where the catalogue has none.
const Device* find_device(std::string_view name);
const Model* find_model(std::string_view name);

/// The name or alias that `name` is probably a misspelling of.
std::optional<std::string> nearest_device_name(std::string_view name);
std::optional<std::string> nearest_model_name(std::string_view name);

}  // namespace fareway
