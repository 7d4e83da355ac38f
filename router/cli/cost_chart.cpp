#include "router/cli/cost_chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace fareway {
namespace {

constexpr double kWidth = 860;
constexpr double kHeight = 520;
constexpr double kLeft = 76;
constexpr double kRight = 24;
constexpr double kTop = 96;
constexpr double kBottom = 56;

// Okabe and Ito's colours: told apart by colour-blind readers too.
constexpr std::array<std::string_view, 7> kColours{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                   "#56B4E9", "#E69F00", "#000000"};
// Past seven lines the dash tells them apart.
constexpr std::array<std::string_view, 3> kDashes{"", "6 3", "2 3"};

/// Where values lie on the paper.
struct Scales {
  double most_x{1};
  double low_log{0};
  double high_log{1};

  double x(double interactivity) const { return kLeft + interactivity / most_x * (kWidth - kLeft - kRight); }
  double y(double usd) const {
    const double share = (std::log10(usd) - low_log) / (high_log - low_log);
    return kHeight - kBottom - share * (kHeight - kTop - kBottom);
  }
};

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '&') {
      safe += "&amp;";
    } else if (letter == '<') {
      safe += "&lt;";
    } else {
      safe += letter;
    }
  }
  return safe;
}

/// 1, 2 or 5 times a power of ten that cuts `most` into some eight pieces.
double tick_step(double most) {
  const double rough = most / 8;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10 * power;
}

Scales scales_of(const std::vector<ChartLine>& lines, double target) {
  Scales scales{.most_x = std::max(target, 1.0)};
  double low = 1e300;
  double high = 0;
  for (const ChartLine& line : lines)
    for (const auto& [interactivity, usd] : line.points) {
      scales.most_x = std::max(scales.most_x, interactivity);
      low = std::min(low, usd);
      high = std::max(high, usd);
    }
  if (high <= 0) low = high = 1;
  scales.most_x *= 1.04;
  scales.low_log = std::log10(low) - 0.08;
  scales.high_log = std::log10(high) + 0.08;
  return scales;
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text, int size = 12) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\">{}</text>\n", x, y,
                     anchor, size, escaped(text));
}

std::string rule(double x1, double y1, double x2, double y2, std::string_view colour,
                 std::string_view dash = "") {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"{}/>\n", x1,
                     y1, x2, y2, colour, dash.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dash));
}

std::string axes(const Scales& scales) {
  const double floor = kHeight - kBottom;
  std::string svg;
  const double step = tick_step(scales.most_x);
  for (double at = 0; at <= scales.most_x; at += step) {
    svg += rule(scales.x(at), kTop, scales.x(at), floor, "#e4e4e4");
    svg += text_at(scales.x(at), floor + 18, "middle", fmt::format("{:g}", at));
  }
  for (int power = static_cast<int>(std::floor(scales.low_log)); power <= std::ceil(scales.high_log); ++power)
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double usd = factor * std::pow(10, power);
      if (std::log10(usd) < scales.low_log || std::log10(usd) > scales.high_log) continue;
      svg += rule(kLeft, scales.y(usd), kWidth - kRight, scales.y(usd), "#e4e4e4");
      svg += text_at(kLeft - 8, scales.y(usd) + 4, "end", fmt::format("${:g}", usd));
    }
  svg += rule(kLeft, floor, kWidth - kRight, floor, "#333");
  svg += rule(kLeft, kTop, kLeft, floor, "#333");
  svg += text_at((kLeft + kWidth - kRight) / 2, kHeight - 14, "middle", "tokens per second and user", 13);
  svg += fmt::format(
      "<text transform=\"translate(18 {:.1f}) rotate(-90)\" text-anchor=\"middle\" "
      "font-size=\"13\">$ per million output tokens</text>\n",
      (kTop + floor) / 2);
  return svg;
}

std::string stroke_of(std::size_t line) {
  const std::string_view dash = kDashes[line / kColours.size() % kDashes.size()];
  return fmt::format("stroke=\"{}\" stroke-width=\"2\" fill=\"none\"{}", kColours[line % kColours.size()],
                     dash.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dash));
}

std::string drawn(const ChartLine& line, std::size_t number, const Scales& scales) {
  std::string points;
  for (const auto& [interactivity, usd] : line.points)
    points += fmt::format("{:.1f},{:.1f} ", scales.x(interactivity), scales.y(usd));
  std::string svg = fmt::format("<polyline points=\"{}\" {}/>\n", points, stroke_of(number));
  if (line.points.size() == 1)  // a line of one point is invisible
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n",
                       scales.x(line.points[0].interactivity), scales.y(line.points[0].usd_per_mtok),
                       kColours[number % kColours.size()]);
  return svg;
}

std::string legend(const std::vector<ChartLine>& lines) {
  constexpr double kEntry = 192;
  std::string svg;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const double x = kLeft + kEntry * static_cast<double>(i % 4);
    const double y = 66 + 16 * static_cast<double>(i / 4);
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}h22\" {}/>\n", x, y - 4, stroke_of(i));
    svg += text_at(x + 28, y, "start", lines[i].name);
  }
  return svg;
}

}  // namespace

std::string cost_chart(const std::string& title, const std::string& subtitle,
                       const std::vector<ChartLine>& lines, double target) {
  const Scales scales = scales_of(lines, target);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" "
      "height=\"{1:g}\" "
      "font-family=\"system-ui, sans-serif\" fill=\"#222\">\n<rect width=\"{0:g}\" height=\"{1:g}\" "
      "fill=\"#fff\"/>\n",
      kWidth, kHeight);
  svg += text_at(kLeft, 26, "start", title, 17) + text_at(kLeft, 45, "start", subtitle);
  svg += axes(scales);
  if (target > 0) {
    svg += rule(scales.x(target), kTop, scales.x(target), kHeight - kBottom, "#888", "4 4");
    svg += text_at(scales.x(target) + 4, kTop + 12, "start", "target");
  }
  for (std::size_t i = 0; i < lines.size(); ++i) svg += drawn(lines[i], i, scales);
  return svg + legend(lines) + "</svg>\n";
}

}  // namespace fareway
