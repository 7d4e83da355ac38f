#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

namespace fareway::emulator {

/// A way to misbehave, as POST /emulator/fault asks for it; README.md says what each does.
struct Fault {
  enum class Kind { kSlow, kHang, kReset, kStatus, kGarbage, kUnhealthy, kRefuseAfter };
  Kind kind{};
  double factor{2.0};            ///< slow: how many times as long everything takes
  unsigned status{503};          ///< status
  std::int64_t after_events{0};  ///< reset, garbage: events of a stream that still go out
  std::optional<std::int64_t>
      count{};  ///< requests it strikes (refuse_after: that are still served); nothing: all
  std::optional<double> for_seconds{};  ///< real seconds until it clears itself
};

/// The second is what is wrong with the body, for whoever sent it.
boost::system::result<Fault, std::string> read_fault(std::string_view body);

/// The fault in force, of which there is at most one.
class Faults {
 public:
  void set(Fault fault) { fault_ = fault; }
  void clear() { fault_.reset(); }
  bool is(Fault::Kind kind) const { return fault_ && fault_->kind == kind; }
  const std::optional<Fault>& current() const { return fault_; }

  /// A request for the engine has come: the fault that strikes it (reset, status or garbage), used up by one.
  std::optional<Fault> strike();
  /// Counts a request down to the refusal; true when that was the last one to be served.
  bool last_before_refusal();

 private:
  std::optional<Fault> fault_;
};

}  // namespace fareway::emulator
