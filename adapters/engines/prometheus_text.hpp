#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fareway {

/// A label of a sample, as views into the page.
struct PrometheusLabel {
  std::string_view name;
  std::string_view escaped_value;  ///< as written, escapes included; see `unescape_label`
};

/// One line of a metrics page. Views into the page; `labels` holds only until the visitor returns.
struct PrometheusSample {
  std::string_view name;
  std::string_view label_text;  ///< between the braces, as written; equal name and text: the same series
  std::span<const PrometheusLabel> labels;
  double value{};  ///< may be NaN or infinite

  /// Escaped value of that label; nothing where the sample has none.
  std::optional<std::string_view> label(std::string_view wanted) const;
};

struct PrometheusPage {
  std::size_t samples{};
  std::size_t bad_lines{};  ///< neither sample, comment nor blank; skipped
};

/// Reads a metrics page and shows every sample to `visit`, in the order of the page.
///
/// Takes the text format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/) and, since
/// vLLM's Rust front end answers nothing else, the sample lines of OpenMetrics 1.0
/// (https://prometheus.io/docs/specs/om/ open_metrics_spec/) with their exemplars. Strict within a line: half
/// a line would be a wrong number, so what does not parse to its end is counted and skipped. Tolerant between
/// lines: CRLF, a byte order mark, any bytes in a label value and a missing last line feed are fine, and one
/// bad line costs no other. Types, help, timestamps and exemplars are passed over: engines declare types
/// wrongly, and names tell enough. One pass, no allocation for a sample; a page that is no metrics page at
/// all yields no sample.
PrometheusPage read_prometheus_text(std::string_view page,
                                    const std::function<void(const PrometheusSample&)>& visit);

/// The label value meant: `\\`, `\"` and `\n` are escapes, any other backslash stands for itself.
std::string unescape_label(std::string_view escaped);

}  // namespace fareway
