// TLS between clients and the gateway, and between the gateway and engines.

#include <csignal>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>

#include "tests/support/running_gateway.hpp"
#include "tests/support/tls_peer.hpp"

namespace fareway {
namespace {

using ::testing::HasSubstr;
using testing::kPlainBody;
using testing::kStreamBody;
using testing::post;
using testing::RawConnection;
using testing::RunningGateway;
using testing::ScriptedBackend;
using ::testing::StartsWith;
using testing::TestAuthority;
using ::testing::ThrowsMessage;
using testing::TlsPeer;

/// As the process does: OpenSSL writes to sockets whose other side may be gone.
[[maybe_unused]] const auto kNoBrokenPipe = std::signal(SIGPIPE, SIG_IGN);

/// A gateway that speaks TLS as `api.test`, in front of one engine that answers everything.
class TlsGateway : public ::testing::Test {
 protected:
  TlsGateway() { listener_.certificates = {authority_.issue("api", "DNS:api.test")}; }

  RunningGateway& gateway() {
    if (!gateway_) {
      gateway_ = std::make_unique<RunningGateway>(RunningGateway::Options{
          .replicas = {engine_.port()}, .adjust = [this](Config& config) { config.tls = listener_; }});
    }
    return *gateway_;
  }
  TlsPeer::Options trusting(const std::string& name = "api.test") const {
    return {.ca = authority_.file(), .server_name = name};
  }
  TlsPeer connect(const TlsPeer::Options& options) { return TlsPeer::client(gateway().connect(), options); }
  TlsPeer connect() { return connect(trusting()); }

  static std::string ask(TlsPeer& client) {
    EXPECT_TRUE(client.send(post(kPlainBody)));
    return client.read_until("}}");
  }

  TestAuthority authority_;
  TlsListener listener_;
  ScriptedBackend engine_{ScriptedBackend::answering(testing::chat_answer(3, 2))};
  std::unique_ptr<RunningGateway> gateway_;
};

TEST_F(TlsGateway, AnswersRequestAfterRequestOnOneConnection) {
  TlsPeer client = connect();
  ASSERT_TRUE(client.connected());
  for (int i = 0; i < 3; ++i) EXPECT_THAT(ask(client), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(gateway().rows(3).size(), 3U);
}

TEST_F(TlsGateway, SpeaksTls12Too) {
  TlsPeer::Options old = trusting();
  old.most_version = TLS1_2_VERSION;
  TlsPeer client = connect(old);
  ASSERT_TRUE(client.connected());
  EXPECT_THAT(ask(client), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(TlsGateway, RefusesWhatIsOlderThanItsLeastVersion) {
  listener_.least = TlsVersion::k13;
  TlsPeer::Options old = trusting();
  old.most_version = TLS1_2_VERSION;
  EXPECT_FALSE(connect(old).connected());
  EXPECT_TRUE(connect().connected());
}

TEST_F(TlsGateway, RefusesTls11Always) {
  TlsPeer::Options old = trusting();
  old.most_version = TLS1_1_VERSION;
  EXPECT_FALSE(connect(old).connected());
}

TEST_F(TlsGateway, PlainHttpGetsNoAnswerAndNoRow) {
  RawConnection plain = gateway().connect();
  plain.send(post(kPlainBody));
  EXPECT_THAT(plain.read_to_end(), ::testing::Not(HasSubstr("HTTP/1.1 200")));
  TlsPeer client = connect();
  EXPECT_THAT(ask(client), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(gateway().rows(1).size(), 1U);
}

TEST_F(TlsGateway, ShowsTheCertificateThatNamesWhatTheClientAsksFor) {
  listener_.certificates.push_back(authority_.issue("wild", "DNS:*.models.test"));
  listener_.certificates.push_back(authority_.issue("other", "DNS:other.test,DNS:second.test"));
  EXPECT_EQ(connect(trusting("a.models.test")).peer_name(), "wild");
  EXPECT_EQ(connect(trusting("second.test")).peer_name(), "other");
  EXPECT_EQ(connect(trusting("api.test")).peer_name(), "api");
  const TlsPeer::Options nobody{.server_name = "unknown.test"};
  EXPECT_EQ(connect(nobody).peer_name(), "api") << "the first, for names that none has";
  EXPECT_EQ(connect({}).peer_name(), "api") << "and for clients that ask for none";
}

TEST_F(TlsGateway, AgreesOnHttp11AndTurnsAwayWhoSpeaksOnlyH2) {
  TlsPeer::Options both = trusting();
  both.protocols = {"h2", "http/1.1"};
  EXPECT_EQ(connect(both).protocol(), "http/1.1");
  TlsPeer::Options h2 = trusting();
  h2.protocols = {"h2"};
  EXPECT_FALSE(connect(h2).connected());
}

TEST_F(TlsGateway, DemandsAClientCertificateOfItsAuthorityWhereToldTo) {
  const TestAuthority clients;
  const TestAuthority strangers;
  listener_.client_ca = clients.file();
  TlsPeer::Options known = trusting();
  known.certificate = clients.issue("laptop", "DNS:laptop.test");
  TlsPeer welcome = connect(known);
  EXPECT_THAT(ask(welcome), StartsWith("HTTP/1.1 200 OK"));
  TlsPeer::Options strange = trusting();
  strange.certificate = strangers.issue("laptop", "DNS:laptop.test");
  for (const TlsPeer::Options& refused : {trusting(), strange}) {
    TlsPeer client = connect(refused);  // under TLS 1.3 a client learns of it with its first read
    client.send(post(kPlainBody));
    EXPECT_EQ(client.read_until("\r\n"), "");
  }
}

TEST_F(TlsGateway, AnswersLargerThanARecordArriveWhole) {
  const std::string text(1'000'000, 'x');
  ScriptedBackend large(
      ScriptedBackend::answering(testing::json_answer(R"({"text":")" + text + R"(","end":{}})")));
  RunningGateway wide(
      {.replicas = {large.port()}, .adjust = [this](Config& config) { config.tls = listener_; }});
  TlsPeer client = TlsPeer::client(wide.connect(), trusting());
  ASSERT_TRUE(client.send(post(kPlainBody)));
  EXPECT_THAT(client.read_until("}}"), HasSubstr(text));
}

TEST_F(TlsGateway, StreamIsPassedOnEventByEventAndACutOneEndsWithoutItsLastChunk) {
  ScriptedBackend engine([](RawConnection& connection, ScriptedBackend& backend) {
    backend.take_request(connection);
    connection.send(std::string(testing::kSseHead) + testing::chunk(testing::event("one")));
    backend.take_request(connection);  // waits until the gateway leaves or the test ends
  });
  RunningGateway gateway(
      {.replicas = {engine.port()}, .adjust = [this](Config& config) { config.tls = listener_; }});
  TlsPeer client = TlsPeer::client(gateway.connect(), trusting());
  client.send(post(kStreamBody));
  EXPECT_THAT(client.read_until("one"), HasSubstr("one"));
  gateway.cut();
  bool clean = false;
  EXPECT_THAT(client.read_to_end(clean),
              ::testing::AllOf(HasSubstr("\"error\""), ::testing::Not(HasSubstr("0\r\n\r\n"))));
}

TEST_F(TlsGateway, ClientThatLeavesStopsTheEngine) {
  ScriptedBackend engine([](RawConnection& connection, ScriptedBackend& backend) {
    backend.take_request(connection);
    connection.send(std::string(testing::kSseHead) + testing::chunk(testing::event("one")));
    EXPECT_TRUE(connection.closes_within(std::chrono::seconds(5)));
  });
  RunningGateway gateway(
      {.replicas = {engine.port()}, .adjust = [this](Config& config) { config.tls = listener_; }});
  {
    TlsPeer client = TlsPeer::client(gateway.connect(), trusting());
    client.send(post(kStreamBody));
    client.read_until("one");
  }
  EXPECT_EQ(gateway.rows(1).at(0).outcome, "client_closed");
}

TEST_F(TlsGateway, HandshakeThatDoesNotComeIsGivenUp) {
  RunningGateway gateway({.replicas = {engine_.port()}, .adjust = [this](Config& config) {
                            config.tls = listener_;
                            config.limits.header_timeout = std::chrono::milliseconds(50);
                          }});
  RawConnection silent = gateway.connect();
  EXPECT_TRUE(silent.closes_within(std::chrono::seconds(5)));
}

TEST_F(TlsGateway, ReloadShowsTheNewCertificateAndKeepsOldConnections) {
  TlsPeer before = connect();
  EXPECT_THAT(ask(before), StartsWith("HTTP/1.1 200"));
  listener_.certificates = {authority_.issue("renewed", "DNS:api.test")};
  std::filesystem::rename(authority_.folder() / "renewed.pem", authority_.folder() / "api.pem");
  std::filesystem::rename(authority_.folder() / "renewed.key", authority_.folder() / "api.key");
  EXPECT_EQ(connect().peer_name(), "api");
  gateway().reload_certificates();
  EXPECT_EQ(connect().peer_name(), "renewed");
  EXPECT_THAT(ask(before), StartsWith("HTTP/1.1 200"));
}

TEST_F(TlsGateway, ReloadOfABrokenFileChangesNothing) {
  EXPECT_TRUE(connect().connected());
  std::filesystem::resize_file(listener_.certificates[0].certificate, 40);
  EXPECT_THAT(
      [&] { gateway().reload_certificates(); },
      ThrowsMessage<std::runtime_error>(HasSubstr("api.pem: no certificate in PEM form can be read")));
  EXPECT_EQ(connect().peer_name(), "api");
}

/// A gateway in plain HTTP, in front of one engine that speaks TLS as `engine.test` on a loopback address.
class TlsEngine : public ::testing::Test {
 protected:
  /// What a client is answered whose request goes to that engine.
  std::string answer_through(const TlsUpstream& settings, const TlsPeer::Options& engine_side) {
    ScriptedBackend engine([&](RawConnection& connection, ScriptedBackend&) {
      TlsPeer peer = TlsPeer::server(std::move(connection), engine_side);
      shown_ = peer.peer_name();
      while (peer.connected() && !peer.read_until("}]}").empty()) {
        ++asked_;
        peer.send(testing::chat_answer(3, 2));
      }
    });
    RunningGateway gateway({.replicas = {engine.port()},
                            .adjust = [&](Config& config) { config.access[0].endpoint.tls = settings; }});
    RawConnection client = gateway.connect();
    std::string last;
    for (int i = 0; i < 2; ++i) {
      client.send(post(kPlainBody));
      const auto answer = testing::read_answer(client);
      last = std::to_string(answer.status());
    }
    connections_ = engine.connections();
    return last;
  }
  TlsPeer::Options engine_side() const {
    return {.certificate = authority_.issue("engine", "DNS:engine.test")};
  }

  TestAuthority authority_;
  std::atomic<int> asked_{0};
  int connections_{0};
  std::string shown_;
};

TEST_F(TlsEngine, IsReachedOverAVerifiedConnectionThatIsUsedAgain) {
  EXPECT_EQ(answer_through({.ca = authority_.file(), .server_name = "engine.test"}, engine_side()), "200");
  EXPECT_EQ(asked_, 2);
  EXPECT_EQ(connections_, 1);
}

TEST_F(TlsEngine, IsVerifiedByItsAddressWhereNoNameIsStated) {
  const TlsPeer::Options by_address{.certificate = authority_.issue("engine", "IP:127.0.0.1")};
  EXPECT_EQ(answer_through({.ca = authority_.file()}, by_address), "200");
}

TEST_F(TlsEngine, OfAnotherNameIsNeverAsked) {
  EXPECT_NE(answer_through({.ca = authority_.file(), .server_name = "other.test"}, engine_side()), "200");
  EXPECT_NE(answer_through({.ca = authority_.file()}, engine_side()), "200") << "its address is not in it";
  EXPECT_EQ(asked_, 0);
}

TEST_F(TlsEngine, OfAnotherAuthorityIsNeverAsked) {
  const TestAuthority other;
  EXPECT_NE(answer_through({.ca = other.file(), .server_name = "engine.test"}, engine_side()), "200");
  EXPECT_NE(answer_through({.server_name = "engine.test"}, engine_side()), "200")
      << "the system's authorities";
  EXPECT_EQ(asked_, 0);
}

TEST_F(TlsEngine, IsShownTheRoutersCertificateWhereItHasOne) {
  TlsPeer::Options demanding = engine_side();
  demanding.ca = authority_.file();
  const TlsUpstream settings{.ca = authority_.file(),
                             .server_name = "engine.test",
                             .certificate = authority_.issue("router", "DNS:router.test")};
  EXPECT_EQ(answer_through(settings, demanding), "200");
  EXPECT_EQ(shown_, "router");
  EXPECT_NE(answer_through({.ca = authority_.file(), .server_name = "engine.test"}, demanding), "200");
}

}  // namespace
}  // namespace fareway
