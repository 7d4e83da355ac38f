#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "placement/fleet.hpp"

namespace fareway {

/// JSON of `GET /v1/models` (empty `id`) or `GET /v1/models/{id}`, in OpenAI's shape: the models this tenant
/// may use. Nothing where the one asked for does not exist or is not this tenant's.
std::optional<std::string> models_answer(const Fleet& fleet, TenantIndex tenant, std::string_view id);

}  // namespace fareway
