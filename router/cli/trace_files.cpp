#include "router/cli/trace_files.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string_view>

#include <nlohmann/json.hpp>

namespace fareway {
namespace {

using simulation::Trace;
using simulation::TraceRequest;

[[noreturn]] void fail(const std::filesystem::path& file, std::size_t line, const std::string& problem) {
  throw std::runtime_error(file.string() + ":" + std::to_string(line) + ": " + problem);
}

std::ifstream open(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in)
    throw std::runtime_error(file.string() + ": cannot be read; --data names the folder of the traces");
  return in;
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Seconds of the day of "2023-11-16 18:15:46.6805900"; nothing for other text.
std::optional<double> seconds_of_day(std::string_view text) {
  const auto space = text.find(' ');
  if (space == std::string_view::npos || text.size() < space + 9) return std::nullopt;
  const std::string_view clock = text.substr(space + 1);
  const auto hours = number<int>(clock.substr(0, 2));
  const auto minutes = number<int>(clock.substr(3, 2));
  const auto seconds = number<double>(clock.substr(6));
  if (!hours || !minutes || !seconds || clock[2] != ':' || clock[5] != ':') return std::nullopt;
  return *hours * 3600.0 + *minutes * 60.0 + *seconds;
}

/// Prompts and answers have at least a token, and times ascend from zero.
Trace checked(Trace trace, const std::filesystem::path& file) {
  if (trace.requests.size() < 2) throw std::runtime_error(file.string() + ": fewer than two requests");
  const double begin = trace.requests.front().seconds;
  for (std::size_t i = 0; i < trace.requests.size(); ++i) {
    TraceRequest& request = trace.requests[i];
    request.seconds -= begin;
    if (i > 0 && request.seconds < trace.requests[i - 1].seconds)
      throw std::runtime_error(file.string() + ": request " + std::to_string(i + 1) +
                               " is earlier than the one before it");
    request.prompt = std::max<std::int64_t>(request.prompt, 1);
    request.output = std::max<std::int64_t>(request.output, 1);
  }
  return trace;
}

}  // namespace

Trace read_azure_trace(const std::filesystem::path& file, const std::string& name) {
  std::ifstream in = open(file);
  Trace trace{.name = name, .requests = {}};
  std::string line;
  std::getline(in, line);
  for (std::size_t row = 2; std::getline(in, line); ++row) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    const std::string_view text = line;
    const auto first = text.find(',');
    const auto second = first == std::string_view::npos ? first : text.find(',', first + 1);
    if (second == std::string_view::npos) fail(file, row, "expected TIMESTAMP,ContextTokens,GeneratedTokens");
    const auto seconds = seconds_of_day(text.substr(0, first));
    const auto prompt = number<std::int64_t>(text.substr(first + 1, second - first - 1));
    const auto output = number<std::int64_t>(text.substr(second + 1));
    if (!seconds) fail(file, row, "the time is not like 2023-11-16 18:15:46.68");
    if (!prompt || !output || *prompt < 0 || *output < 0) fail(file, row, "a token count is not a number");
    trace.requests.push_back({.seconds = *seconds, .prompt = *prompt, .output = *output, .blocks = {}});
  }
  return checked(std::move(trace), file);
}

Trace read_mooncake_trace(const std::filesystem::path& file, const std::string& name) {
  std::ifstream in = open(file);
  Trace trace{.name = name, .requests = {}};
  std::string line;
  for (std::size_t row = 1; std::getline(in, line); ++row) {
    if (line.empty()) continue;
    try {
      const auto json = nlohmann::json::parse(line);
      trace.requests.push_back({.seconds = json.at("timestamp").get<double>() / 1000,
                                .prompt = json.at("input_length").get<std::int64_t>(),
                                .output = json.at("output_length").get<std::int64_t>(),
                                .blocks = json.at("hash_ids").get<std::vector<simulation::BlockId>>()});
    } catch (const nlohmann::json::exception&) {
      fail(file, row, "expected an object with timestamp, input_length, output_length and hash_ids");
    }
    // The last block is cut short by the prompt's end, and an engine caches whole blocks.
    TraceRequest& request = trace.requests.back();
    const auto whole =
        static_cast<std::size_t>(std::max<std::int64_t>(request.prompt, 0) / simulation::kTraceBlockTokens);
    if (request.blocks.size() > whole) request.blocks.resize(whole);
  }
  return checked(std::move(trace), file);
}

std::vector<Trace> read_traces(const std::filesystem::path& directory) {
  return {read_azure_trace(directory / "azure_llm_2023_conv.csv", "conv"),
          read_azure_trace(directory / "azure_llm_2023_code.csv", "code"),
          read_mooncake_trace(directory / "mooncake_conversation.jsonl", "mooncake"),
          read_mooncake_trace(directory / "mooncake_synthetic.jsonl", "synthetic")};
}

}  // namespace fareway
