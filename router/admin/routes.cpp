#include "router/admin/routes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace fareway {

namespace {

struct FixedPath {
  std::string_view path;
  AdminPage page;
};
constexpr std::array kFixedPaths{
    FixedPath{"/", AdminPage::kConsole},
    FixedPath{"/metrics", AdminPage::kMetrics},
    FixedPath{"/healthz", AdminPage::kHealth},
    FixedPath{"/readyz", AdminPage::kReady},
    FixedPath{"/admin/v1/fleet", AdminPage::kFleet},
    FixedPath{"/admin/v1/queue", AdminPage::kQueue},
    FixedPath{"/admin/v1/scaling", AdminPage::kScaling},
    FixedPath{"/admin/v1/decisions", AdminPage::kDecisions},
};
constexpr std::string_view kDecisionPrefix = "/admin/v1/decisions/";
constexpr std::string_view kExplainPath = "/admin/v1/explain";
constexpr std::string_view kDrainPath = "/admin/v1/drain";
constexpr std::string_view kUndrainPath = "/admin/v1/undrain";

/// Undoes %XX; nothing where a percent sign is followed by anything else.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    unsigned value = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc{} || digits.size() != 2 || end != digits.data() + 2) return std::nullopt;
    decoded += static_cast<char>(value);
    i += 2;
  }
  return decoded;
}

/// Value of the first parameter of that name.
std::optional<std::string_view> parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const auto equals = pair.find('=');
    if (pair.substr(0, equals) == name)
      return equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1);
  }
  return std::nullopt;
}

std::variant<AdminRoute, AdminAnswer> decisions(std::string_view query) {
  const auto text = parameter(query, "limit");
  if (!text) return AdminRoute{.page = AdminPage::kDecisions};
  std::size_t limit = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), limit);
  const bool too_long = error == std::errc::result_out_of_range;
  if (end != text->data() + text->size() || (error != std::errc{} && !too_long) || (!too_long && limit == 0))
    return error_answer(400, "limit must be a whole number of at least 1", "bad_limit");
  return AdminRoute{.page = AdminPage::kDecisions,
                    .limit = too_long ? kMostDecisionsShown : std::min(limit, kMostDecisionsShown)};
}

AdminAnswer needs_post(std::string why) {
  AdminAnswer refusal = error_answer(405, std::move(why), "method_not_allowed");
  refusal.headers.emplace_back("Allow", "POST");
  return refusal;
}

std::variant<AdminRoute, AdminAnswer> drain(AdminPage page, std::string_view method, std::string_view query) {
  if (method != "POST") return needs_post("this changes which replicas take requests: use POST");
  AdminRoute route{.page = page};
  for (const auto& [name, field] :
       {std::pair{"replica", &DrainQuery::replica}, {"pool", &DrainQuery::pool}}) {
    auto value = percent_decoded(parameter(query, name).value_or(""));
    if (!value) return error_answer(400, "the query is not percent-encoded properly", "bad_query");
    route.drain.*field = std::move(*value);
  }
  if (route.drain.replica.empty() == route.drain.pool.empty())
    return error_answer(400, "say which: ?replica=NAME or ?pool=NAME", "bad_query");
  return route;
}

std::variant<AdminRoute, AdminAnswer> explain(std::string_view method, std::string_view query) {
  if (method != "POST") return needs_post("this decides for the request in the body: use POST");
  AdminRoute route{.page = AdminPage::kExplain};
  for (const auto& [name, field] : {std::pair{"path", &ExplainQuery::path},
                                    {"key", &ExplainQuery::key},
                                    {"class", &ExplainQuery::service_class},
                                    {"session", &ExplainQuery::session}}) {
    auto value = percent_decoded(parameter(query, name).value_or(""));
    if (!value) return error_answer(400, "the query is not percent-encoded properly", "bad_query");
    route.explain.*field = std::move(*value);
  }
  return route;
}

}  // namespace

std::variant<AdminRoute, AdminAnswer> route_admin(std::string_view method, std::string_view target) {
  const auto question = target.find('?');
  const std::string_view path = target.substr(0, question);
  const std::string_view query =
      question == std::string_view::npos ? std::string_view{} : target.substr(question + 1);

  if (path == kExplainPath) return explain(method, query);
  if (path == kDrainPath) return drain(AdminPage::kDrain, method, query);
  if (path == kUndrainPath) return drain(AdminPage::kUndrain, method, query);
  AdminRoute route{};
  if (const auto fixed = std::ranges::find(kFixedPaths, path, &FixedPath::path); fixed != kFixedPaths.end()) {
    route.page = fixed->page;
  } else if (path.starts_with(kDecisionPrefix) && path.size() > kDecisionPrefix.size()) {
    auto id = percent_decoded(path.substr(kDecisionPrefix.size()));
    if (!id)
      return error_answer(400, "the request id in the path is not percent-encoded properly", "bad_path");
    route = {.page = AdminPage::kDecision,
             .request_id = std::move(*id),
             .text = parameter(query, "format") == "text"};
  } else {
    return error_answer(404,
                        "there is no such page; there are /, /metrics, /healthz, /readyz, /admin/v1/fleet, "
                        "/admin/v1/queue, /admin/v1/scaling, /admin/v1/decisions, "
                        "/admin/v1/decisions/{request-id}, /admin/v1/explain, /admin/v1/drain and "
                        "/admin/v1/undrain",
                        "not_found");
  }
  if (method != "GET" && method != "HEAD") {
    AdminAnswer refusal = error_answer(405, "this page is only read: use GET or HEAD", "method_not_allowed");
    refusal.headers.emplace_back("Allow", "GET, HEAD");
    return refusal;
  }
  if (route.page == AdminPage::kDecisions) return decisions(query);
  return route;
}

}  // namespace fareway
