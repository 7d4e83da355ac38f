#include "placement/model/capacity_lines.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace fareway {
namespace {

class Whiteboard {
 public:
  void bytes(std::string label, Bytes value, std::string formula) {
    lines_.push_back({std::move(label), value.value, "B", std::move(formula)});
  }
  void count(std::string label, std::int64_t value, std::string unit, std::string formula) {
    lines_.push_back({std::move(label), value, std::move(unit), std::move(formula)});
  }
  std::vector<ArithmeticLine> take() { return std::move(lines_); }

 private:
  std::vector<ArithmeticLine> lines_;
};

/// From one device's memory to the KV pool of all.
void memory_lines(Whiteboard& board, const CapacityQuestion& question, const Capacity& capacity) {
  const Device& device = *question.device;
  const Parallelism& degrees = question.parallelism;
  const Bytes weights = weights_in_group(*question.model, question.checkpoint.weights, degrees);
  const Bytes share{static_cast<std::int64_t>(static_cast<double>(device.hbm.value) * question.utilisation)};
  board.bytes("memory of one device", device.hbm, fmt::format("{}, as its runtime reports it", device.name));
  if (question.utilisation < 1)
    board.bytes("share of the engine", share, fmt::format("x {} memory utilisation", question.utilisation));
  board.bytes("runtime reserve", question.reserve_per_device, "of each device: runtime, activations, graphs");
  const std::uint32_t fullest = (question.model->layers + degrees.pp - 1) / degrees.pp;
  const std::string stages = degrees.pp > 1 ? fmt::format(" x {} / {} layers of the fullest of {} stages",
                                                          question.model->layers, fullest, degrees.pp)
                                            : std::string{};
  board.bytes("usable memory", capacity.kv_pool + weights,
              fmt::format("{} x ({} - {}){}", degrees.tp * degrees.dp, size_text(share),
                          size_text(question.reserve_per_device), stages));
  std::string copies;
  if (degrees.dp > 1)
    copies = fmt::format(", all but the routed experts once for each of {} DP ranks", degrees.dp);
  board.bytes("weights", weights,
              fmt::format("{} checkpoint{}", to_string(question.checkpoint.format), copies));
  board.bytes("KV pool", capacity.kv_pool,
              fmt::format("{} - {}", size_text(capacity.kv_pool + weights), size_text(weights)));
}

std::string copies_text(const CapacityQuestion& question) {
  const std::int64_t copies = kv_copies(*question.model, question.parallelism);
  if (copies == 1) return {};
  return fmt::format(
      ", {} copies: tp {} over {} KV head{}{}", copies, question.parallelism.tp, question.model->kv_heads,
      question.model->kv_heads == 1 ? "" : "s",
      question.parallelism.dcp > 1 ? fmt::format(" and dcp {}", question.parallelism.dcp) : "");
}

/// What one session of the context takes.
void session_lines(Whiteboard& board, const CapacityQuestion& question, const CapacityAnswer& answer) {
  const Capacity& capacity = answer.capacity;
  const Model& model = *question.model;
  const std::string tokens = count_text(question.context.value);
  board.bytes("KV of one token", capacity.kv_per_token,
              fmt::format("{} cache, {} full-attention layers{}", to_string(question.kv_format),
                          model.full_attention_layers, copies_text(question)));
  const Bytes cache = capacity.kv_per_token * question.context.value;
  board.bytes("KV of the context", cache,
              fmt::format("{} tokens x {}", tokens, size_text(capacity.kv_per_token)));
  if (capacity.window_kv_per_token.value > 0) {
    const Tokens held = std::min(question.context, capacity.window);
    board.bytes("KV of the windows", capacity.window_kv_per_token * held.value,
                fmt::format("{} tokens x {} of {} sliding-window layers", count_text(held.value),
                            size_text(capacity.window_kv_per_token), model.sliding_window_layers));
  }
  if (model.state_per_sequence.value > 0)
    board.bytes("constant state", model.state_per_sequence,
                model.conv_state.value > 0 ? fmt::format("{} linear layers, {} of it for convolutions",
                                                         model.linear_layers, size_text(model.conv_state))
                                           : fmt::format("{} linear layers", model.linear_layers));
  board.bytes("bytes a session", answer.bytes_per_session,
              fmt::format("for {} tokens of prompt and answer", tokens));
}

void session_count_lines(Whiteboard& board, const CapacityQuestion& question, const CapacityAnswer& answer) {
  const Capacity& capacity = answer.capacity;
  const Bytes pool{capacity.kv_pool.value / capacity.pools};
  const std::string ranks =
      capacity.pools > 1 ? fmt::format("{} DP ranks x ", capacity.pools) : std::string{};
  if (capacity.kv_pool.value > 0) {
    board.count("sessions", answer.sessions, "sessions",
                fmt::format("{}floor({} / {})", ranks, size_text(pool), size_text(answer.bytes_per_session)));
  } else {
    board.count("sessions", 0, "sessions", "the weights leave no memory for KV cache");
  }
  const Tokens limit = question.model->context_limit;
  const bool limited = capacity.longest_sequence() > limit;
  board.count("longest context", answer.longest_context.value, "tokens",
              limited ? fmt::format("the model's limit; the pool would hold {}",
                                    count_text(capacity.longest_sequence().value))
                      : "of one session that has the pool to itself");
}

}  // namespace

std::string count_text(std::int64_t count) {
  std::string text = fmt::format("{}", count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, ",");
  return text;
}

std::string size_text(Bytes size) {
  constexpr std::int64_t kStep = 1024;
  constexpr std::int64_t kFew =
      20;  // units of which a whole number of the next smaller ones still reads well
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB"};
  if (size.value < 0) return "-" + size_text(-size);
  std::size_t unit = 0;
  std::int64_t unit_size = 1;
  while (unit + 1 < kUnits.size() && size.value >= unit_size * kStep) {
    unit_size *= kStep;
    ++unit;
  }
  if (size.value % unit_size == 0)
    return fmt::format("{} {}", count_text(size.value / unit_size), kUnits[unit]);
  const std::int64_t smaller = unit_size / kStep;
  if (size.value < kFew * unit_size && size.value % smaller == 0)
    return fmt::format("{} {}", count_text(size.value / smaller), kUnits[unit - 1]);
  return fmt::format("{:.2f} {}", static_cast<double>(size.value) / static_cast<double>(unit_size),
                     kUnits[unit]);
}

std::vector<ArithmeticLine> arithmetic_lines(const CapacityQuestion& question, const CapacityAnswer& answer) {
  Whiteboard board;
  memory_lines(board, question, answer.capacity);
  session_lines(board, question, answer);
  session_count_lines(board, question, answer);
  return board.take();
}

}  // namespace fareway
