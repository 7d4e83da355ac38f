#pragma once

#include <memory>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "adapters/emulator/emulation.hpp"

namespace fareway::emulator {

/// Serves one connection to its end: HTTP/1.1 with keep-alive, one request at a time. A client that closes
/// its side, even only for sending, has gone: its sequences are aborted at once.
boost::asio::awaitable<void> serve(boost::asio::ip::tcp::socket socket, std::shared_ptr<Emulation> emulation,
                                   Emulation::Listen listen);

}  // namespace fareway::emulator
