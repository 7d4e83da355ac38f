#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "placement/model/model.hpp"
#include "placement/speed/deployment_text.hpp"

namespace fareway {

// What `fareway speed` and `fareway compare` ask alike. Each throws a UsageError that names the option.

constexpr std::int64_t kMostBatch = 100'000;

/// Said of a speed outside the points that it rests on.
constexpr std::string_view kExtrapolationNote = "beyond the points that this rests on: an extrapolation";

const Model& asked_model(const std::string& name);
NamedDeployment asked_deployment(const Model& model, std::string_view option, const std::string& text);
/// Tokens from one to the model's limit.
void check_context(const Model& model, std::int64_t tokens);

}  // namespace fareway
