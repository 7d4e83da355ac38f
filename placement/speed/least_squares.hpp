#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace fareway {

/// Seven unknowns at most: those of a calibration. One row says coefficients · x ≈ target.
constexpr std::size_t kUnknowns = 7;
using Coefficients = std::array<double, kUnknowns>;

struct LeastSquaresRow {
  Coefficients coefficients{};
  double target{};
};

/// The x ≥ floor that minimises Σ (coefficients · x − target)². A column that is zero in every row gets its
/// floor; so does one that no row can tell from the others.
///
/// Exact, by trying each of the 128 sets of unknowns that may lie above their floor: with so few that is
/// simpler than an active-set method, needs no tolerance for convergence and takes under a millisecond.
/// (Debian's Eigen 3.4 has no NNLS; Ceres or NLopt would be a large dependency for seven unknowns.) Where
/// rows are relative (divided by their measurement) it minimises relative errors.
Coefficients bounded_least_squares(std::span<const LeastSquaresRow> rows, const Coefficients& floor);

}  // namespace fareway
