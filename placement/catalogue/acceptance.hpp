#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace fareway {

/// Mean tokens a verification step yields, the model's own included, by number of drafted tokens from one on.
struct AcceptanceTable {
  std::string_view model;   ///< of the catalogue where it has it
  std::string_view method;  ///< mtp, eagle3, dspark
  std::string_view mode;    ///< thinking, no thinking
  double
      draft_layers{};  ///< of the draft, run once for every drafted token, or once in all for a block draft
  bool block_draft{};
  std::span<const double> accepted;
};

std::span<const AcceptanceTable> acceptance_tables();

/// The first table of model and method, in the model's thinking mode; null where there is none.
const AcceptanceTable* find_acceptance(std::string_view model, std::string_view method);

}  // namespace fareway
