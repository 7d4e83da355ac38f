#include "placement/simulation/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

#include "placement/simulation/presence.hpp"

namespace fareway::simulation {
namespace {

/// How often the router hears of tokens that flow. It hears of each one in reality; here often enough that no
/// decision would be another.
constexpr double kProgressSeconds = 0.1;
constexpr double kTickSeconds = 1;

TimePoint at(SimTime time) {
  return TimePoint{std::chrono::duration_cast<TimePoint::duration>(Seconds{time})};
}

class Run {
 public:
  Run(const Workload& workload, PlacementPolicy& policy, ReferenceScene scene,
      const SimulationOptions& options)
      : workload_(workload),
        policy_(policy),
        options_(options),
        live_(std::move(scene.fleet), std::move(scene.prices), TimePoint{}, WallTime{}),
        presence_(live_.fleet(), options.start_seconds),
        queue_limits_(options.queue.value_or(QueueLimits{})),
        queue_(live_.fleet(), queue_limits_),
        requests_(workload.arrivals().size()) {
    for (const EngineParameters& parameters : scene.engines) engines_.emplace_back(parameters);
  }

  Outcome run() {
    const auto arrivals = workload_.arrivals();
    for (RequestId id = 0; id < arrivals.size(); ++id) {
      advance(arrivals[id].time);
      place(id);
    }
    const auto busy = [this] {
      return queue_.size() > 0 ||
             std::ranges::any_of(engines_, [](const EngineModel& engine) { return !engine.idle(); });
    };
    while (busy()) advance(now_ + kTickSeconds);
    advance(now_ + kTickSeconds);  // the last events lie within the step that emptied the engines
    return outcome();
  }

 private:
  struct RequestState {
    std::optional<Flight> flight;  // while it is on a replica
    SimTime first_token{-1};       // negative: not seen yet
    std::int64_t told{0};          // generated tokens the router was told of
    double miss_probability{-1};   // negative: nobody predicted it
  };

  static constexpr ModelIndex kModel{0};  // the scenes have one

  void advance(SimTime now) {
    while (next_tick_ <= now) {
      advance_engines(next_tick_);
      tell_progress();
      live_.tick(at(next_tick_), WallTime{});
      review(next_tick_);
      serve_queue(next_tick_);
      next_tick_ += kTickSeconds;
    }
    advance_engines(now);
    now_ = now;
    if (room_) serve_queue(now);
    if (now_ - told_at_ >= kProgressSeconds) tell_progress();
  }

  void advance_engines(SimTime now) {
    for (EngineModel& engine : engines_) {
      engine.advance(now);
      for (const EngineEvent& event : engine.take_events(now)) deliver(event);
    }
  }

  /// Only the time between warm-up and the last arrival is paid for, as only its requests are counted.
  void review(SimTime now) {
    if (now > workload_.options().seconds) return;
    presence_.review(options_.scaler, now);
    if (now <= options_.warm_up_seconds) presence_.forget_paid();
  }

  void deliver(const EngineEvent& event) {
    RequestState& state = requests_[event.request];
    room_ = true;
    if (!state.flight) return;  // engines tell of nothing that was not placed
    if (event.kind == EngineEvent::Kind::kFirstToken) {
      state.first_token = event.time;
      live_.first_token(*state.flight, at(event.time));
      return;
    }
    const Arrival& arrival = workload_.arrivals()[event.request];
    shape(event.request);
    live_.end(
        *state.flight, shape_,
        TokenUsage{.prompt = {arrival.prompt}, .cached = {event.cached}, .completion = {arrival.output}},
        true, at(event.time));
    presence_.ended(state.flight->replica, event.time);
    state.flight.reset();
    finished(event.request, event);
  }

  void tell_progress() {
    for (const EngineModel& engine : engines_) {
      engine.progress([this](RequestId id, std::int64_t generated) {
        RequestState& state = requests_[id];
        if (state.first_token < 0 || generated <= state.told) return;
        live_.generated(*state.flight, Tokens{generated - state.told});
        state.told = generated;
      });
    }
    told_at_ = now_;
  }

  /// Fills `shape_` with what the router knows of the request.
  void shape(RequestId id) {
    const Arrival& arrival = workload_.arrivals()[id];
    shape_.service_class = arrival.service_class;
    shape_.prompt = {arrival.prompt};
    shape_.expected_output =
        live_.estimate_output({shape_.tenant, shape_.model, arrival.service_class}, std::nullopt);
    shape_.tie_break = arrival.tie_break;
    shape_.waited = std::max(Seconds{now_ - arrival.time}, Seconds{0});
    shape_.prefix.clear();
    for (const BlockId block : arrival.blocks)
      for (std::int64_t part = 0; part < kTraceBlockTokens / kBlockTokens; ++part)
        shape_.prefix.push_back(block + static_cast<BlockKey>(part));
  }

  void place(RequestId id) {
    const Arrival& arrival = workload_.arrivals()[id];
    if (counted(arrival)) ++class_outcome(arrival).requests;
    Verdict verdict = choose(id);
    if (options_.queue && !fits(verdict)) return wait(id);
    if (options_.queue && !queue_.empty(kModel)) {
      // It goes at once, but those before it that fit too go first.
      serve_queue(now_);
      verdict = choose(id);
      if (!fits(verdict)) return wait(id);
    }
    if (verdict.kind == Verdict::Kind::kRefuse) return refused(id);
    if (options_.queue) queue_.placed(placed_at_once(shape_, verdict.candidate, live_.fleet()), at(now_));
    submit(id, verdict);
  }

  Verdict choose(RequestId id) {
    shape(id);
    return policy_.choose({.shape = shape_,
                           .fleet = live_.fleet(),
                           .table = live_.table(),
                           .excluded = presence_.excluded(),
                           .now = at(now_)});
  }

  static Choice choice_of(const Verdict& verdict) {
    if (verdict.kind == Verdict::Kind::kRefuse) return {};
    return {.chosen = verdict.candidate, .refuse_dollars = verdict.refuse_dollars};
  }
  bool fits(const Verdict& verdict) const {
    return queue_.newcomer(choice_of(verdict), shape_, live_.fleet(), at(now_)) == Standing::kFits;
  }

  void wait(RequestId id) {
    Waiting waiting = waiting_of(shape_, live_.fleet(), at(now_), queue_limits_.max_wait);
    waiting.id = id;
    const AdmissionQueue::Answer answer = queue_.offer(waiting, at(now_));
    for (const std::uint64_t gone : answer.displaced) refused(static_cast<RequestId>(gone));
    if (answer.turned_away) refused(id);
  }

  void serve_queue(SimTime now) {
    room_ = false;
    now_ = now;
    for (const Waiting& gone : queue_.expire(at(now))) refused(static_cast<RequestId>(gone.id));
    queue_.serve(kModel, at(now), [this](const Waiting& waiting) {
      const auto id = static_cast<RequestId>(waiting.id);
      const Verdict verdict = choose(id);
      if (standing_of(choice_of(verdict), waiting, at(now_)) != Standing::kFits) return false;
      submit(id, verdict);
      return true;
    });
  }

  /// `shape_` is the request's.
  void submit(RequestId id, const Verdict& verdict) {
    const Arrival& arrival = workload_.arrivals()[id];
    RequestState& state = requests_[id];
    if (options_.scaler != nullptr) tell_scaler(verdict);
    presence_.placed(verdict.candidate.replica, now_);
    state.flight = live_.begin(shape_, verdict.candidate, at(now_));
    if (verdict.candidate.prediction.ttft.count() > 0)
      state.miss_probability = verdict.candidate.prediction.miss_probability;
    engines_[verdict.candidate.replica.value].submit(
        {.id = id, .prompt = arrival.prompt, .output = arrival.output, .blocks = arrival.blocks}, now_);
    note_move(arrival, verdict.candidate.replica);
  }

  /// A policy that predicts no dollars is told what Fareway would have expected of its choice, so that the
  /// same rule can scale the fleet of every policy.
  void tell_scaler(const Verdict& verdict) {
    if (!options_.scaler->wants_dollars()) return;
    Score score = verdict.candidate.score;
    if (verdict.candidate.prediction.ttft.count() <= 0) {
      const Decision decision = live_.decide(shape_, presence_.excluded(), at(now_));
      const auto chosen =
          std::ranges::find(decision.candidates, verdict.candidate.replica, &Candidate::replica);
      score = chosen->score;
    }
    options_.scaler->placed(score.own_miss + score.others_miss, live_.fleet()[shape_.service_class].miss);
  }

  void note_move(const Arrival& arrival, ReplicaIndex replica) {
    const auto [home, fresh] = homes_.try_emplace(arrival.session, replica);
    if (!fresh && counted(arrival)) {
      ++result_.later_turns;
      result_.moves += home->second == replica ? 0 : 1;
    }
    home->second = replica;
  }

  bool counted(const Arrival& arrival) const { return arrival.time >= options_.warm_up_seconds; }
  ClassOutcome& class_outcome(const Arrival& arrival) {
    return result_.classes.at(arrival.service_class.value);
  }
  Usd worth(const Arrival& arrival) const { return live_.fleet()[arrival.service_class].miss; }

  void refused(RequestId id) {
    const Arrival& arrival = workload_.arrivals()[id];
    if (!counted(arrival)) return;
    ++class_outcome(arrival).refused;
    result_.missed += worth(arrival);
  }

  bool met_objective(const Arrival& arrival, const RequestState& state, SimTime end) const {
    const auto late =
        live_.fleet()[arrival.service_class].lateness({.prompt = {arrival.prompt},
                                                       .ttft = Seconds{state.first_token - arrival.time},
                                                       .duration = Seconds{end - arrival.time},
                                                       .output = Tokens{arrival.output}});
    return late && late->count() <= 0;
  }

  void finished(RequestId id, const EngineEvent& event) {
    const Arrival& arrival = workload_.arrivals()[id];
    const RequestState& state = requests_[id];
    const bool met = met_objective(arrival, state, event.time);
    if (!met && options_.scaler != nullptr) options_.scaler->missed(worth(arrival));
    if (!counted(arrival)) return;
    ClassOutcome& outcome = class_outcome(arrival);
    outcome.met += met ? 1 : 0;
    outcome.tokens_met += met ? arrival.output : 0;
    if (!met) result_.missed += worth(arrival);
    result_.prompt_tokens += arrival.prompt;
    result_.cached_tokens += event.cached;
    if (state.miss_probability < 0) return;
    const auto bin = static_cast<std::size_t>(state.miss_probability * kCalibrationBins);
    CalibrationBin& calibration = result_.calibration[std::min(bin, kCalibrationBins - 1)];
    ++calibration.requests;
    calibration.missed += met ? 0 : 1;
    calibration.predicted += state.miss_probability;
  }

  Outcome outcome() {
    result_.seconds = workload_.options().seconds - options_.warm_up_seconds;
    result_.gpu = presence_.paid();
    for (const EngineModel& engine : engines_) result_.preemptions += engine.preemptions();
    return result_;
  }

  const Workload& workload_;
  PlacementPolicy& policy_;
  SimulationOptions options_;
  LiveFleet live_;
  Presence presence_;
  QueueLimits queue_limits_;
  AdmissionQueue queue_;
  std::vector<EngineModel> engines_;
  std::vector<RequestState> requests_;
  boost::unordered_flat_map<std::uint64_t, ReplicaIndex> homes_;
  RequestShape shape_;
  SimTime now_{0};
  SimTime next_tick_{kTickSeconds};
  SimTime told_at_{0};
  bool room_{false};  // something ended or got its first token since the queue was served
  Outcome result_;
};

}  // namespace

ClassOutcome Outcome::all() const {
  ClassOutcome sum;
  for (const ClassOutcome& outcome : classes) {
    sum.requests += outcome.requests;
    sum.met += outcome.met;
    sum.refused += outcome.refused;
    sum.tokens_met += outcome.tokens_met;
  }
  return sum;
}

Outcome simulate(const Workload& workload, PlacementPolicy& policy, ReferenceScene scene,
                 const SimulationOptions& options) {
  return Run(workload, policy, std::move(scene), options).run();
}

}  // namespace fareway::simulation
