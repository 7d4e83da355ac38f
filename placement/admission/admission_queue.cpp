#include "placement/admission/admission_queue.hpp"

#include <algorithm>
#include <numeric>

namespace fareway {
namespace {

constexpr int kMostTries = 32;
constexpr int kTriesEachTenant = 4;
constexpr Seconds kHasTime{10};
constexpr double kByFar = 4;      // times the time that is left
constexpr Seconds kLeastLeft{1};  // predictions of less than that say nothing
constexpr double kShareOfDearer = 0.1;

/// What a miss of the class is worth in the order of classes. Where it pays by the second, a minute counts.
double worth_of(const ServiceClass& objective) {
  return objective.miss.value + 60 * objective.miss_per_second.value;
}

}  // namespace

std::string_view to_string(TurnedAway why) {
  switch (why) {
    case TurnedAway::kFull:
      return "queue_full";
    case TurnedAway::kFullBytes:
      return "queue_bytes";
    case TurnedAway::kTooLate:
      return "too_late";
    case TurnedAway::kDisplaced:
      return "displaced";
    case TurnedAway::kAge:
      return "waited_too_long";
  }
  return {};
}

AdmissionQueue::AdmissionQueue(const Fleet& fleet, QueueLimits limits)
    : limits_(limits), by_worth_(fleet.classes.size()), models_(fleet.models.size()) {
  for (const ServiceClass& objective : fleet.classes) worth_.push_back(worth_of(objective));
  std::iota(by_worth_.begin(), by_worth_.end(), std::size_t{0});
  std::ranges::stable_sort(by_worth_, std::greater{}, [this](std::size_t i) { return worth_[i]; });
  for (ModelQueue& model : models_) model.classes.resize(fleet.classes.size());
}

AdmissionQueue::ClassQueue& AdmissionQueue::class_of(const Waiting& request) {
  return models_[request.model.value].classes[request.service_class.value];
}
const AdmissionQueue::ClassQueue& AdmissionQueue::class_of(const Waiting& request) const {
  return models_[request.model.value].classes[request.service_class.value];
}

AdmissionQueue::Answer AdmissionQueue::offer(const Waiting& request, TimePoint now) {
  const TimePoint useful_until = std::min(request.in_time_until, request.gives_up);
  if (const auto drain = predicted_drain(request, now);
      drain && now < useful_until && request.not_before <= now &&
      *drain > kByFar * std::max(Seconds{useful_until - now}, kLeastLeft))
    return {.turned_away = TurnedAway::kTooLate};
  Answer answer;
  while (const auto why = full(request)) {
    const auto leaves = victim(request);
    if (!leaves) return {.turned_away = why, .displaced = std::move(answer.displaced)};
    forget(*leaves);
    answer.displaced.push_back(*leaves);
  }
  add(request);
  return answer;
}

std::optional<TurnedAway> AdmissionQueue::full(const Waiting& request) const {
  if (waiting_.size() + 1 > limits_.max_requests) return TurnedAway::kFull;
  if (bytes_ + request.bytes > limits_.max_bytes) return TurnedAway::kFullBytes;
  return std::nullopt;
}

/// Who makes room for it; nobody where it is itself the one whose waiting is worth least.
std::optional<std::uint64_t> AdmissionQueue::victim(const Waiting& request) const {
  // What can never fit must not empty the queue.
  if (request.bytes > limits_.max_bytes || limits_.max_requests == 0) return std::nullopt;
  for (auto place = by_worth_.rbegin(); place != by_worth_.rend(); ++place) {
    const bool own_class = worth_[*place] >= worth_[request.service_class.value];
    const TenantQueue* heaviest = nullptr;
    for (const ModelQueue& model : models_)
      for (const auto& [tenant, queue] : model.classes[*place].tenants)
        if (!queue.empty() && (heaviest == nullptr || queue.waiting > heaviest->waiting)) heaviest = &queue;
    if (heaviest != nullptr) {
      if (own_class) {
        const auto& tenants = class_of(request).tenants;
        const auto own = tenants.find(request.tenant);
        const double mine = request.work.value + (own == tenants.end() ? 0 : own->second.waiting);
        if (heaviest->waiting <= mine) return std::nullopt;
      }
      const Ordered& last = heaviest->late.empty() ? heaviest->in_time : heaviest->late;
      return last.rbegin()->second;
    }
    if (own_class) return std::nullopt;
  }
  return std::nullopt;
}

void AdmissionQueue::add(const Waiting& request) {
  waiting_.emplace(request.id, request);
  give_ups_.emplace(request.gives_up, request.id);
  bytes_ += request.bytes;
  ModelQueue& model = models_[request.model.value];
  ClassQueue& queue = class_of(request);
  ++model.requests;
  ++queue.requests;
  queue.bytes += request.bytes;
  if (request.not_before > request.arrived) {
    held_.emplace(request.not_before, request.id);
    return;
  }
  enqueue(queue, request);
}

void AdmissionQueue::enqueue(ClassQueue& queue, const Waiting& request) {
  TenantQueue& tenant = queue.tenants[request.tenant];
  // Who has had nothing for long does not come back with a claim to all of it.
  if (tenant.empty()) tenant.had = std::max(tenant.had, queue.virtual_time);
  tenant.in_time.emplace(request.in_time_until, request.id);
  tenant.waiting += request.work.value;
  queue.waiting += request.work.value;
}

bool AdmissionQueue::forget(std::uint64_t id) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return false;
  const Waiting& request = found->second;
  give_ups_.erase({request.gives_up, id});
  bytes_ -= request.bytes;
  ModelQueue& model = models_[request.model.value];
  ClassQueue& queue = class_of(request);
  --model.requests;
  --queue.requests;
  queue.bytes -= request.bytes;
  if (held_.erase({request.not_before, id}) == 0) {
    TenantQueue& tenant = queue.tenants[request.tenant];
    if (tenant.in_time.erase({request.in_time_until, id}) == 0) tenant.late.erase({request.arrived, id});
    tenant.waiting = tenant.empty() ? 0 : tenant.waiting - request.work.value;
    const bool last = std::ranges::all_of(queue.tenants, [](const auto& one) { return one.second.empty(); });
    queue.waiting = last ? 0 : queue.waiting - request.work.value;
  }
  waiting_.erase(found);
  return true;
}

std::vector<Waiting> AdmissionQueue::expire(TimePoint now) {
  std::vector<Waiting> gone;
  while (!give_ups_.empty() && give_ups_.begin()->first <= now) {
    gone.push_back(waiting_.at(give_ups_.begin()->second));
    forget(gone.back().id);
  }
  return gone;
}

/// Those held for a cheaper hour that has come.
void AdmissionQueue::wake(TimePoint now) {
  while (!held_.empty() && held_.begin()->first <= now) {
    const Waiting& request = waiting_.at(held_.begin()->second);
    held_.erase(held_.begin());
    enqueue(class_of(request), request);
  }
}

void AdmissionQueue::note_late(ModelQueue& model, TimePoint now) {
  for (ClassQueue& queue : model.classes) {
    for (auto& [_, tenant] : queue.tenants) {
      while (!tenant.in_time.empty() && tenant.in_time.begin()->first <= now) {
        const std::uint64_t id = tenant.in_time.begin()->second;
        tenant.in_time.erase(tenant.in_time.begin());
        tenant.late.emplace(waiting_.at(id).arrived, id);
      }
    }
  }
}

void AdmissionQueue::serve(ModelIndex index, TimePoint now, const Place& place) {
  ModelQueue& model = models_[index.value];
  if (model.requests == 0) return;
  wake(now);
  note_late(model, now);
  int tries = kMostTries;
  for (const bool in_time : {true, false})
    for (const std::size_t one : by_worth_)
      while (tries > 0 && serve_class(model.classes[one], in_time, now, place, tries)) {
      }
}

/// Places one of the class; false where none of those shown could be placed.
bool AdmissionQueue::serve_class(ClassQueue& queue, bool in_time, TimePoint now, const Place& place,
                                 int& tries) {
  std::vector<TenantQueue*> order;
  for (auto& [_, tenant] : queue.tenants)
    if (!(in_time ? tenant.in_time : tenant.late).empty()) order.push_back(&tenant);
  std::ranges::stable_sort(order, {}, &TenantQueue::had);
  for (const TenantQueue* tenant : order) {
    int shown = 0;
    for (const auto& [_, id] : in_time ? tenant->in_time : tenant->late) {
      if (tries == 0 || shown++ == kTriesEachTenant) break;
      const Waiting request = waiting_.at(id);
      if (in_time && gives_way(request, now)) break;  // those behind it have more time still
      if (!place(request)) {
        --tries;
        continue;
      }
      charge(request, now);
      forget(id);
      return true;
    }
  }
  return false;
}

bool AdmissionQueue::dearer_wait(ModelIndex model, ClassIndex service_class, TimePoint now) const {
  for (const std::size_t one : by_worth_) {
    if (worth_[one] <= worth_[service_class.value]) return false;
    for (const auto& [_, tenant] : models_[model.value].classes[one].tenants)
      if (!tenant.in_time.empty() && tenant.in_time.rbegin()->first > now) return true;
  }
  return false;
}

bool AdmissionQueue::gives_way(const Waiting& request, TimePoint now) const {
  return request.in_time_until - now > kHasTime && dearer_wait(request.model, request.service_class, now);
}

Standing AdmissionQueue::newcomer(const Choice& choice, const RequestShape& shape, const Fleet& fleet,
                                  TimePoint now) const {
  if (fits_plainly(choice) && !dearer_wait(shape.model, shape.service_class, now)) return Standing::kFits;
  if (!choice.chosen) return Standing::kNobody;
  const Waiting waiting = waiting_of(shape, fleet, now, Seconds{0});
  return gives_way(waiting, now) ? Standing::kWaits : standing_of(choice, waiting, now);
}

void AdmissionQueue::charge(const Waiting& request, TimePoint now) {
  ClassQueue& queue = class_of(request);
  queue.rate.add(request.work, now);
  TenantQueue& tenant = queue.tenants[request.tenant];
  tenant.had = std::max(tenant.had, queue.virtual_time);
  queue.virtual_time = tenant.had;
  tenant.had += request.work.value;
}

void AdmissionQueue::placed(const Waiting& request, TimePoint now) {
  ClassQueue& queue = class_of(request);
  if (queue.waiting > 0) return charge(request, now);
  queue.rate.add(request.work, now);
}

std::optional<Seconds> AdmissionQueue::predicted_drain(const Waiting& request, TimePoint now) const {
  const ClassQueue& queue = class_of(request);
  // What cheaper classes get is its own if need be; what dearer ones get may become so.
  double rate = 0;
  const auto& classes = models_[request.model.value].classes;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const bool dearer = worth_[i] > worth_[request.service_class.value];
    rate += classes[i].rate.per_second(now) * (dearer ? kShareOfDearer : 1);
  }
  if (rate <= 0) return std::nullopt;
  // Its tenant's own work, and of every other tenant as much at most.
  const auto own = queue.tenants.find(request.tenant);
  const double mine = request.work.value + (own == queue.tenants.end() ? 0 : own->second.waiting);
  double ahead = mine - request.work.value;
  for (const auto& [tenant, other] : queue.tenants)
    if (tenant != request.tenant) ahead += std::min(other.waiting, mine);
  return Seconds{ahead / rate};
}

AdmissionQueue::Depth AdmissionQueue::depth(ModelIndex model, ClassIndex service_class) const {
  const ClassQueue& queue = models_[model.value].classes[service_class.value];
  return {.requests = queue.requests, .bytes = queue.bytes, .work = {queue.waiting}};
}

}  // namespace fareway
