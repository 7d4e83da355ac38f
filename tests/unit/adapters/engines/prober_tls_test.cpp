#include <csignal>
#include <optional>
#include <string>

#include <gmock/gmock.h>

#include "adapters/engines/prober.hpp"
#include "tests/support/tls_peer.hpp"

namespace fareway {
namespace {

using ::testing::HasSubstr;
using testing::RawConnection;
using testing::ScriptedBackend;
using testing::TestAuthority;
using testing::TlsPeer;

[[maybe_unused]] const auto kNoBrokenPipe = std::signal(SIGPIPE, SIG_IGN);

std::string answer(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// An engine behind TLS, whose certificate names engine.test.
class ProberTls : public ::testing::Test {
 protected:
  ProbeResult<LoadReading> first_round(const TlsUpstream& settings) {
    ScriptedBackend engine([this](RawConnection& connection, ScriptedBackend&) {
      TlsPeer peer = TlsPeer::server(std::move(connection), {.certificate = files_});
      for (std::string asked; peer.connected() && !(asked = peer.read_until("\r\n\r\n")).empty();) {
        const bool load = asked.starts_with("GET /metrics ");
        peer.send(answer(load ? "vllm:num_requests_running 3\nvllm:num_requests_waiting 1\n" : ""));
      }
    });
    boost::asio::io_context loop;
    std::optional<ProbeResult<LoadReading>> report;
    Endpoint endpoint{.host = "127.0.0.1", .port = engine.port(), .tls = settings};
    Prober prober(loop, endpoint, *find_engine("vllm"), {},
                  [&](ProbeResult<LoadReading> result, TimePoint) { report = std::move(result); });
    prober.start();
    while (!report) loop.run_one_for(std::chrono::seconds(10));
    return *report;
  }

  TestAuthority authority_;
  CertificateFiles files_{authority_.issue("engine", "DNS:engine.test")};
};

TEST_F(ProberTls, ReadsAnEngineWhoseCertificateIsItsOwn) {
  const auto report = first_round({.ca = authority_.file(), .server_name = "engine.test"});
  ASSERT_TRUE(report.has_value()) << report.error().what;
  EXPECT_EQ(report->running, 3);
}

TEST_F(ProberTls, SaysWhyACertificateIsNotAccepted) {
  const auto other_name = first_round({.ca = authority_.file(), .server_name = "other.test"});
  ASSERT_FALSE(other_name.has_value());
  EXPECT_THAT(other_name.error().what,
              HasSubstr("is not accepted: hostname mismatch; see tls.ca and tls.server_name"));
  const TestAuthority stranger;
  const auto other_authority = first_round({.ca = stranger.file(), .server_name = "engine.test"});
  ASSERT_FALSE(other_authority.has_value());
  EXPECT_THAT(other_authority.error().what,
              HasSubstr("is not accepted: unable to get local issuer certificate"));
}

}  // namespace
}  // namespace fareway
