#include "router/admin/routes.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fareway {
namespace {

AdminRoute routed(std::string_view target, std::string_view method = "GET") {
  const auto route = route_admin(method, target);
  EXPECT_TRUE(std::holds_alternative<AdminRoute>(route)) << target;
  return std::holds_alternative<AdminRoute>(route) ? std::get<AdminRoute>(route) : AdminRoute{};
}

AdminAnswer refused(std::string_view target, std::string_view method = "GET") {
  const auto route = route_admin(method, target);
  EXPECT_TRUE(std::holds_alternative<AdminAnswer>(route)) << target;
  return std::holds_alternative<AdminAnswer>(route) ? std::get<AdminAnswer>(route) : AdminAnswer{};
}

TEST(AdminRoutes, KnowEveryPage) {
  EXPECT_EQ(routed("/").page, AdminPage::kConsole);
  EXPECT_EQ(routed("/metrics").page, AdminPage::kMetrics);
  EXPECT_EQ(routed("/healthz").page, AdminPage::kHealth);
  EXPECT_EQ(routed("/readyz").page, AdminPage::kReady);
  EXPECT_EQ(routed("/admin/v1/fleet").page, AdminPage::kFleet);
  EXPECT_EQ(routed("/admin/v1/queue").page, AdminPage::kQueue);
  EXPECT_EQ(routed("/admin/v1/scaling").page, AdminPage::kScaling);
  EXPECT_EQ(routed("/admin/v1/decisions").page, AdminPage::kDecisions);
  EXPECT_EQ(routed("/admin/v1/decisions/req-1").page, AdminPage::kDecision);
  EXPECT_EQ(routed("/metrics", "HEAD").page, AdminPage::kMetrics);
}

TEST(AdminRoutes, DrainOneReplicaOrOnePoolByPost) {
  const AdminRoute drain = routed("/admin/v1/drain?replica=a%20b", "POST");
  EXPECT_EQ(drain.page, AdminPage::kDrain);
  EXPECT_EQ(drain.drain.replica, "a b");
  EXPECT_EQ(routed("/admin/v1/undrain?pool=p", "POST").page, AdminPage::kUndrain);
  EXPECT_EQ(refused("/admin/v1/drain?pool=p").status, 405);
  EXPECT_EQ(refused("/admin/v1/drain", "POST").status, 400);
  EXPECT_EQ(refused("/admin/v1/drain?pool=p&replica=r", "POST").status, 400);
  EXPECT_EQ(refused("/admin/v1/drain?pool=%zz", "POST").status, 400);
}

TEST(AdminRoutes, IgnoreUnknownQueries) {
  EXPECT_EQ(routed("/healthz?verbose").page, AdminPage::kHealth);
  EXPECT_EQ(routed("/admin/v1/decisions?colour=blue&&limit=7&limit=9").limit, 7);
}

TEST(AdminRoutes, TakeALimitAndCutItAtTheMost) {
  EXPECT_EQ(routed("/admin/v1/decisions").limit, kDecisionsShown);
  EXPECT_EQ(routed("/admin/v1/decisions?limit=1").limit, 1);
  EXPECT_EQ(routed("/admin/v1/decisions?limit=501").limit, kMostDecisionsShown);
  EXPECT_EQ(routed("/admin/v1/decisions?limit=99999999999999999999999").limit, kMostDecisionsShown);
}

TEST(AdminRoutes, RefuseALimitThatIsNoPositiveNumber) {
  for (const char* limit : {"0", "-1", "", "ten", "1.5", "+3", "3 ", "0x10"}) {
    EXPECT_EQ(refused(std::string("/admin/v1/decisions?limit=") + limit).status, 400) << limit;
  }
  EXPECT_EQ(refused("/admin/v1/decisions?limit").status, 400);
}

TEST(AdminRoutes, DecodeTheRequestId) {
  EXPECT_EQ(routed("/admin/v1/decisions/a%2Fb%20c?x=1").request_id, "a/b c");
  for (const char* broken : {"%", "%4", "%zz", "a%-1"}) {
    EXPECT_EQ(refused(std::string("/admin/v1/decisions/") + broken).status, 400) << broken;
  }
}

TEST(AdminRoutes, RefuseUnknownPathsInTheShapeOfTheClientApi) {
  for (const char* path : {"/metricsx", "/admin", "/admin/v1/decisions/", "//", "", "*", "healthz"}) {
    EXPECT_EQ(refused(path).status, 404) << path;
  }
  const auto error = nlohmann::json::parse(refused("/nowhere").body).at("error");
  EXPECT_EQ(error.at("code"), "not_found");
  EXPECT_EQ(error.at("type"), "invalid_request_error");
  EXPECT_TRUE(error.at("message").is_string());
}

TEST(AdminRoutes, OnlyRead) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "get", ""}) {
    const AdminAnswer answer = refused("/admin/v1/fleet", method);
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_EQ(answer.headers.at(0), (std::pair<std::string, std::string>{"Allow", "GET, HEAD"}));
  }
  EXPECT_EQ(refused("/nowhere", "POST").status, 404);
}

}  // namespace
}  // namespace fareway
