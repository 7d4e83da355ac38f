#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>
#include <simdjson.h>

#include "placement/request_shape.hpp"
#include "router/gateway/api.hpp"

namespace fareway {

/// One replacement in a body that otherwise goes on as it came.
struct Splice {
  std::size_t offset{0};
  std::size_t removed{0};  ///< bytes of the original that `inserted` replaces
  std::string inserted;
};

/// What a request body says, as far as routing and billing need it. Views live until the reader's next
/// `read`.
struct RequestFacts {
  std::string_view model;
  bool stream{false};
  std::optional<Tokens> output_limit;  ///< smallest of the limits the client set
  std::string_view cache_key;          ///< `prompt_cache_key`; empty: none
  std::size_t prompt_bytes{0};         ///< text the model reads; media as told below
  PromptContent content;               ///< the same by script; media and token ids in tokens
  /// Set where the client streams and did not ask for usage: what to splice in to be told it. The usage chunk
  /// this brings must then be kept from the client.
  std::optional<Splice> ask_for_usage;
};

/// Reads request bodies: one on-demand pass, everything checked to a nesting of 256, nothing rebuilt.
///
/// Text is measured unescaped. A string of more than 1 KB under a media key ("url", "data", "file_data", ...)
/// is an image or a sound: however long, it counts as at most 4,000 bytes, about 1,000 tokens. Where a member
/// appears twice the last one counts, as in the engines. Reused between requests; not thread-safe.
class ShapeReader {
 public:
  using Result = boost::system::result<RequestFacts, Refusal>;

  /// `body` needs simdjson::SIMDJSON_PADDING bytes of capacity beyond its size, or it is moved to make room.
  Result read(Api api, std::string& body);

  /// Keys of the whole blocks of the prompt just read, in the order engines see it: tools, system, messages.
  std::vector<BlockKey> prefix(std::uint64_t seed) const;

 private:
  class Walk;
  struct Piece {
    std::string_view text;
    std::size_t weight;  ///< bytes it counts for
  };
  enum Section : std::size_t { kTools, kSystem, kMessages, kSections };

  simdjson::ondemand::parser parser_;
  std::vector<Piece> pieces_[kSections];
};

}  // namespace fareway
