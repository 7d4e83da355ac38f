#pragma once

#include <filesystem>

#include "placement/catalogue/device_prices.hpp"

namespace fareway {

/// What devices cost, from a YAML or JSON file such as deploy/prices.example.yaml:
///     as_of: 2026-08
///     source: quotes of the purchasing department
///     usd_per_device_hour: {MI355X: 2.50, B200: 4.25}
/// Throws a ConfigError with every problem, each with its line.
DevicePrices load_prices(const std::filesystem::path& file);

}  // namespace fareway
