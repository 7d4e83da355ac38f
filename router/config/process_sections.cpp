#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>

#include "router/config/address_text.hpp"
#include "router/config/draft.hpp"
#include "router/config/quantity_text.hpp"
#include "router/config/value_parsers.hpp"

namespace fareway {
namespace {

using std::chrono::milliseconds;

constexpr std::uint16_t kDefaultPort = 8080;
constexpr std::uint16_t kDefaultAdminPort = 9090;
constexpr double kMostTimeScale = 1e6;
constexpr std::int64_t kMostConnections = 1'000'000;
constexpr std::int64_t kMostAttempts = 16;

struct TimeLimit {
  std::string_view key;
  milliseconds Limits::* field;
};

constexpr std::array kTimeLimits{TimeLimit{"header_timeout", &Limits::header_timeout},
                                 TimeLimit{"body_idle_timeout", &Limits::body_idle_timeout},
                                 TimeLimit{"keep_alive_timeout", &Limits::keep_alive_timeout},
                                 TimeLimit{"connect_timeout", &Limits::connect_timeout},
                                 TimeLimit{"first_byte_timeout", &Limits::first_byte_timeout},
                                 TimeLimit{"idle_timeout", &Limits::idle_timeout},
                                 TimeLimit{"write_stall_timeout", &Limits::write_stall_timeout},
                                 TimeLimit{"upstream_idle", &Limits::upstream_idle},
                                 TimeLimit{"drain_timeout", &Limits::drain_timeout}};

}  // namespace

void read_listeners(Section& top, ConfigDraft& draft) {
  Config& config = draft.config;
  config.listen.port = kDefaultPort;
  config.admin.port = kDefaultAdminPort;
  config.ledger_file = "fareway.db";
  top.read_into("listen", from_text(parse_listen_address), config.listen);
  top.read_into("admin", from_text(parse_listen_address), config.admin);
  if (config.listen.port != 0 && same_address(config.listen, config.admin)) {
    top.report("admin", "is the address of listen; the operators' listener needs its own");
  }
  if (auto ledger = top.section("ledger")) {
    config.ledger_file = ledger->required("file", text_value);
    ledger->finish();
  }
}

void read_limits(Section& top, ConfigDraft& draft) {
  auto section = top.section("limits");
  if (!section) return;
  Limits& limits = draft.config.limits;
  const auto time = positive_up_to(from_text(parse_milliseconds), milliseconds{std::chrono::days{1}}, "24h");
  for (const auto& [key, field] : kTimeLimits) section->read_into(key, time, limits.*field);
  const auto size = positive_up_to(from_text(parse_bytes), Bytes{kGibibyte}, "1GiB");
  if (const auto bytes = section->optional("max_body_bytes", size)) {
    limits.max_body_bytes = static_cast<std::size_t>(bytes->value);
  }
  section->read_into("max_connections", whole_number<std::size_t>(1, kMostConnections),
                     limits.max_connections);
  section->read_into("max_attempts", whole_number<std::uint32_t>(1, kMostAttempts), limits.max_attempts);
  section->finish();
}

void read_queue(Section& top, ConfigDraft& draft) {
  constexpr std::size_t kMostWaiting = 1'000'000;
  QueueLimits& queue = draft.config.queue;
  const std::size_t largest_body = draft.config.limits.max_body_bytes;
  queue.max_bytes = std::max(queue.max_bytes, largest_body);
  auto section = top.section("queue");
  if (!section) return;
  section->read_into("max_requests", whole_number<std::size_t>(0, kMostWaiting), queue.max_requests);
  const auto size = positive_up_to(from_text(parse_bytes), Bytes{64 * kGibibyte}, "64GiB");
  if (const auto bytes = section->optional("max_bytes", size))
    queue.max_bytes = static_cast<std::size_t>(bytes->value);
  const auto time = positive_up_to(from_text(parse_milliseconds), milliseconds{std::chrono::days{1}}, "24h");
  if (const auto wait = section->optional("max_wait", time)) queue.max_wait = *wait;
  if (section->ok() && queue.max_requests > 0 && queue.max_bytes < largest_body) {
    section->report("max_bytes",
                    fmt::format("is less than limits.max_body_bytes ({} bytes): the largest request "
                                "could never wait; raise it or lower that",
                                largest_body));
  }
  section->finish();
}

void read_decisions(Section& top, ConfigDraft& draft) {
  constexpr std::size_t kMostKept = 1'000'000;
  auto section = top.section("decisions");
  if (!section) return;
  section->read_into("keep", whole_number<std::size_t>(1, kMostKept), draft.config.decisions.keep);
  section->read_into("sample", positive_up_to(decimal_value, 1.0, "1"), draft.config.decisions.sample);
  section->finish();
}

void read_emulator(Section& top, ConfigDraft& draft) {
  auto section = top.section("emulator");
  if (!section) return;
  section->read_into("time_scale", positive_up_to(decimal_value, kMostTimeScale, "1000000"),
                     draft.config.emulator_time_scale);
  section->finish();
}

}  // namespace fareway
