#include "placement/simulation/workload.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "placement/simulation/reference_fleet.hpp"

namespace fareway::simulation {
namespace {

constexpr std::size_t kGapBlock = 50;  // arrivals whose gaps stay together when they are resampled
constexpr std::int64_t kLongPrompt = 32'768;
constexpr std::int64_t kShortPrompt = 4'096;
constexpr std::int64_t kMediumPrompt = 16'384;

/// Uniform in [0, 1) from 64 random bits; unlike std::uniform_real_distribution the same everywhere.
double unit(std::uint64_t bits) {
  return static_cast<double>(bits >> 11U) * 0x1.0p-53;
}

/// What stays equal over the turns of a session: the first blocks after a shared system prompt, or the
/// request itself where the trace knows no content.
std::uint64_t session_of(const TraceRequest& request, std::uint64_t position) {
  if (request.blocks.empty()) return mixed(position + 1);
  const BlockId second = request.blocks[std::min<std::size_t>(1, request.blocks.size() - 1)];
  return mixed(request.blocks.front() ^ mixed(second + 1));
}

ClassIndex class_of(const TraceRequest& request, std::uint64_t session, ClassRule rule) {
  switch (rule) {
    case ClassRule::kAllInteractive:
      return kInteractive;
    case ClassRule::kByLength:
      if (request.prompt < kShortPrompt) return kInteractive;
      return request.prompt < kMediumPrompt ? kStandard : kBatch;
    case ClassRule::kBySession:
      break;
  }
  const double draw = unit(mixed(session ^ 0x636c617373U));
  if (draw < 0.5) return request.prompt > kLongPrompt ? kStandard : kInteractive;
  return draw < 0.8 ? kStandard : kBatch;
}

/// Gaps in front of the trace's requests, scaled to a mean of one. The first follows the mean.
std::vector<double> unit_gaps(const Trace& trace) {
  std::vector<double> gaps;
  const double mean = 1 / trace.rate();
  gaps.push_back(1);
  for (std::size_t i = 1; i < trace.requests.size(); ++i)
    gaps.push_back((trace.requests[i].seconds - trace.requests[i - 1].seconds) / mean);
  return gaps;
}

}  // namespace

std::uint64_t mixed(std::uint64_t value) {
  std::uint64_t z = value + 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

double Trace::rate() const {
  if (requests.size() < 2) return 1;
  const double span = requests.back().seconds - requests.front().seconds;
  return static_cast<double>(requests.size() - 1) / std::max(span, 1e-9);
}

Workload::Workload(std::span<const Trace> traces, const WorkloadOptions& options) : options_(options) {
  double own_rates = 0;
  for (const Trace& trace : traces) own_rates += trace.rate();
  for (std::size_t i = 0; i < traces.size(); ++i)
    add(traces[i], i, options.rate * traces[i].rate() / own_rates);
  std::ranges::stable_sort(arrivals_, {}, &Arrival::time);
}

void Workload::add(const Trace& trace, std::uint64_t trace_number, double rate) {
  if (trace.requests.empty()) return;
  const std::vector<double> gaps = unit_gaps(trace);
  const std::uint64_t stream = mixed(options_.seed ^ mixed(trace_number));
  const std::size_t starts = gaps.size() > kGapBlock ? gaps.size() - kGapBlock + 1 : 1;
  // Every seed begins elsewhere in the trace, so that seeds differ in content as well as in gaps.
  const std::size_t offset = mixed(stream) % trace.requests.size();

  double time = 0;
  std::size_t gap = 0;
  for (std::uint64_t i = 0;; ++i) {
    if (i % kGapBlock == 0) gap = mixed(stream ^ (i / kGapBlock + 1)) % starts;
    time += gaps[gap++ % gaps.size()] / rate;
    if (time >= options_.seconds) return;
    const std::uint64_t position = offset + i;
    const std::uint64_t lap = position / trace.requests.size();
    const TraceRequest& request = trace.requests[position % trace.requests.size()];
    const std::uint64_t tag = mixed(stream ^ mixed(lap + 0x6c6170));
    // The session is hashed with the lap as well: begun again, a trace has new sessions.
    Arrival arrival{.time = time,
                    .prompt = request.prompt,
                    .output = request.output,
                    .service_class = {},
                    .session = mixed(session_of(request, position) ^ tag),
                    .tie_break = mixed(tag ^ position),
                    .blocks = {}};
    arrival.service_class = class_of(request, arrival.session, options_.class_rule);
    if (!request.blocks.empty()) {
      std::vector<BlockId> own;
      own.reserve(request.blocks.size());
      for (const BlockId id : request.blocks) own.push_back(mixed(tag ^ mixed(id)));
      arrival.blocks = blocks_.emplace_back(std::move(own));
    }
    arrivals_.push_back(arrival);
  }
}

Trace generate_trace(const GeneratedTrace& options, std::uint64_t seed) {
  std::mt19937_64 chance{seed};
  // Box and Muller, because std::normal_distribution differs between libraries.
  const auto normal = [&chance] {
    const double radius = std::sqrt(-2 * std::log(1 - unit(chance())));
    return radius * std::cos(2 * 3.141592653589793 * unit(chance()));
  };
  const auto length = [&](double median, double spread) {
    return std::max<std::int64_t>(1, std::llround(median * std::exp(spread * normal())));
  };
  struct Session {
    std::vector<BlockId> blocks;
    std::int64_t context{};
  };
  std::vector<Session> sessions;
  Trace trace{.name = "generated", .requests = {}};
  double time = 0;
  BlockId next_block = 1;
  for (std::size_t i = 0; i < options.requests; ++i) {
    time += -std::log(1 - unit(chance())) / options.rate;
    const bool fresh = sessions.empty() || unit(chance()) < 1 / options.turns;
    std::size_t which = sessions.size();
    if (fresh) {
      sessions.push_back({.blocks = {0}, .context = kTraceBlockTokens});
    } else {
      // One of the latest: a session's turns follow each other within minutes.
      const std::size_t recent = std::min<std::size_t>(sessions.size(), 50);
      which = sessions.size() - 1 - chance() % recent;
    }
    Session& session = sessions[which];
    session.context += length(options.median_prompt, options.prompt_spread);
    while (std::ssize(session.blocks) < session.context / kTraceBlockTokens)
      session.blocks.push_back(next_block++);
    const std::int64_t output = length(options.median_output, options.output_spread);
    trace.requests.push_back(
        {.seconds = time, .prompt = session.context, .output = output, .blocks = session.blocks});
    session.context += output;
  }
  return trace;
}

}  // namespace fareway::simulation
