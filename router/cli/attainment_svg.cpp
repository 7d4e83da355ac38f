#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "router/cli/placement_suite.hpp"

namespace fareway {
namespace {

using nlohmann::json;

// Plot area in pixels, and the range of attainment it shows.
constexpr double kLeft = 50;
constexpr double kTop = 30;
constexpr double kWidth = 420;
constexpr double kHeight = 260;
constexpr double kLowest = 0.90;
constexpr std::array kColours{"#c2410c", "#1d4ed8", "#047857", "#7c3aed", "#64748b", "#be185d"};

double y_of(double attainment) {
  return kTop + kHeight * (1 - (std::max(attainment, kLowest) - kLowest) / (1 - kLowest));
}

std::string curve(const json& row, double most, std::size_t number) {
  const char* colour = kColours[number % kColours.size()];
  std::string points;
  for (const json& point : row["points"]) {
    const double rate = point["rate"];
    if (rate > most) continue;
    points +=
        fmt::format("{:.1f},{:.1f} ", kLeft + kWidth * rate / most, y_of(point["attainment"].get<double>()));
  }
  const double text_y = kTop + 14 + 16 * static_cast<double>(number);
  return fmt::format(
      "<polyline fill='none' stroke='{0}' stroke-width='{1}' points='{2}'/>\n"
      "<text x='{3:.0f}' y='{4:.0f}' fill='{0}'>{5}</text>\n",
      colour, number == 0 ? 2.5 : 1.2, points, kLeft + kWidth + 12, text_y, row["policy"].get<std::string>());
}

}  // namespace

std::string attainment_svg(const json& scene) {
  double most = 1;
  for (const json& row : scene["goodput"])
    for (const json& rate : row[row.contains("rate95") ? "rate95" : "rate"])
      most = std::max(most, 1.15 * rate.get<double>());
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='690' height='335' font-family='sans-serif' "
      "font-size='12'>\n"
      "<rect width='690' height='335' fill='white'/>\n<text x='{:.0f}' y='18'>{}: share of requests within "
      "their "
      "objective, over requests a second</text>\n",
      kLeft, scene["name"].get<std::string>());
  for (const double line : {0.90, 0.95, 0.99, 1.0}) {
    svg += fmt::format(
        "<line x1='{0:.0f}' x2='{1:.0f}' y1='{2:.1f}' y2='{2:.1f}' stroke='#ddd'/>"
        "<text x='8' y='{3:.1f}'>{4:.0f} %</text>\n",
        kLeft, kLeft + kWidth, y_of(line), y_of(line) + 4, 100 * line);
  }
  for (int step = 0; step <= 4; ++step) {
    svg += fmt::format("<text x='{:.0f}' y='{:.0f}' text-anchor='middle'>{:.1f}</text>\n",
                       kLeft + kWidth * step / 4, kTop + kHeight + 18, most * step / 4);
  }
  std::size_t number = 0;
  for (const json& row : scene["goodput"])
    if (number < kColours.size()) svg += curve(row, most, number++);
  return svg + "</svg>\n";
}

}  // namespace fareway
