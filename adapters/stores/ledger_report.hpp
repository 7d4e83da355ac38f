#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pricing/base/units.hpp"

namespace fareway {

enum class ReportKey { kTenant, kModel, kPool, kClass };

/// One line of the bill. Amounts that are not known are nothing, and `unpriced`, `uncounted` say for how many
/// requests.
struct ReportLine {
  std::string key;  ///< by pool, "(none)" for requests that were never tried on a replica
  std::int64_t requests{0};
  Tokens prompt;  ///< tokens of the requests whose counts are known
  Tokens cached;
  Tokens completion;
  NanoUsd cost;
  NanoUsd idle;                   ///< by pool only; elsewhere 0
  NanoUsd price;                  ///< of the requests that have one
  std::int64_t unpriced{0};       ///< requests without a known price
  std::int64_t uncounted{0};      ///< requests without known token counts
  std::optional<NanoUsd> margin;  ///< price − cost of the priced requests; nothing where nothing is priced
  std::optional<UsdPerMTok>
      cost_per_mtok;  ///< cost ÷ (prompt + completion) of the counted requests; nothing without
};

struct Report {
  std::vector<ReportLine> lines;  ///< dearest first (cost + idle), then by key
  ReportLine total;
};

/// Sums the ledger over requests admitted in [since, until); an idle interval counts where it begins, so that
/// adjacent spans add up. By pool, cost is split by attempt; requests, tokens and price count where the last
/// attempt ran, and margin and cost_per_mtok take those requests with all their attempts. Amounts are exact.
/// Opens the file read-only; throws std::runtime_error with one clear line, also where a sum is beyond the
/// range of NanoUsd.
Report ledger_report(const std::filesystem::path& file, ReportKey by, std::optional<WallTime> since,
                     std::optional<WallTime> until);

}  // namespace fareway
