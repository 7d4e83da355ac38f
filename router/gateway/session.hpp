#pragma once

#include <memory>
#include <string>

#include "router/gateway/client_stream.hpp"
#include "router/gateway/deadline.hpp"
#include "router/gateway/exchange.hpp"
#include "router/gateway/http_head.hpp"
#include "router/gateway/loop_state.hpp"

namespace fareway {

/// One client connection: request after request, until either side ends it. Owned by the front, which keeps
/// it alive while `run` is under way.
class Session {
 public:
  Session(std::shared_ptr<LoopState> loop, Socket socket);

  Task<void> run();

  void tick(TimePoint now);
  /// Closes it where it is idle; an exchange under way is the last one.
  void drain();
  /// True where that ends a request before its answer was whole.
  bool cut();
  /// The loop will not run again: writes what is owed to the ledger and closes.
  void abandon();

 private:
  Task<bool> serve_one();
  Task<bool> read_head(RequestReader& reader);
  Task<bool> read_body(RequestReader& reader);
  Task<bool> serve_api(RequestReader& reader, const ApiKey& key, Api api, std::string request_id);
  Task<bool> serve_models(const RequestHead& head, const ApiKey& key, std::string id, std::string request_id);
  Task<bool> refuse(Refusal refusal, Dialect dialect, std::string request_id, bool keep_alive);
  std::string new_request_id();

  std::shared_ptr<LoopState> loop_;
  Deadline deadline_;
  std::unique_ptr<ClientStream> client_;
  Exchange* exchange_{nullptr};  // while one is under way
  bool first_request_{true};
  std::optional<Wait> expired_;
};

}  // namespace fareway
