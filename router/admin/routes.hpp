#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "router/admin/answer.hpp"

namespace fareway {

enum class AdminPage {
  kConsole,
  kMetrics,
  kHealth,
  kReady,
  kFleet,
  kQueue,
  kScaling,
  kDecisions,
  kDecision,
  kExplain,
  kDrain,
  kUndrain
};

/// Decisions one page shows when it does not say, and at most: copying them takes time from the data loop.
inline constexpr std::size_t kDecisionsShown = 50;
inline constexpr std::size_t kMostDecisionsShown = 500;

/// What the query of /admin/v1/explain says of the request in its body; empty: not given.
struct ExplainQuery {
  std::string path;
  std::string key;
  std::string service_class;
  std::string session;
};

/// Which replicas a drain is about: one by its name, or all of a pool. Exactly one is given.
struct DrainQuery {
  std::string replica;
  std::string pool;
};

struct AdminRoute {
  AdminPage page{AdminPage::kConsole};
  std::size_t limit{kDecisionsShown};  ///< of kDecisions
  std::string request_id{};            ///< of kDecision
  bool text{false};                    ///< of kDecision: for people, by ?format=text
  ExplainQuery explain{};              ///< of kExplain
  DrainQuery drain{};                  ///< of kDrain and kUndrain
};

/// Which page a request asks for, or the answer that refuses it: 405 for a method other than GET and HEAD
/// (POST for explain, drain and undrain), 404 for an unknown path, 400 for a limit that is no positive number
/// and for broken percent-encoding. Unknown query parameters are ignored, limits beyond the most cut.
std::variant<AdminRoute, AdminAnswer> route_admin(std::string_view method, std::string_view target);

}  // namespace fareway
