#include "adapters/emulator/faults.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fareway::emulator {
namespace {

using Json = nlohmann::json;
using Kind = Fault::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 7> kKinds{{{"slow", Kind::kSlow},
                                                                   {"hang", Kind::kHang},
                                                                   {"reset", Kind::kReset},
                                                                   {"status", Kind::kStatus},
                                                                   {"garbage", Kind::kGarbage},
                                                                   {"unhealthy", Kind::kUnhealthy},
                                                                   {"refuse_after", Kind::kRefuseAfter}}};
constexpr double kLongestSeconds = 1e6;

std::optional<std::string> read_kind(const Json& value, Fault& fault) {
  const auto it = value.is_string() ? std::ranges::find(kKinds, value.get<std::string_view>(),
                                                        &std::pair<std::string_view, Kind>::first)
                                    : kKinds.end();
  if (it == kKinds.end())
    return "kind: must be one of slow, hang, reset, status, garbage, unhealthy, refuse_after";
  fault.kind = it->second;
  return std::nullopt;
}

bool is_whole_within(const Json& value, std::int64_t least, std::int64_t most) {
  return value.is_number_integer() && value >= least && value <= most;
}

std::optional<std::string> read_field(const std::string& key, const Json& value, Fault& fault) {
  constexpr std::int64_t kMany = 1'000'000'000;
  if (key == "kind") return read_kind(value, fault);
  if (key == "factor") {
    if (!value.is_number() || value < 1.0 || value > kLongestSeconds) return "factor: must be 1 to 1000000";
    fault.factor = value.get<double>();
  } else if (key == "status") {
    if (!is_whole_within(value, 400, 599)) return "status: must be 400 to 599";
    fault.status = value.get<unsigned>();
  } else if (key == "after_events" || key == "count") {
    if (!is_whole_within(value, 0, kMany)) return fmt::format("{}: must be a whole number, 0 or more", key);
    if (key == "count") {
      fault.count = value.get<std::int64_t>();
    } else {
      fault.after_events = value.get<std::int64_t>();
    }
  } else if (key == "for_seconds") {
    if (!value.is_number() || value <= 0.0 || value > kLongestSeconds)
      return "for_seconds: must be above 0, at most 1000000";
    fault.for_seconds = value.get<double>();
  } else {
    return fmt::format("{}: unknown; a fault has kind, factor, status, after_events, count, for_seconds",
                       key);
  }
  return std::nullopt;
}

}  // namespace

boost::system::result<Fault, std::string> read_fault(std::string_view body) {
  using Result = boost::system::result<Fault, std::string>;
  const Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("kind"))
    return Result(boost::system::in_place_error,
                  "a fault is a JSON object such as {\"kind\":\"slow\",\"factor\":4}");
  Fault fault;
  for (const auto& [key, value] : json.items())
    if (auto error = read_field(key, value, fault)) return Result(boost::system::in_place_error, *error);
  return fault;
}

std::optional<Fault> Faults::strike() {
  if (!is(Kind::kReset) && !is(Kind::kStatus) && !is(Kind::kGarbage)) return std::nullopt;
  if (fault_->count && *fault_->count == 0) return std::nullopt;
  if (fault_->count) --*fault_->count;
  return fault_;
}

bool Faults::last_before_refusal() {
  return is(Kind::kRefuseAfter) && fault_->count && *fault_->count > 0 && --*fault_->count == 0;
}

}  // namespace fareway::emulator
