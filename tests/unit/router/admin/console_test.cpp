#include <regex>

#include <gmock/gmock.h>

#include "router/admin/console_html.hpp"
#include "router/admin/pages.hpp"

namespace fareway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ConsolePage, AllowsItsOwnScriptAndStyleByHashAndNothingElse) {
  const AdminAnswer answer = console_page();
  EXPECT_EQ(answer.content_type, "text/html; charset=utf-8");
  ASSERT_EQ(answer.headers.size(), 1);
  EXPECT_EQ(answer.headers[0].first, "Content-Security-Policy");
  EXPECT_THAT(
      answer.headers[0].second,
      AllOf(HasSubstr("default-src 'none'"), HasSubstr("connect-src 'self'"),
            HasSubstr("script-src 'sha256-"), HasSubstr("style-src 'sha256-"), Not(HasSubstr("unsafe"))));
  // Base64 of 32 bytes is 43 characters and one '='.
  const std::regex hash("'sha256-[A-Za-z0-9+/]{43}='");
  const std::string& policy = answer.headers[0].second;
  EXPECT_EQ(std::distance(std::sregex_iterator(policy.begin(), policy.end(), hash), std::sregex_iterator()),
            2);
}

TEST(ConsolePage, LoadsNothingFromElsewhereAndParsesNoDataAsHtml) {
  const std::string html{console_html()};
  EXPECT_THAT(html, HasSubstr("The router cannot be reached."));
  for (const char* dangerous :
       {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http://", "https://",
        "//cdn", " src=", "<link", "@import", "url(", " style=\"", " onclick="}) {
    EXPECT_THAT(html, Not(HasSubstr(dangerous)));
  }
}

}  // namespace
}  // namespace fareway
