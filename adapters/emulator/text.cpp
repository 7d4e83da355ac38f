#include "adapters/emulator/text.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>
#include <openssl/evp.h>
#include <xxhash.h>

namespace fareway::emulator {
namespace {

constexpr std::int64_t kShortest = 32;
constexpr std::int64_t kLongest = 256;
constexpr std::int64_t kMultiByteEvery = 8;

constexpr std::array<std::string_view, 24> kPlain{
    " the", " and", " for", " but", " one", " two", " low", " few", " sun", " sea", " sky", " ice",
    " oak", " elm", " fig", " red", " ran", " sat", " saw", " met", " cat", " owl", " fox", " elk"};
constexpr std::array<std::string_view, 8> kMultiByte{" né", " où", " dé", " 中", " 语", " 日", " €", "🙂"};

constexpr bool all_one_token(auto list) {
  for (const std::string_view text : list)
    if (text.size() != static_cast<std::size_t>(kBytesPerToken)) return false;
  return true;
}
static_assert(all_one_token(kPlain) && all_one_token(kMultiByte));

/// SplitMix64's finaliser: neighbouring inputs give unrelated outputs.
constexpr std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

}  // namespace

Tokens count_tokens(std::string_view text) {
  return {(static_cast<std::int64_t>(text.size()) + kBytesPerToken - 1) / kBytesPerToken};
}

std::uint64_t seed_of(std::string_view prompt) {
  return XXH3_64bits(prompt.data(), prompt.size());
}

Tokens natural_length(std::uint64_t seed) {
  return {kShortest + static_cast<std::int64_t>(mix(seed) % (kLongest - kShortest + 1))};
}

std::string_view word(std::uint64_t seed, std::int64_t position) {
  const std::uint64_t chance = mix(seed ^ mix(static_cast<std::uint64_t>(position)));
  if (position % kMultiByteEvery == kMultiByteEvery / 2) return kMultiByte[chance % kMultiByte.size()];
  return kPlain[chance % kPlain.size()];
}

std::string words(std::uint64_t seed, Tokens count) {
  std::string text;
  text.reserve(static_cast<std::size_t>(count.value * kBytesPerToken));
  for (std::int64_t position = 0; position < count.value; ++position) text += word(seed, position);
  return text;
}

std::vector<BlockKey> block_keys(std::string_view text) {
  constexpr auto kBlockBytes = static_cast<std::size_t>(kBlockTokens * kBytesPerToken);
  std::vector<BlockKey> keys;
  keys.reserve(text.size() / kBlockBytes);
  BlockKey previous = 0;
  for (std::size_t at = 0; at + kBlockBytes <= text.size(); at += kBlockBytes)
    keys.push_back(previous = XXH3_64bits_withSeed(text.data() + at, kBlockBytes, previous));
  return keys;
}

std::vector<float> embedding(std::string_view text, std::size_t dimensions) {
  const std::uint64_t seed = seed_of(text);
  std::vector<float> vector(dimensions);
  double squares = 0;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const auto chance = static_cast<double>(mix(seed + i) >> 11U) / static_cast<double>(1ULL << 53U);
    vector[i] = static_cast<float>(2 * chance - 1);
    squares += static_cast<double>(vector[i]) * static_cast<double>(vector[i]);
  }
  const double length = std::sqrt(squares);
  if (length > 0)
    for (float& component : vector) component = static_cast<float>(static_cast<double>(component) / length);
  return vector;
}

std::string base64(std::string_view bytes) {
  std::string encoded((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL ends it with a zero byte
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  encoded.pop_back();
  return encoded;
}

std::string identifier(std::uint64_t seed, std::uint64_t number) {
  return fmt::format("{:016x}{:08x}", mix(seed ^ number), static_cast<std::uint32_t>(number));
}

}  // namespace fareway::emulator
