#include "router/gateway/api.hpp"

#include <gtest/gtest.h>

namespace fareway {
namespace {

bool is_api(const Route& route, Api api) {
  const Api* found = std::get_if<Api>(&route);
  return found != nullptr && *found == api;
}

int refused_with(const Route& route) {
  const Refusal* refusal = std::get_if<Refusal>(&route);
  return refusal == nullptr ? 0 : refusal->status;
}

TEST(FindRoute, KnowsEveryEndpointAndItsMethod) {
  for (const Api api : {Api::kChat, Api::kCompletions, Api::kEmbeddings, Api::kResponses, Api::kMessages}) {
    EXPECT_TRUE(is_api(find_route("POST", path_of(api)), api)) << path_of(api);
    EXPECT_EQ(refused_with(find_route("GET", path_of(api))), 405) << path_of(api);
  }
  EXPECT_EQ(refused_with(find_route("POST", "/v1/models")), 405);
}

TEST(FindRoute, TakesModelsAndTheirIdsWithSlashes) {
  EXPECT_EQ(std::get<ModelsQuery>(find_route("GET", "/v1/models")).id, "");
  EXPECT_EQ(std::get<ModelsQuery>(find_route("HEAD", "/v1/models/org/name")).id, "org/name");
}

TEST(FindRoute, IgnoresTheQuery) {
  EXPECT_TRUE(is_api(find_route("POST", "/v1/messages?beta=true"), Api::kMessages));
}

TEST(FindRoute, TakesBasePathsOfOtherGateways) {
  EXPECT_TRUE(is_api(find_route("POST", "/openai/v1/chat/completions"), Api::kChat));
  EXPECT_TRUE(is_api(find_route("POST", "/anthropic/v1/messages?beta=true"), Api::kMessages));
  EXPECT_EQ(std::get<ModelsQuery>(find_route("GET", "/openai/v1/models/m")).id, "m");
  EXPECT_EQ(dialect_of_target("/anthropic/v1/messages"), Dialect::kAnthropic);
}

TEST(FindRoute, TakesNothingThatOnlyLooksLikeOne) {
  for (const char* path :
       {"/openai", "/openai/", "/openai/v1", "/openaiv1/chat/completions", "/openai/openai/v1/models",
        "//v1/models", "/v1/modelsx", "/v1/chat/completions/", "/V1/models", "/v1/%6dodels", "", "*"})
    EXPECT_EQ(refused_with(find_route("GET", path)), 404) << path;
}

}  // namespace
}  // namespace fareway
