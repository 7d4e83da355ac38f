#include "router/cli/admin_client.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

namespace fareway {
namespace {

TEST(AdminClient, EncodesWhatUrlsReserve) {
  EXPECT_EQ(percent_encoded("/v1/chat completions"), "%2Fv1%2Fchat%20completions");
  EXPECT_EQ(percent_encoded("glm-4.6_a~b"), "glm-4.6_a~b");
  EXPECT_EQ(percent_encoded("é&?"), "%C3%A9%26%3F");
}

TEST(AdminClient, WantsHostAndPort) {
  EXPECT_NO_THROW(AdminClient("http://127.0.0.1:9090"));
  EXPECT_NO_THROW(AdminClient("http://[::1]:9090/"));
  EXPECT_NO_THROW(AdminClient(""));
  EXPECT_THROW(AdminClient("localhost"), std::runtime_error);
  EXPECT_THROW(AdminClient("http://127.0.0.1:9090/admin"), std::runtime_error);
}

TEST(AdminClient, SaysWhatToDoWhereNobodyListens) {
  try {
    AdminClient("127.0.0.1:1").get("/healthz");
    ADD_FAILURE() << "somebody listens on port 1";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("name its admin listener with --admin"), std::string::npos);
  }
}

}  // namespace
}  // namespace fareway
