#include "router/gateway/loop_state.hpp"

namespace fareway {

std::shared_ptr<const TlsAcceptor> make_acceptor(const TlsListener& settings) {
  return settings.enabled() ? std::make_shared<const TlsAcceptor>(settings) : nullptr;
}

LoopState::LoopState(net::io_context& io_loop, GatewayParts gateway_parts)
    : loop(io_loop),
      parts(gateway_parts),
      keys(gateway_parts.config.keys),
      ready(ReadySet::make(io_loop)),
      scratch{},
      pool(io_loop, *ready, gateway_parts.config.access, gateway_parts.config.limits.upstream_idle, scratch),
      desk(io_loop, gateway_parts.ledger),
      room(io_loop, gateway_parts),
      tls(make_acceptor(gateway_parts.config.tls)),
      random(std::random_device{}()) {
  const Fleet& fleet = gateway_parts.config.fleet;
  for (std::uint32_t i = 0; i < fleet.models.size(); ++i) models.emplace(fleet.models[i].name, ModelIndex{i});
  for (std::uint32_t i = 0; i < fleet.classes.size(); ++i)
    classes.emplace(fleet.classes[i].name, ClassIndex{i});
}

}  // namespace fareway
