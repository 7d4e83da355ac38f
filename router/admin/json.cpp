#include "router/admin/json.hpp"

#include <chrono>
#include <ctime>

#include <fmt/chrono.h>

#include "pricing/money.hpp"

namespace fareway {

Json money(NanoUsd amount) {
  return {{"nanousd", amount.value}, {"text", format_usd(amount)}};
}

Json calendar(WallTime time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(time - second).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(second)),
                     milliseconds);
}

AdminAnswer json_answer(int status, const Json& body) {
  // Names come from a file and may hold anything; a page with a replacement character beats no page.
  return {.status = status,
          .body = body.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n",
          .headers = {}};
}

}  // namespace fareway
