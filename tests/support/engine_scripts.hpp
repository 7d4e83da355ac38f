#pragma once

#include <chrono>
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/running_gateway.hpp"

namespace fareway::testing {

/// Everything a stream of one token and its usage consists of, each event a chunk of its own.
inline std::string whole_stream(int prompt = 11, int completion = 7) {
  return chunk(event("hi")) + chunk(finish_event()) + chunk(usage_event(prompt, completion)) + chunk(kDone) +
         std::string(kLast);
}

inline ScriptedBackend::Script streaming(std::string chunks) {
  return ScriptedBackend::answering(std::string(kSseHead) + std::move(chunks));
}

/// Takes one request, sends `bytes` and breaks off: by a reset, or in the normal way.
enum class Ending { kFin, kReset };
inline ScriptedBackend::Script breaking_off(std::string bytes, Ending ending = Ending::kReset) {
  return [bytes = std::move(bytes), ending](RawConnection& connection, ScriptedBackend& backend) {
    if (!backend.take_request(connection)) return;
    connection.send(bytes);
    if (ending == Ending::kFin) return;
    connection.wait_until_read();
    connection.reset();
  };
}

/// Takes one request, sends `bytes`, keeps the connection open, and tells whether its peer closed it within a
/// second.
struct Held {
  std::promise<bool> closed;
  ScriptedBackend::Script script(std::string bytes) {
    return [this, bytes = std::move(bytes)](RawConnection& connection, ScriptedBackend& backend) {
      if (!backend.take_request(connection)) return;
      connection.send(bytes);
      closed.set_value(connection.closes_within(std::chrono::seconds(5)));
    };
  }
};

inline RawAnswer ask(RunningGateway& gateway, std::string_view body = kStreamBody,
                     std::string_view path = "/v1/chat/completions", std::string_view extra = {}) {
  RawConnection client = gateway.connect();
  client.send(post(body, path, extra));
  return read_answer(client);
}

/// What every case ends with: nothing is in flight, and a plain request on a new connection is served.
inline void expect_alive(RunningGateway& gateway) {
  EXPECT_TRUE(gateway.settles_down());
  EXPECT_NE(ask(gateway, R"({"model":"nope"})").status(), 0);
}

}  // namespace fareway::testing
