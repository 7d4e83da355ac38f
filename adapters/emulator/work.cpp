#include "adapters/emulator/work.hpp"

#include <algorithm>
#include <utility>

#include "adapters/emulator/text.hpp"

namespace fareway::emulator {

Tokens Work::prompt_tokens() const {
  Tokens sum;
  for (const Sequence& sequence : sequences) sum += sequence.prompt;
  return sum;
}

boost::system::result<Work, ApiError> plan_work(Api api, std::string_view body, std::string_view served_model,
                                                Tokens context_limit) {
  auto request = read_request(api, body);
  if (!request) return request.error();
  if (request->model.empty()) request->model = served_model;
  if (request->model != served_model) return unknown_model(request->model);

  Work work{.request = *std::move(request), .sequences = {}};
  const bool generates = api != Api::kEmbeddings;
  const std::optional<Tokens> limit = work.request.output_limit;
  for (const std::string& prompt : work.request.prompts) {
    const Tokens length = count_tokens(prompt);
    const Tokens least_output = limit.value_or(Tokens{generates ? 1 : 0});
    if (length + least_output > context_limit) return too_long(context_limit, length, limit);
    work.seed = seed_of(prompt);
    const Tokens room = context_limit - length;
    const Tokens output = generates ? std::min(limit.value_or(natural_length(work.seed)), room) : Tokens{};
    work.reason = limit || output == room ? FinishReason::kLength : FinishReason::kStop;
    work.sequences.push_back(
        {.prompt = length, .output = output, .blocks = block_keys(prompt + words(work.seed, output))});
  }
  return work;
}

}  // namespace fareway::emulator
