#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fareway {

/// One HTTP answer of the admin listener, before it is written.
struct AdminAnswer {
  int status{200};
  std::string content_type{"application/json"};
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  ///< beyond those every answer carries
};

/// {"error":{"message","type","param","code"}}, the shape of the client API, so that one parser reads both.
AdminAnswer error_answer(int status, std::string_view message, std::string_view code);

}  // namespace fareway
