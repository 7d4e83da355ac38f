#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace fareway {

namespace net = boost::asio;

// The concrete executor: one loop, one thread, nothing type-erased on the way of a token.
using Executor = net::io_context::executor_type;
using Socket = net::basic_stream_socket<net::ip::tcp, Executor>;
using ErrorCode = boost::system::error_code;
template <class T>
using Task = net::awaitable<T, Executor>;

/// Completion token: `auto [ec, ...] = co_await op(kAwait);`
///
/// What is awaited gets a name before it is used in a condition: g++ 12.2 reads a dead frame after a
/// `co_await` that stands within `&&`, `||` or `?:`.
inline constexpr net::as_tuple_t<net::use_awaitable_t<Executor>> kAwait{};

}  // namespace fareway
