#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "placement/admission/turned_away.hpp"
#include "placement/service_class.hpp"

namespace fareway {

/// Whose error shape a client understands.
enum class Dialect { kOpenAi, kAnthropic };

/// Our own answer to a request that no engine answers. All views are literals.
struct Refusal {
  int status{500};
  std::string_view type{"api_error"};  ///< OpenAI's `type`
  std::string_view code;               ///< OpenAI's `code`; empty: null
  std::string_view param;              ///< the offending member; empty: null
  std::string message;                 ///< for people; never holds a key, a prompt or an engine's address
  std::string_view reason;             ///< label of the refusal counter
  std::optional<int> retry_after{};    ///< seconds
  std::string_view allow{};            ///< methods, with 405
};

/// JSON body of an error answer.
std::string error_body(const Refusal& refusal, Dialect dialect);
/// The same as one event of a stream that has already begun.
std::string error_event(const Refusal& refusal, Dialect dialect);

namespace refusals {

Refusal bad_request(std::string message, std::string_view param = {});
/// Bytes that are not HTTP, or HTTP in more than one reading. The connection must be closed after it.
Refusal bad_http(int status, std::string message);
/// `x-fareway-class` names none of `classes`.
Refusal unknown_class(const std::vector<ServiceClass>& classes);
/// `x-fareway-class` names a class that exists and that this key may not use.
Refusal class_not_permitted(std::string_view name);
Refusal unauthorized();
Refusal unknown_path();
Refusal wrong_method(std::string_view allow);
Refusal too_large(std::size_t limit_bytes);
Refusal unsupported_encoding();
/// Same words whether the model does not exist or this tenant may not use it. A long name is cut.
Refusal model_not_found(std::string_view model);
Refusal context_too_long();
Refusal no_replica();
/// All replicas are busy and it does not wait, or no longer: 429. `drain`: predicted; unknown where nothing
/// was placed lately.
Refusal busy(TurnedAway why, std::optional<Seconds> drain);
/// Every replica that could serve this tenant is excluded by its own rules.
Refusal not_permitted();
Refusal ledger_unavailable();
Refusal shutting_down();
Refusal request_timeout();

/// Engines that did not answer. `code` says which limit or failure it was.
Refusal engine_unreachable();
Refusal engine_broke_off();
Refusal engine_rejected_router();
Refusal engine_odd_answer();
/// Its own error answer (a 5xx), without its words, which may show more than clients should see.
Refusal engine_error(int status);
Refusal first_byte_timeout();
Refusal idle_timeout();

}  // namespace refusals

}  // namespace fareway
