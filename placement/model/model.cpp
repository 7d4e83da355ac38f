#include "placement/model/model.hpp"

#include <algorithm>

namespace fareway {

const Checkpoint* Model::checkpoint(NumberFormat format) const {
  const auto found = std::ranges::find(checkpoints, format, &Checkpoint::format);
  return found == checkpoints.end() ? nullptr : &*found;
}

double Model::expert_share_of_parameters() const {
  if (experts == 0 || total_parameters <= 0) return 0;
  const double picked = static_cast<double>(experts_per_token) / static_cast<double>(experts);
  const auto dormant = static_cast<double>(total_parameters - active_parameters);
  return dormant / (1 - picked) / static_cast<double>(total_parameters);
}

}  // namespace fareway
