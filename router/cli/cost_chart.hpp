#pragma once

#include <string>
#include <vector>

namespace fareway {

/// One deployment's line: dollars per million output tokens over tokens a second and user.
struct ChartLine {
  struct Point {
    double interactivity;
    double usd_per_mtok;
  };
  std::string name;
  std::vector<Point> points;  ///< by rising interactivity, all above zero
};

/// A self-contained SVG: interactivity to the right, dollars upwards on a logarithmic scale, a legend below
/// the title. `subtitle` says load and prices. `target` draws the asked interactivity as an upright line; 0:
/// none.
std::string cost_chart(const std::string& title, const std::string& subtitle,
                       const std::vector<ChartLine>& lines, double target);

}  // namespace fareway
