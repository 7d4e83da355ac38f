#include "router/admin/admin_server.hpp"

#include <future>
#include <thread>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include "sample_fleet.hpp"

namespace fareway {
namespace {

namespace net = boost::asio;
using namespace fareway::testing;  // NOLINT(google-build-using-namespace): the builders are this file's
                                   // vocabulary
using net::ip::tcp;
using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// A loop with a thread of its own, until the test ends.
class RunningLoop {
 public:
  ~RunningLoop() { stop(); }
  void stop() {
    work_.reset();
    loop_.stop();
    if (thread_.joinable()) thread_.join();
  }
  net::io_context& operator*() { return loop_; }

 private:
  net::io_context loop_{1};
  net::executor_work_guard<net::io_context::executor_type> work_{loop_.get_executor()};
  std::thread thread_{[this] { loop_.run(); }};
};

Config sample_config() {
  Config config;
  config.admin = {"127.0.0.1", 0};
  config.fleet = sample_fleet();
  return config;
}

class AdminServerTest : public ::testing::Test {
 protected:
  AdminServerTest() {
    std::filesystem::create_directories(directory_);
    ledger_ = std::make_unique<SqliteLedger>(directory_ / "ledger.sqlite");
    server_ = std::make_unique<AdminServer>(
        *admin_loop_,
        AdminParts{config_, *data_loop_, fleet_, decisions_, throughput_, *ledger_, registry_, draining_});
    server_->start();
  }
  ~AdminServerTest() override {
    admin_loop_.stop();
    data_loop_.stop();
    server_.reset();
    ledger_.reset();
    std::filesystem::remove_all(directory_);
  }

  tcp::socket connect() {
    tcp::socket socket(client_);
    socket.connect({net::ip::address_v4::loopback(), server_->port()});
    return socket;
  }
  /// Sends `request` and returns everything until the server closes.
  std::string raw(const std::string& request) {
    tcp::socket socket = connect();
    net::write(socket, net::buffer(request));
    std::string answer;
    boost::system::error_code end;
    net::read(socket, net::dynamic_buffer(answer), end);
    return answer;
  }
  std::string get(const std::string& target, const std::string& method = "GET") {
    return raw(method + " " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  }
  static json body_of(const std::string& answer) {
    return json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  }

  /// Runs `change` where the data loop's things may be touched, and waits for it.
  template <class Change>
  void on_data_loop(Change change) {
    std::promise<void> done;
    net::post(*data_loop_, [&] {
      change();
      done.set_value();
    });
    done.get_future().wait();
  }

  std::filesystem::path directory_ = std::filesystem::temp_directory_path() /
                                     ("fareway-admin-" + std::to_string(::getpid()) + "-" +
                                      ::testing::UnitTest::GetInstance()->current_test_info()->name());
  Config config_ = sample_config();
  LiveFleet fleet_ = live(sample_fleet());
  DecisionLog decisions_;
  ThroughputWindow throughput_{4};
  prometheus::Registry registry_;
  std::atomic<bool> draining_{false};
  std::unique_ptr<SqliteLedger> ledger_;
  net::io_context client_;
  RunningLoop data_loop_;
  RunningLoop admin_loop_;
  std::unique_ptr<AdminServer> server_;
};

TEST_F(AdminServerTest, ServesMetricsInThePrometheusFormat) {
  prometheus::BuildCounter().Name("fareway_test_total").Help("x").Register(registry_).Add({}).Increment(3);
  const std::string answer = get("/metrics");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(answer, HasSubstr("\nfareway_test_total 3"));
}

TEST_F(AdminServerTest, IsAliveAndReadyUntilItDrains) {
  EXPECT_THAT(get("/healthz"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(get("/readyz"), StartsWith("HTTP/1.1 200 "));
  draining_ = true;
  const std::string answer = get("/readyz");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(answer, HasSubstr("draining"));
  EXPECT_THAT(get("/healthz"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(AdminServerTest, IsNotReadyOnceNoReplicaServes) {
  on_data_loop([this] {
    for (std::uint32_t i = 0; i < 4; ++i) fleet_.connection_failed({i}, kNow + std::chrono::seconds{1});
  });
  const std::string answer = get("/readyz");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
  EXPECT_EQ(body_of(answer).at("reasons"), json::parse(R"(["no model has a replica in rotation"])"));
}

TEST_F(AdminServerTest, ShowsTheFleetAndTheDecisionsNewestFirst) {
  on_data_loop([this] {
    for (const char* id : {"first", "second", "third"}) fill_sample(*decisions_.open(id));
  });
  EXPECT_EQ(body_of(get("/admin/v1/fleet")).at("pools").size(), 3);
  const json decisions = body_of(get("/admin/v1/decisions?limit=2")).at("decisions");
  ASSERT_EQ(decisions.size(), 2);
  EXPECT_EQ(decisions[0].at("request_id"), "third");
  EXPECT_EQ(decisions[1].at("request_id"), "second");
}

TEST_F(AdminServerTest, ShowsOneDecisionAndNotFoundForOthers) {
  on_data_loop([this] { fill_sample(*decisions_.open("req 1")); });
  EXPECT_EQ(body_of(get("/admin/v1/decisions/req%201")).at("attempts").size(), 1);
  const std::string answer = get("/admin/v1/decisions/other");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 "));
  EXPECT_EQ(body_of(answer).at("error").at("code"), "not_found");
}

TEST_F(AdminServerTest, DrainsAReplicaOrAPoolAndTakesItBack) {
  const std::string name = config_.fleet.replicas[0].name;
  const std::string answer = get("/admin/v1/drain?replica=" + name, "POST");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  const json row = body_of(answer).at("replicas").at(0);
  EXPECT_EQ(row.at("replica"), name);
  EXPECT_EQ(row.at("draining"), true);
  EXPECT_TRUE(row.at("in_flight").is_number());
  const auto draining = [this] {
    bool yes = false;
    on_data_loop([&] { yes = fleet_.fleet().replicas[0].draining; });
    return yes;
  };
  EXPECT_TRUE(draining());
  const std::string pool = config_.fleet[config_.fleet.replicas[0].pool].name;
  EXPECT_THAT(get("/admin/v1/undrain?pool=" + pool, "POST"), StartsWith("HTTP/1.1 200 "));
  EXPECT_FALSE(draining());
  EXPECT_THAT(get("/admin/v1/drain?replica=nobody", "POST"), StartsWith("HTTP/1.1 404 "));
}

TEST_F(AdminServerTest, TakesNoChangeFromAnotherSitesPage) {
  const auto from = [this](const std::string& origin) {
    return raw("POST /admin/v1/drain?replica=" + config_.fleet.replicas[0].name +
               " HTTP/1.1\r\nHost: admin:9090\r\nOrigin: " + origin + "\r\nConnection: close\r\n\r\n");
  };
  EXPECT_THAT(from("https://elsewhere.example"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(from("null"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(from("http://admin:9090"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(AdminServerTest, ShowsAnEmptyQueueAndNoAdviceWhereThereIsNoGateway) {
  EXPECT_EQ(body_of(get("/admin/v1/queue")).at("waiting"), json::array());
  EXPECT_EQ(body_of(get("/admin/v1/scaling")).at("advice"), json::array());
}

TEST_F(AdminServerTest, ServesTheConsoleWithItsPolicy) {
  const std::string answer = get("/");
  EXPECT_THAT(answer, HasSubstr("Content-Security-Policy: default-src 'none'"));
  EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(answer, HasSubstr("Cache-Control: no-store\r\n"));
  EXPECT_THAT(answer, HasSubstr("<title>Fareway console</title>"));
}

TEST_F(AdminServerTest, AnswersHeadWithTheLengthAndNoBody) {
  const std::string answer = get("/healthz", "HEAD");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 19\r\n"));  // {"status":"alive"} and a line feed
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_F(AdminServerTest, RefusesOtherMethodsPathsAndGarbage) {
  EXPECT_THAT(get("/healthz", "DELETE"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(get("/healthz", "DELETE"), HasSubstr("Allow: GET, HEAD\r\n"));
  EXPECT_THAT(get("/nowhere"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(raw("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(raw("GET / HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(raw("POST /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"),
              StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(raw("POST /admin/v1/explain HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n"),
              StartsWith("HTTP/1.1 400 "))
      << "too long to be read on the data loop";
  EXPECT_THAT(get("/healthz"), StartsWith("HTTP/1.1 200 ")) << "still alive";
}

TEST_F(AdminServerTest, KeepsAConnectionForTheNextRequest) {
  const std::string answer =
      raw("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: "
          "close\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, HasSubstr("HTTP/1.1 404 "));
}

TEST_F(AdminServerTest, SaysThatTheDataLoopIsBusyAndStaysResponsiveItself) {
  std::promise<void> release;
  net::post(*data_loop_, [blocked = release.get_future().share()] { blocked.wait(); });
  auto fleet = std::async(std::launch::async, [this] { return get("/admin/v1/fleet"); });
  EXPECT_THAT(get("/healthz"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(get("/readyz"), HasSubstr("data loop busy"));
  const std::string answer = fleet.get();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
  EXPECT_EQ(body_of(answer).at("error").at("code"), "data_loop_busy");
  release.set_value();
  EXPECT_THAT(get("/admin/v1/fleet"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(AdminServerTest, ClosesItsConnectionsAndListenerWhenStopped) {
  tcp::socket idle = connect();
  net::write(idle, net::buffer(std::string("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")));
  char first{};
  net::read(idle, net::buffer(&first, 1));
  const std::uint16_t port = server_->port();
  server_->stop();
  server_->stop();
  std::string rest;
  boost::system::error_code end;
  net::read(idle, net::dynamic_buffer(rest), end);
  EXPECT_EQ(end, net::error::eof);
  tcp::socket late(client_);
  late.connect({net::ip::address_v4::loopback(), port}, end);
  EXPECT_TRUE(end);
}

TEST_F(AdminServerTest, NamesTheAddressItCannotListenOn) {
  Config taken = sample_config();
  taken.admin.port = server_->port();
  AdminServer second(*admin_loop_, AdminParts{taken, *data_loop_, fleet_, decisions_, throughput_, *ledger_,
                                              registry_, draining_});
  try {
    second.start();
    FAIL() << "two listeners on one port";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(),
                StartsWith("admin: cannot listen on 127.0.0.1:" + std::to_string(taken.admin.port)));
  }
}

}  // namespace
}  // namespace fareway
