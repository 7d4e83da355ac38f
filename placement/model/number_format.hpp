#pragma once

#include <optional>
#include <string_view>

namespace fareway {

/// Number format of a checkpoint's weights. `kFp8` is OCP e4m3, what nearly every FP8 checkpoint is published
/// in.
enum class NumberFormat { kBf16, kFp8, kFp8Fnuz, kInt4, kMxfp4, kNvfp4 };
std::optional<NumberFormat> parse_number_format(std::string_view name);
std::string_view to_string(NumberFormat format);

/// Number format of the KV cache; an engine's own choice, whatever the weights are in.
enum class KvFormat { kBf16, kFp8 };
std::optional<KvFormat> parse_kv_format(std::string_view name);
std::string_view to_string(KvFormat format);

/// The bit layout a device computes FP8 e4m3 in. An OCP checkpoint on an FNUZ device is converted on load;
/// the other way round nothing converts and every value would be read a factor of two wrong.
enum class Fp8Dialect { kNone, kOcp, kFnuz };

/// How a device runs a checkpoint format.
enum class FormatSupport { kNative, kConverted, kEmulated, kWrong };
std::string_view to_string(FormatSupport support);

}  // namespace fareway
