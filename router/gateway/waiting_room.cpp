#include "router/gateway/waiting_room.hpp"

#include <chrono>
#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

namespace fareway {

namespace {

constexpr net::use_awaitable_t<Executor> kResume{};

TimePoint now_steady() {
  return std::chrono::steady_clock::now();
}

}  // namespace

WaitingRoom::WaitingRoom(net::io_context& loop, GatewayParts parts)
    : loop_(loop),
      parts_(parts),
      queue_(parts.config.fleet, parts.config.queue),
      serving_soon_(parts.config.fleet.models.size()),
      alive_(std::make_shared<WaitingRoom*>(this)) {}

WaitingRoom::~WaitingRoom() {
  *alive_ = nullptr;
}

bool WaitingRoom::open() const {
  return parts_.config.queue.max_requests > 0;
}

std::optional<WaitingRoom::TurnAway> WaitingRoom::enter(const Waiting& request) {
  const TimePoint now = now_steady();
  const std::optional<Seconds> drain = queue_.predicted_drain(request, now);
  const AdmissionQueue::Answer answer = queue_.offer(request, now);
  for (const std::uint64_t displaced : answer.displaced) dismiss(displaced, {TurnedAway::kDisplaced, drain});
  show_depths();
  return answer.turned_away ? std::optional(TurnAway{*answer.turned_away, drain}) : std::nullopt;
}

Task<std::optional<WaitingRoom::TurnAway>> WaitingRoom::stay(Waiting request, Place place) {
  std::optional<TurnAway> turned_away;
  Guest guest{.waiter = {},
              .service_class = request.service_class,
              .since = now_steady(),
              .place = std::move(place),
              .turned_away = &turned_away};
  const auto settle_in = [this](auto handler, Guest* settling, std::uint64_t id) {
    settling->waiter = Waiter([handler = std::move(handler)](const ErrorCode&) mutable { handler(); });
    guests_.emplace(id, std::move(*settling));
  };
  co_await net::async_initiate<decltype(kResume), void()>(settle_in, kResume, &guest, request.id);
  co_return turned_away;
}

void WaitingRoom::leave(std::uint64_t id, std::string_view why_literal) {
  if (queue_.forget(id)) resume(id, why_literal);
}

void WaitingRoom::dismiss(std::uint64_t id, const TurnAway& why) {
  const auto guest = guests_.find(id);
  if (guest == guests_.end()) return;
  *guest->second.turned_away = why;
  resume(id, to_string(why.why));
}

/// Never at once: whoever calls may be in the middle of the queue, or of the very exchange.
void WaitingRoom::resume(std::uint64_t id, std::string_view how) {
  auto guest = guests_.extract(id);
  if (!guest) return;
  parts_.metrics.waited(guest.mapped().service_class, now_steady() - guest.mapped().since, how);
  net::post(loop_, [waiter = std::move(guest.mapped().waiter)]() mutable { waiter({}); });
  show_depths();
}

void WaitingRoom::serve(ModelIndex model, TimePoint now) {
  if (queue_.empty(model)) return;
  std::vector<std::uint64_t> placed;
  queue_.serve(model, now, [&](const Waiting& request) {
    const auto guest = guests_.find(request.id);
    if (guest == guests_.end() || !guest->second.place(request, now)) return false;
    placed.push_back(request.id);
    return true;
  });
  for (const std::uint64_t id : placed) resume(id, "placed");
}

void WaitingRoom::serve_soon(ModelIndex model) {
  if (queue_.empty(model) || serving_soon_[model.value]) return;
  serving_soon_[model.value] = true;
  net::post(loop_, [alive = alive_, model] {
    WaitingRoom* const room = *alive;
    if (room == nullptr) return;
    room->serving_soon_[model.value] = false;
    room->serve(model, now_steady());
  });
}

void WaitingRoom::tick(TimePoint now) {
  if (queue_.size() == 0) return;
  for (const Waiting& expired : queue_.expire(now))
    dismiss(expired.id, {TurnedAway::kAge, queue_.predicted_drain(expired, now)});
  for (std::uint32_t model = 0; model < serving_soon_.size(); ++model) serve({model}, now);
}

void WaitingRoom::show_depths() {
  const Fleet& fleet = parts_.config.fleet;
  for (std::uint32_t model = 0; model < fleet.models.size(); ++model)
    for (std::uint32_t one = 0; one < fleet.classes.size(); ++one)
      parts_.metrics.queue_depth({model}, {one}, queue_.depth({model}, {one}));
}

void WaitingRoom::abandon() {
  for (auto& [id, guest] : guests_) {
    queue_.forget(id);
    net::post(loop_, [waiter = std::move(guest.waiter)]() mutable { waiter(net::error::operation_aborted); });
  }
  guests_.clear();
}

}  // namespace fareway
