#include "pricing/ledger_row.hpp"

namespace fareway {

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kComplete:
      return "complete";
    case Outcome::kIncomplete:
      return "incomplete";
    case Outcome::kClientClosed:
      return "client_closed";
    case Outcome::kEngineError:
      return "engine_error";
    case Outcome::kFailed:
      return "failed";
  }
  return "unknown";
}

}  // namespace fareway
