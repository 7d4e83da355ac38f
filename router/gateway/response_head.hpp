#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "router/gateway/errors.hpp"
#include "router/gateway/http_head.hpp"

namespace fareway {

/// How the end of a body is told to the client.
enum class Framing {
  kLength,
  kChunked,
  kClose,  ///< HTTP/1.0, or a body of unknown length that must not look whole when cut
};

/// Head of a relayed answer: the engine's status and, by allow-list, its fields; then ours. Neither the
/// engine's address nor its server software shows.
struct RelayedHead {
  int status{200};
  const Fields& fields;
  Framing framing{Framing::kLength};
  std::uint64_t length{0};  ///< with kLength
  bool keep_alive{true};
  std::string_view request_id;
  std::string_view pool;
  std::string_view service_class;
};
std::string write_head(const RelayedHead& head);

/// A whole answer of our own, head and body.
struct OwnAnswer {
  int status{200};
  std::string body;  ///< JSON
  std::string_view request_id;
  bool keep_alive{true};
  bool head_only{false};
  std::optional<int> retry_after{};
  std::string_view allow{};
};
std::string write_answer(const OwnAnswer& answer);
std::string write_refusal(const Refusal& refusal, Dialect dialect, std::string_view request_id,
                          bool keep_alive);

/// "1a2f\r\n": the line before a chunk of that many bytes.
std::string chunk_size_line(std::size_t bytes);

}  // namespace fareway
