#include "placement/speed/least_squares.hpp"

#include <cmath>
#include <limits>
#include <optional>

namespace fareway {
namespace {

/// AᵀA and Aᵀb of the rows with unit columns, so that one threshold tells a singular set from a sound one.
struct NormalEquations {
  std::array<Coefficients, kUnknowns> matrix{};
  Coefficients right{};
  Coefficients scale{};
};

constexpr double kSingular = 1e-9;  // of a unit diagonal: columns that differ by less are the same to us

NormalEquations normal_equations(std::span<const LeastSquaresRow> rows, const Coefficients& floor) {
  NormalEquations sums;
  for (const LeastSquaresRow& row : rows) {
    double rest = row.target;
    for (std::size_t j = 0; j < kUnknowns; ++j) rest -= row.coefficients[j] * floor[j];
    for (std::size_t i = 0; i < kUnknowns; ++i) {
      sums.right[i] += row.coefficients[i] * rest;
      for (std::size_t j = 0; j < kUnknowns; ++j)
        sums.matrix[i][j] += row.coefficients[i] * row.coefficients[j];
    }
  }
  for (std::size_t i = 0; i < kUnknowns; ++i)
    sums.scale[i] = sums.matrix[i][i] > 0 ? 1 / std::sqrt(sums.matrix[i][i]) : 0;
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    sums.right[i] *= sums.scale[i];
    for (std::size_t j = 0; j < kUnknowns; ++j) sums.matrix[i][j] *= sums.scale[i] * sums.scale[j];
  }
  return sums;
}

/// Unknowns of a set, as the bits of an integer.
bool holds(unsigned set, std::size_t unknown) {
  return (set >> unknown & 1U) != 0;
}

/// Gauss-Jordan on the equations of `set`; the other unknowns are zero. Nothing where they are singular.
std::optional<Coefficients> solve(NormalEquations sums, unsigned set) {
  for (std::size_t pivot = 0; pivot < kUnknowns; ++pivot) {
    if (!holds(set, pivot)) continue;
    const double diagonal = sums.matrix[pivot][pivot];
    if (diagonal < kSingular) return std::nullopt;
    for (std::size_t row = 0; row < kUnknowns; ++row) {
      if (row == pivot || !holds(set, row)) continue;
      const double factor = sums.matrix[row][pivot] / diagonal;
      for (std::size_t column = pivot; column < kUnknowns; ++column)
        sums.matrix[row][column] -= factor * sums.matrix[pivot][column];
      sums.right[row] -= factor * sums.right[pivot];
    }
  }
  Coefficients solution{};
  for (std::size_t i = 0; i < kUnknowns; ++i)
    if (holds(set, i)) solution[i] = sums.right[i] / sums.matrix[i][i];
  return solution;
}

/// How much of Σ target² a solution of the normal equations explains: the more, the smaller its residual.
double explained(const NormalEquations& sums, const Coefficients& solution) {
  double total = 0;
  for (std::size_t i = 0; i < kUnknowns; ++i) total += solution[i] * sums.right[i];
  return total;
}

bool is_non_negative(const Coefficients& values) {
  for (const double value : values)
    if (!(value >= 0)) return false;
  return true;
}

}  // namespace

Coefficients bounded_least_squares(std::span<const LeastSquaresRow> rows, const Coefficients& floor) {
  const NormalEquations sums = normal_equations(rows, floor);
  Coefficients best{};
  double best_explained = 0;
  for (unsigned set = 1; set < 1U << kUnknowns; ++set) {
    const std::optional<Coefficients> solution = solve(sums, set);
    if (!solution || !is_non_negative(*solution)) continue;
    const double gain = explained(sums, *solution);
    if (gain > best_explained) {
      best = *solution;
      best_explained = gain;
    }
  }
  for (std::size_t i = 0; i < kUnknowns; ++i) best[i] = floor[i] + best[i] * sums.scale[i];
  return best;
}

}  // namespace fareway
