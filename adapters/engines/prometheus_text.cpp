#include "adapters/engines/prometheus_text.hpp"

#include <charconv>
#include <vector>

namespace fareway {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

enum class NameKind { kMetric, kLabel };

/// What is left of a line.
class Cursor {
 public:
  explicit Cursor(std::string_view line) : rest_(line) {}

  std::string_view rest() const { return rest_; }
  bool at_end() const { return rest_.empty(); }
  bool at(char c) const { return !rest_.empty() && rest_.front() == c; }

  bool skip_blanks() {
    const std::size_t before = rest_.size();
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    return rest_.size() != before;
  }

  bool take(char c) {
    if (!at(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// Empty where no name stands here. Colons belong to names of metrics only.
  std::string_view take_name(NameKind kind) {
    const bool colons = kind == NameKind::kMetric;
    std::size_t length = 0;
    while (length < rest_.size()) {
      const char c = rest_[length];
      const bool fits = starts_name(c) || (colons && c == ':') || (length > 0 && is_digit(c));
      if (!fits) break;
      ++length;
    }
    return take_front(length);
  }

  /// Up to the next blank or the end.
  std::string_view take_token() {
    std::size_t length = 0;
    while (length < rest_.size() && !is_blank(rest_[length])) ++length;
    return take_front(length);
  }

  /// What stands before the closing quote, escapes as written; nothing where the quote is missing.
  std::optional<std::string_view> take_quoted() {
    if (!take('"')) return std::nullopt;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      if (rest_[i] == '\\') {
        ++i;
      } else if (rest_[i] == '"') {
        const std::string_view inside = take_front(i);
        rest_.remove_prefix(1);
        return inside;
      }
    }
    return std::nullopt;
  }

 private:
  std::string_view take_front(std::size_t length) {
    const std::string_view front = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return front;
  }

  std::string_view rest_;
};

/// A decimal number, NaN or infinity in any spelling that exporters use; nothing where the text is anything
/// else or does not fit a double.
std::optional<double> parse_number(std::string_view text) {
  // std::from_chars takes no leading plus, which "+Inf" has.
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// After the opening brace: labels and the closing brace.
bool read_labels(Cursor& cursor, std::vector<PrometheusLabel>& labels) {
  cursor.skip_blanks();
  while (!cursor.take('}')) {
    PrometheusLabel label;
    label.name = cursor.take_name(NameKind::kLabel);
    if (label.name.empty()) return false;
    cursor.skip_blanks();
    if (!cursor.take('=')) return false;
    cursor.skip_blanks();
    const auto value = cursor.take_quoted();
    if (!value) return false;
    label.escaped_value = *value;
    labels.push_back(label);
    cursor.skip_blanks();
    if (!cursor.take(',') && !cursor.at('}')) return false;
    cursor.skip_blanks();
  }
  return true;
}

/// After the value: nothing, a timestamp, an exemplar, or both.
bool ends_well(Cursor& cursor) {
  cursor.skip_blanks();
  if (cursor.at_end() || cursor.at('#')) return true;
  if (!parse_number(cursor.take_token())) return false;
  cursor.skip_blanks();
  return cursor.at_end() || cursor.at('#');
}

/// `labels` is scratch space, reused from line to line.
std::optional<PrometheusSample> read_sample(std::string_view line, std::vector<PrometheusLabel>& labels) {
  Cursor cursor(line);
  PrometheusSample sample;
  sample.name = cursor.take_name(NameKind::kMetric);
  if (sample.name.empty()) return std::nullopt;

  bool separated = cursor.skip_blanks();
  labels.clear();
  if (cursor.take('{')) {
    const std::string_view inside = cursor.rest();
    if (!read_labels(cursor, labels)) return std::nullopt;
    sample.label_text = inside.substr(0, inside.size() - cursor.rest().size() - 1);
    cursor.skip_blanks();
    separated = true;
  }
  const auto value = parse_number(cursor.take_token());
  if (!separated || !value || !ends_well(cursor)) return std::nullopt;
  sample.value = *value;
  sample.labels = labels;
  return sample;
}

/// Without the blanks around it, and without the carriage return of a CRLF page.
std::string_view trimmed(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  return line;
}

}  // namespace

std::optional<std::string_view> PrometheusSample::label(std::string_view wanted) const {
  for (const PrometheusLabel& label : labels) {
    if (label.name == wanted) return label.escaped_value;
  }
  return std::nullopt;
}

PrometheusPage read_prometheus_text(std::string_view page,
                                    const std::function<void(const PrometheusSample&)>& visit) {
  PrometheusPage summary;
  std::vector<PrometheusLabel> labels;
  if (page.starts_with(kByteOrderMark)) page.remove_prefix(kByteOrderMark.size());
  while (!page.empty()) {
    const std::size_t end = page.find('\n');
    const std::string_view line = trimmed(page.substr(0, end));
    page.remove_prefix(end == std::string_view::npos ? page.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    if (const auto sample = read_sample(line, labels)) {
      ++summary.samples;
      visit(*sample);
    } else {
      ++summary.bad_lines;
    }
  }
  return summary;
}

std::string unescape_label(std::string_view escaped) {
  std::string value;
  value.reserve(escaped.size());
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    const char next = i + 1 < escaped.size() ? escaped[i + 1] : '\0';
    if (escaped[i] == '\\' && (next == '\\' || next == '"' || next == 'n')) {
      value.push_back(next == 'n' ? '\n' : next);
      ++i;
    } else {
      value.push_back(escaped[i]);
    }
  }
  return value;
}

}  // namespace fareway
