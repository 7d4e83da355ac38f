#include "router/admin/answer.hpp"

#include "router/admin/json.hpp"

namespace fareway {

AdminAnswer error_answer(int status, std::string_view message, std::string_view code) {
  const char* type = status >= 500 ? "server_error" : "invalid_request_error";
  return json_answer(status,
                     {{"error", {{"message", message}, {"type", type}, {"param", nullptr}, {"code", code}}}});
}

}  // namespace fareway
