#include <algorithm>
#include <tuple>

#include "placement/catalogue/calibrations.hpp"

namespace fareway {

const CalibrationEntry* find_calibration(std::string_view device, std::string_view model,
                                         NumberFormat format) {
  const CalibrationEntry* best = nullptr;
  const auto rank = [](const CalibrationEntry& entry) { return std::tuple(entry.era, entry.tpot.points); };
  for (const CalibrationEntry& entry : calibrations()) {
    if (entry.device != device || entry.model != model || entry.format != format) continue;
    if (best == nullptr || rank(entry) > rank(*best)) best = &entry;
  }
  return best;
}

const CalibrationEntry* find_pooled_calibration(std::string_view device) {
  const auto found = std::ranges::find_if(calibrations(), [&](const CalibrationEntry& entry) {
    return entry.device == device && entry.model.empty();
  });
  return found == calibrations().end() ? nullptr : &*found;
}

}  // namespace fareway
