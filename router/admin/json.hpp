#pragma once

#include <optional>

#include <nlohmann/json.hpp>

#include "pricing/base/units.hpp"
#include "router/admin/answer.hpp"

namespace fareway {

/// Members stay in the order they were written, for people who read it raw.
using Json = nlohmann::ordered_json;

/// null where the value is unknown; what is not finite is unknown too.
template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// {"nanousd": 2500000000, "text": "$2.50"}
Json money(NanoUsd amount);
/// "2026-11-30T20:18:00.123Z"
Json calendar(WallTime time);

AdminAnswer json_answer(int status, const Json& body);

}  // namespace fareway
