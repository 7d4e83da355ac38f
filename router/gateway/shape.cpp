#include "router/gateway/shape.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>

#include <xxhash.h>

namespace fareway {

namespace {

namespace od = simdjson::ondemand;

constexpr int kMaxNesting = 256;
constexpr std::size_t kMediaFrom = 1024;
constexpr std::size_t kMediaWeight = 4000;
constexpr std::size_t kNumberWeight = 4;  // a token id stands for about four bytes of text
constexpr std::size_t kBlockBytes = static_cast<std::size_t>(kBlockTokens) * 4;
constexpr std::size_t kMaxBlocks = 4096;           // a million tokens
constexpr std::size_t kKeepParserUpTo = 4u << 20;  // what one huge body needed is not held for ever
constexpr std::int64_t kMaxOutput = std::numeric_limits<std::int32_t>::max();

bool is_media_key(std::string_view key) {
  constexpr std::array kKeys{std::string_view("url"),       std::string_view("data"),
                             std::string_view("image_url"), std::string_view("file_data"),
                             std::string_view("audio"),     std::string_view("b64_json")};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

/// Cuts content into blocks of equal weight and chains their hashes.
class PrefixChain {
 public:
  explicit PrefixChain(std::uint64_t seed) { restart(seed); }

  void add_text(std::string_view text) {
    while (text.size() >= room_ && keys_.size() < kMaxBlocks) {
      const std::size_t filled = room_;
      update(text.substr(0, filled));
      advance(filled);
      text.remove_prefix(filled);
    }
    update(text);
    advance(text.size());
    end_piece();
  }
  /// Content that counts for another weight than its length, such as an image.
  void add_whole(std::string_view content, std::size_t weight) {
    update(content);
    advance(weight);
    end_piece();
  }
  std::vector<BlockKey> take() { return std::move(keys_); }

 private:
  void restart(std::uint64_t seed) {
    XXH3_64bits_reset_withSeed(state_.get(), seed);
    room_ = kBlockBytes;
  }
  void update(std::string_view bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
  void end_piece() { update(std::string_view("\0", 1)); }  // "ab","c" is not "a","bc"
  void advance(std::size_t weight) {
    while (weight >= room_ && keys_.size() < kMaxBlocks) {
      weight -= room_;
      keys_.push_back(XXH3_64bits_digest(state_.get()));
      restart(keys_.back());
    }
    room_ -= std::min(weight, room_);
  }

  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_{XXH3_createState()};
  std::size_t room_{kBlockBytes};
  std::vector<BlockKey> keys_;
};

}  // namespace

/// One pass over one body. simdjson's exceptions end it early; `read` turns them into refusals.
class ShapeReader::Walk {
 public:
  Walk(ShapeReader& reader, Api api, std::string_view body) : reader_(reader), api_(api), body_(body) {}

  std::optional<Refusal> run(od::document& document, RequestFacts& facts) {
    od::object object;
    if (document.type() != od::json_type::object) {
      return refusals::bad_request("The request body must be a JSON object.");
    }
    object = document.get_object();
    for (od::field field : object) {
      const std::string_view key = field.unescaped_key();
      member(key, field.value(), facts);
      if (refusal_) return refusal_;
    }
    // What follows the object would be read by nobody, or by an engine alone.
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
      return refusals::bad_request("The request body goes on after its JSON object ended.");
    }
    finish(facts);
    return refusal_;
  }

 private:
  void member(std::string_view key, od::value value, RequestFacts& facts) {
    if (key == "model") return model(value, facts);
    if (key == "stream") return stream(value, facts);
    if (key == "max_tokens") return limit(value, max_tokens_, "max_tokens");
    if (key == "max_completion_tokens") return limit(value, max_completion_tokens_, "max_completion_tokens");
    if (key == "max_output_tokens") return limit(value, max_output_tokens_, "max_output_tokens");
    if (key == "n") return limit(value, choices_, "n");
    if (key == "prompt_cache_key") return cache_key(value, facts);
    if (key == "stream_options") return stream_options(value);
    if (key == "tools" || key == "functions") return content(value, kTools, 1, key);
    if (key == "system" || key == "instructions") return content(value, kSystem, 1, key);
    if (key == "messages" || key == "prompt" || key == "input") return content(value, kMessages, 1, key);
    check(value, 1);
  }

  void model(od::value value, RequestFacts& facts) {
    facts.model = {};
    if (value.type() == od::json_type::string) {
      facts.model = value.get_string();
    } else {
      check(value, 1);
    }
  }

  void stream(od::value value, RequestFacts& facts) {
    facts.stream = false;
    if (value.type() == od::json_type::boolean) {
      facts.stream = value.get_bool();
    } else if (value.type() != od::json_type::null) {
      refuse("'stream' must be true or false.", "stream");
    } else {
      check(value, 1);
    }
  }

  void limit(od::value value, std::optional<Tokens>& into, std::string_view name) {
    into.reset();
    if (value.type() == od::json_type::null) return check(value, 1);
    std::int64_t number = 0;
    if (value.type() != od::json_type::number || value.get_int64().get(number) != simdjson::SUCCESS ||
        number < 1 || number > kMaxOutput) {
      return refuse("'" + std::string(name) + "' must be a whole number of at least 1.", name);
    }
    into = Tokens{number};
  }

  void cache_key(od::value value, RequestFacts& facts) {
    facts.cache_key = {};
    if (value.type() == od::json_type::string) {
      facts.cache_key = value.get_string();
    } else {
      check(value, 1);
    }
  }

  /// Notes where usage can be asked for. Anything but an object or null is left for the engine to refuse.
  void stream_options(od::value value) {
    const std::size_t at = offset_of(value);
    usage_ = {};
    usage_.seen = true;
    if (value.type() == od::json_type::null) {
      usage_.splice = Splice{at, 4, R"({"include_usage":true})"};
      return check(value, 1);
    }
    if (value.type() != od::json_type::object) return check(value, 1);
    bool empty = true;
    usage_.splice = Splice{at + 1, 0, {}};
    for (od::field field : value.get_object()) {
      const std::string_view key = field.unescaped_key();
      empty = false;
      if (key == "include_usage") {
        include_usage(field.value());
      } else {
        check(field.value(), 2);
      }
    }
    if (usage_.splice && usage_.splice->inserted.empty()) {
      usage_.splice->inserted = empty ? R"("include_usage":true)" : R"("include_usage":true,)";
    }
  }

  void include_usage(od::value value) {
    const std::size_t at = offset_of(value);
    usage_.splice.reset();
    if (value.type() == od::json_type::null) {
      usage_.splice = Splice{at, 4, "true"};
      check(value, 2);
    } else if (value.type() != od::json_type::boolean) {
      check(value, 2);
    } else if (!value.get_bool()) {
      usage_.splice = Splice{at, 5, "true"};
    }
  }

  void finish(RequestFacts& facts) {
    if (facts.model.empty()) {
      refuse("'model' must be given, as a non-empty string.", "model");
      return;
    }
    for (const auto& limit : {max_tokens_, max_completion_tokens_, max_output_tokens_}) {
      if (limit && (!facts.output_limit || *limit < *facts.output_limit)) facts.output_limit = limit;
    }
    for (const auto& section : reader_.pieces_) {
      for (const Piece& piece : section) {
        facts.prompt_bytes += piece.weight;
        if (piece.weight == piece.text.size()) {
          facts.content.text += bytes_by_script(piece.text);
        } else {
          facts.content.media += Tokens{static_cast<std::int64_t>(piece.weight / kNumberWeight)};
        }
      }
    }
    const bool has_usage_option = api_ == Api::kChat || api_ == Api::kCompletions;
    if (!facts.stream || !has_usage_option) return;
    if (!usage_.seen)
      usage_.splice = Splice{opening_brace() + 1, 0, R"("stream_options":{"include_usage":true},)"};
    facts.ask_for_usage = std::move(usage_.splice);
  }

  /// Collects every string and number below `value` as prompt content.
  void content(od::value value, Section section, int depth, std::string_view key) {
    if (depth > kMaxNesting) return too_deep();
    switch (value.type()) {
      case od::json_type::array:
        for (auto element : value.get_array()) {
          if (refusal_) return;
          content(element.value(), section, depth + 1, key);
        }
        return;
      case od::json_type::object:
        for (od::field field : value.get_object()) {
          if (refusal_) return;
          const std::string_view name = field.unescaped_key();
          // A tool's schema is read by the model, names and all; a message's member names are not.
          if (section == kTools) add(section, name, name.size());
          content(field.value(), section, depth + 1, name);
        }
        return;
      case od::json_type::string: {
        const std::string_view text = value.get_string();
        const bool media = text.size() > kMediaFrom && is_media_key(key);
        return add(section, text, media ? std::min(text.size(), kMediaWeight) : text.size());
      }
      case od::json_type::number:
        add(section, value.raw_json_token(), kNumberWeight);
        return check(value, depth);
      default:
        return check(value, depth);
    }
  }

  void add(Section section, std::string_view text, std::size_t weight) {
    reader_.pieces_[section].push_back({text, weight});
  }

  /// Walks a value nobody here needs: what is forwarded must be JSON that everybody reads alike.
  void check(od::value value, int depth) {
    if (depth > kMaxNesting) return too_deep();
    switch (value.type()) {
      case od::json_type::array:
        for (auto element : value.get_array()) {
          if (refusal_) return;
          check(element.value(), depth + 1);
        }
        return;
      case od::json_type::object:
        for (od::field field : value.get_object()) {
          if (refusal_) return;
          check(field.value(), depth + 1);
        }
        return;
      case od::json_type::string:
        static_cast<void>(std::string_view(value.get_string()));
        return;
      case od::json_type::number:
        static_cast<void>(double(value.get_double()));
        return;
      case od::json_type::boolean:
        static_cast<void>(bool(value.get_bool()));
        return;
      case od::json_type::null:
        if (!value.is_null()) throw simdjson::simdjson_error(simdjson::N_ATOM_ERROR);
        return;
    }
  }

  void refuse(std::string message, std::string_view param) {
    refusal_ = refusals::bad_request(std::move(message), param);
  }
  void too_deep() {
    refuse("The request body is nested deeper than " + std::to_string(kMaxNesting) + " levels.", {});
  }
  std::size_t offset_of(od::value& value) const {
    return static_cast<std::size_t>(value.raw_json_token().data() - body_.data());
  }
  std::size_t opening_brace() const { return body_.find('{'); }

  struct UsageOption {
    bool seen{false};
    std::optional<Splice> splice;
  };

  ShapeReader& reader_;
  Api api_;
  std::string_view body_;
  std::optional<Tokens> max_tokens_;
  std::optional<Tokens> max_completion_tokens_;
  std::optional<Tokens> max_output_tokens_;
  std::optional<Tokens> choices_;
  UsageOption usage_;
  std::optional<Refusal> refusal_;
};

ShapeReader::Result ShapeReader::read(Api api, std::string& body) {
  for (auto& section : pieces_) section.clear();
  if (parser_.capacity() > kKeepParserUpTo && body.size() <= kKeepParserUpTo)
    parser_ = simdjson::ondemand::parser();
  body.reserve(body.size() + simdjson::SIMDJSON_PADDING);
  RequestFacts facts;
  od::document document;
  try {
    if (const auto error = parser_.iterate(body.data(), body.size(), body.capacity()).get(document)) {
      throw simdjson::simdjson_error(error);
    }
    if (auto refusal = Walk(*this, api, body).run(document, facts)) return *refusal;
    return facts;
  } catch (const simdjson::simdjson_error& error) {
    std::string where;
    const char* at = nullptr;
    if (document.is_alive() && document.current_location().get(at) == simdjson::SUCCESS) {
      where = " near byte " + std::to_string(at - body.data());
    }
    return refusals::bad_request("The request body is not valid JSON" + where + ": " + error.what());
  }
}

std::vector<BlockKey> ShapeReader::prefix(std::uint64_t seed) const {
  PrefixChain chain(seed);
  for (const auto& section : pieces_) {
    for (const Piece& piece : section) {
      if (piece.weight == piece.text.size()) {
        chain.add_text(piece.text);
      } else {
        chain.add_whole(piece.text, piece.weight);
      }
    }
  }
  return chain.take();
}

}  // namespace fareway
