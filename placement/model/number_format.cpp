#include "placement/model/number_format.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace fareway {
namespace {

constexpr std::array<std::pair<NumberFormat, std::string_view>, 6> kFormatNames{
    {{NumberFormat::kBf16, "bf16"},
     {NumberFormat::kFp8, "fp8"},
     {NumberFormat::kFp8Fnuz, "fp8_fnuz"},
     {NumberFormat::kInt4, "int4"},
     {NumberFormat::kMxfp4, "mxfp4"},
     {NumberFormat::kNvfp4, "nvfp4"}}};

constexpr std::array<std::pair<KvFormat, std::string_view>, 2> kKvFormatNames{
    {{KvFormat::kBf16, "bf16"}, {KvFormat::kFp8, "fp8"}}};

template <class T, std::size_t N>
std::optional<T> value_of(const std::array<std::pair<T, std::string_view>, N>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name, &std::pair<T, std::string_view>::second);
  if (found == names.end()) return std::nullopt;
  return found->first;
}

template <class T, std::size_t N>
std::string_view name_of(const std::array<std::pair<T, std::string_view>, N>& names, T value) {
  return std::ranges::find(names, value, &std::pair<T, std::string_view>::first)->second;
}

}  // namespace

std::optional<NumberFormat> parse_number_format(std::string_view name) {
  return value_of(kFormatNames, name);
}

std::string_view to_string(NumberFormat format) {
  return name_of(kFormatNames, format);
}

std::optional<KvFormat> parse_kv_format(std::string_view name) {
  return value_of(kKvFormatNames, name);
}

std::string_view to_string(KvFormat format) {
  return name_of(kKvFormatNames, format);
}

std::string_view to_string(FormatSupport support) {
  switch (support) {
    case FormatSupport::kNative:
      return "native";
    case FormatSupport::kConverted:
      return "converted";
    case FormatSupport::kEmulated:
      return "emulated";
    case FormatSupport::kWrong:
      return "wrong";
  }
  return "unknown";
}

}  // namespace fareway
