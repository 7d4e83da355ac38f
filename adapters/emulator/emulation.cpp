#include "adapters/emulator/emulation.hpp"

#include <chrono>
#include <stdexcept>
#include <utility>

#include "adapters/emulator/text.hpp"

namespace fareway::emulator {
namespace {

namespace net = boost::asio;

std::int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

double checked_scale(const EmulatedReplica& replica) {
  if (!(replica.time_scale > 0 && replica.time_scale <= 1e6))
    throw std::invalid_argument("emulated replica '" + replica.name +
                                "': time_scale must be above 0, at most 1000000");
  return replica.time_scale;
}

}  // namespace

Emulation::Emulation(net::io_context& loop, EmulatedReplica replica)
    : replica_(std::move(replica)),
      engine_(std::make_shared<EngineLoop>(loop, limits_of(replica_.deployment), checked_scale(replica_))),
      fault_ends_(loop),
      started_at_(unix_seconds()) {}

void Emulation::set_fault(Fault fault, Listen listen) {
  clear_fault();
  faults_.set(fault);
  listen_ = std::move(listen);
  if (fault.kind == Fault::Kind::kSlow) engine_->set_pace(replica_.time_scale / fault.factor);
  if (fault.kind == Fault::Kind::kHang) engine_->set_pace(0);
  if (fault.kind == Fault::Kind::kRefuseAfter && fault.count.value_or(0) == 0) listen_(false);
  if (!fault.for_seconds) return;
  fault_ends_.expires_after(
      std::chrono::duration_cast<net::steady_timer::duration>(Seconds{*fault.for_seconds}));
  fault_ends_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!error && self) self->clear_fault();
  });
}

void Emulation::clear_fault() {
  fault_ends_.cancel();
  if (faults_.is(Fault::Kind::kSlow) || faults_.is(Fault::Kind::kHang))
    engine_->set_pace(replica_.time_scale);
  if (faults_.is(Fault::Kind::kRefuseAfter)) listen_(true);
  faults_.clear();
}

std::optional<Fault> Emulation::request_came() {
  if (faults_.last_before_refusal()) listen_(false);
  return faults_.strike();
}

AnswerHead Emulation::next_answer(const ApiRequest& request, std::uint64_t seed) {
  return {.id = identifier(seed, ++answers_),
          .model = request.model,
          .created = unix_seconds(),
          .include_usage = request.include_usage};
}

void Emulation::shut_down() {
  fault_ends_.cancel();
  engine_->abort_all();
  for (net::ip::tcp::socket* connection : connections_) {
    boost::system::error_code ignored;
    connection->close(ignored);
  }
}

}  // namespace fareway::emulator
