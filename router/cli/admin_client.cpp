#include "router/cli/admin_client.hpp"

#include <cctype>
#include <stdexcept>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <nlohmann/json.hpp>

#include "router/config/config.hpp"

namespace fareway {
namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;

constexpr std::string_view kScheme = "http://";
constexpr std::string_view kDefault = "127.0.0.1:9090";

/// The message of an error answer, or its body where it is not one of ours.
std::string message_of(const http::response<http::string_body>& answer) {
  const auto body = nlohmann::json::parse(answer.body(), nullptr, false);
  if (body.is_object() && body.contains("error") && body["error"].is_object())
    return body["error"].value("message", answer.body());
  return "HTTP " + std::to_string(answer.result_int());
}

}  // namespace

AdminClient::AdminClient(std::string_view url) {
  if (url.empty()) url = kDefault;
  if (url.starts_with(kScheme)) url.remove_prefix(kScheme.size());
  if (url.ends_with('/')) url.remove_suffix(1);
  const std::size_t colon = url.rfind(':');
  if (colon == std::string_view::npos || url.find('/') != std::string_view::npos)
    throw std::runtime_error("--admin must be host and port, as http://127.0.0.1:9090");
  host_ = url.substr(0, colon);
  port_ = url.substr(colon + 1);
  if (host_.starts_with('[') && host_.ends_with(']')) host_ = host_.substr(1, host_.size() - 2);
}

std::string AdminClient::get(std::string_view target) const {
  return ask(false, target, {});
}

std::string AdminClient::post(std::string_view target, std::string body) const {
  return ask(true, target, std::move(body));
}

std::string AdminClient::ask(bool post, std::string_view target, std::string body) const {
  const std::string address = host_ + ":" + port_;
  try {
    net::io_context loop;
    boost::beast::tcp_stream stream(loop);
    stream.connect(net::ip::tcp::resolver(loop).resolve(host_, port_));
    http::request<http::string_body> request(post ? http::verb::post : http::verb::get,
                                             {target.data(), target.size()}, 11);
    request.set(http::field::host, address);
    request.set(http::field::connection, "close");
    request.body() = std::move(body);
    request.prepare_payload();
    http::write(stream, request);
    boost::beast::flat_buffer buffer;
    http::response<http::string_body> answer;
    http::read(stream, buffer, answer);
    if (answer.result() == http::status::ok) return std::move(answer.body());
    throw std::runtime_error(message_of(answer));
  } catch (const boost::system::system_error& error) {
    throw std::runtime_error("no gateway answers at " + address + " (" + error.code().message() +
                             "); name its admin listener with --admin");
  }
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~') {
      encoded += c;
    } else {
      encoded += {'%', kDigits[byte >> 4u], kDigits[byte & 15u]};
    }
  }
  return encoded;
}

}  // namespace fareway
