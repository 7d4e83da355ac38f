#include "adapters/engines/prober.hpp"

#include <optional>
#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/adapters/engines/fake_replica.hpp"

namespace fareway {
namespace {

using namespace std::chrono_literals;
using test::FakeReplica;
using test::http_answer;
using test::Script;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kLoad =
    "vllm:num_requests_running{engine=\"0\"} 3\nvllm:num_requests_waiting{engine=\"0\"} 1\n";

class ProberTest : public ::testing::Test {
 protected:
  ProberTest() {
    replica_.on("/health").bytes = http_answer(200, "");
    replica_.on("/metrics").bytes = http_answer(200, kLoad);
  }

  Endpoint endpoint() const { return Endpoint{"127.0.0.1", replica_.port(), ""}; }

  void start(const char* engine = "vllm") { start(endpoint(), engine); }

  void start(Endpoint endpoint, const char* engine = "vllm") {
    prober_.emplace(loop_, std::move(endpoint), *find_engine(engine), options_,
                    [this](ProbeResult<LoadReading> result, TimePoint began) {
                      reports_.push_back(std::move(result));
                      began_.push_back(began);
                    });
    prober_->start();
  }

  /// Runs the loop until that many more rounds were reported; a test that hangs fails after 20 s.
  void run_rounds(std::size_t rounds) {
    const std::size_t wanted = reports_.size() + rounds;
    const auto give_up = std::chrono::steady_clock::now() + 20s;
    while (reports_.size() < wanted) {
      ASSERT_LT(std::chrono::steady_clock::now(), give_up) << "only " << reports_.size() << " rounds";
      loop_.run_one_for(100ms);
    }
  }

  /// The error of the first round.
  ProbeError first_error() {
    run_rounds(1);
    if (reports_.empty() || reports_.front()) {
      ADD_FAILURE() << "the round succeeded";
      return {};
    }
    return reports_.front().error();
  }

  boost::asio::io_context loop_;
  FakeReplica replica_{loop_};
  Prober::Options options_{.interval = 5ms, .timeout = 5s};
  std::vector<ProbeResult<LoadReading>> reports_;
  std::vector<TimePoint> began_;
  std::optional<Prober> prober_;
};

TEST_F(ProberTest, ReportsTheLoadOfAHealthyReplica) {
  start();
  run_rounds(1);
  ASSERT_TRUE(reports_[0].has_value()) << reports_[0].error().what;
  EXPECT_EQ(reports_[0]->running, 3);
  EXPECT_EQ(reports_[0]->waiting, 1);
}

TEST_F(ProberTest, KeepsOneConnectionAndItsInterval) {
  options_.interval = 20ms;
  start();
  run_rounds(4);
  EXPECT_EQ(replica_.connections(), 1);
  EXPECT_EQ(replica_.requests().size(), 8U);
  for (std::size_t i = 1; i < began_.size(); ++i) EXPECT_GE(began_[i] - began_[i - 1], 20ms);
}

TEST_F(ProberTest, AsksForPlainUncompressedTextWithoutAKey) {
  start();
  run_rounds(1);
  ASSERT_EQ(replica_.requests().size(), 2U);
  EXPECT_THAT(replica_.requests()[0], HasSubstr("GET /health HTTP/1.1\r\n"));
  const std::string& load = replica_.requests()[1];
  EXPECT_THAT(load, HasSubstr("GET /metrics HTTP/1.1\r\n"));
  EXPECT_THAT(load, HasSubstr("Host: 127.0.0.1:" + std::to_string(replica_.port()) + "\r\n"));
  EXPECT_THAT(load, HasSubstr("Accept: text/plain;version=0.0.4\r\n"));
  EXPECT_THAT(load, HasSubstr("Accept-Encoding: identity\r\n"));
  EXPECT_THAT(load, Not(HasSubstr("Authorization")));
}

TEST_F(ProberTest, SendsTheKeyOfTheReplicaAsBearerToken) {
  Endpoint with_key = endpoint();
  with_key.api_key = "key-1";
  start(with_key);
  run_rounds(1);
  for (const std::string& request : replica_.requests())
    EXPECT_THAT(request, HasSubstr("Authorization: Bearer key-1\r\n"));
}

TEST_F(ProberTest, TakesUpAFreshConnectionWhereTheServerClosedTheIdleOne) {
  replica_.on("/metrics").then = Script::Then::kClose;
  start();
  run_rounds(3);
  for (const auto& report : reports_) EXPECT_TRUE(report.has_value()) << report.error().what;
  EXPECT_EQ(replica_.connections(), 3);
}

TEST_F(ProberTest, ReadsAnswersThatEndWithTheConnection) {
  replica_.on("/metrics") = {"HTTP/1.0 200 OK\r\n\r\n" + std::string(kLoad), Script::Then::kClose};
  start();
  run_rounds(2);
  for (const auto& report : reports_) EXPECT_TRUE(report.has_value()) << report.error().what;
}

TEST_F(ProberTest, SaysThatTheModelIsLoading) {
  replica_.on("/health").bytes =
      http_answer(503, R"({"error":{"code":503,"message":"Loading model","type":"unavailable_error"}})");
  start("llamacpp");
  const ProbeError error = first_error();
  EXPECT_EQ(error.what, "loading model");
  EXPECT_FALSE(error.healthy);
}

TEST_F(ProberTest, SaysWhichPathAnsweredWhat) {
  replica_.on("/health").bytes = http_answer(503, "secret");
  start();
  const ProbeError error = first_error();
  EXPECT_EQ(error.what, "GET /health answered 503");
  EXPECT_FALSE(error.healthy);
  EXPECT_EQ(replica_.requests().size(), 1U);
}

TEST_F(ProberTest, AsksForAKeyWhereTheReplicaWantsOne) {
  replica_.on("/metrics").bytes = http_answer(401, "");
  start();
  const ProbeError error = first_error();
  EXPECT_EQ(error.what, "GET /metrics answered 401; set this replica's API key");
  EXPECT_TRUE(error.healthy);
}

TEST_F(ProberTest, KeepsAReplicaHealthyWhoseMetricsAreBroken) {
  struct Case {
    Script script;
    const char* words;
  };
  const std::vector<Case> cases{
      {{http_answer(500, "")}, "GET /metrics answered 500"},
      {{http_answer(404, "")}, "GET /metrics answered 404"},
      {{http_answer(200, "")}, "empty page"},
      {{http_answer(200, "<html></html>")}, "holds no metrics"},
      {{"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + std::string(kLoad), Script::Then::kClose},
       "closed before the answer to GET /metrics was complete"},
      {{"HTTP/1.1 200 OK\r\nContent-Length: 52428800\r\n\r\n", Script::Then::kKeepOpen}, "larger than 8 MiB"},
      {{"HTTP/1.0 200 OK\r\n\r\n" + std::string(9 * 1024 * 1024, 'x'), Script::Then::kClose},
       "larger than 8 MiB"},
      {{"garbage\r\n\r\n", Script::Then::kKeepOpen}, "not HTTP"}};
  start();
  for (const Case& broken : cases) {
    SCOPED_TRACE(broken.words);
    replica_.on("/metrics") = broken.script;
    run_rounds(1);
    ASSERT_FALSE(reports_.back().has_value());
    EXPECT_THAT(reports_.back().error().what, HasSubstr(broken.words));
    EXPECT_TRUE(reports_.back().error().healthy);
  }
  replica_.on("/metrics") = {http_answer(200, kLoad), Script::Then::kKeepOpen};
  run_rounds(1);
  EXPECT_TRUE(reports_.back().has_value()) << reports_.back().error().what;
}

TEST_F(ProberTest, TellsAnOperatorToStartLlamaCppWithMetrics) {
  replica_.on("/metrics").bytes = http_answer(501, "{}");
  start("llamacpp");
  const ProbeError error = first_error();
  EXPECT_THAT(error.what, HasSubstr("--metrics"));
  EXPECT_TRUE(error.healthy);
}

TEST_F(ProberTest, ReadsCapacityWhereTheEngineHasAPathForIt) {
  replica_.on("/metrics").bytes =
      http_answer(200, "llamacpp:requests_processing 1\nllamacpp:requests_deferred 0\n");
  replica_.on("/props").bytes = http_answer(
      200, R"({"total_slots":4,"default_generation_settings":{"n_ctx":1024},"build_info":"b7200-a1"})");
  start("llamacpp");
  run_rounds(1);
  ASSERT_TRUE(reports_[0].has_value()) << reports_[0].error().what;
  EXPECT_EQ(reports_[0]->running, 1);
  EXPECT_EQ(reports_[0]->seats, 4U);
  EXPECT_EQ(reports_[0]->kv_capacity, Tokens{4096});
  EXPECT_EQ(reports_[0]->version, "b7200-a1");
}

TEST_F(ProberTest, ReportsTheLoadWhereOnlyCapacityIsMissing) {
  replica_.on("/metrics").bytes =
      http_answer(200, "llamacpp:requests_processing 1\nllamacpp:requests_deferred 0\n");
  replica_.on("/props").bytes = http_answer(404, "");
  start("llamacpp");
  run_rounds(1);
  ASSERT_TRUE(reports_[0].has_value()) << reports_[0].error().what;
  EXPECT_EQ(reports_[0]->running, 1);
  EXPECT_EQ(reports_[0]->seats, std::nullopt);
}

TEST_F(ProberTest, GivesUpOnAHealthPathThatHangsAndRecovers) {
  options_.timeout = 50ms;
  replica_.on("/health").bytes = "";
  start();
  const ProbeError error = first_error();
  EXPECT_EQ(error.what, "no answer to GET /health within 50 ms");
  EXPECT_FALSE(error.healthy);

  options_.timeout = 5s;
  replica_.on("/health").bytes = http_answer(200, "");
  start();
  run_rounds(1);
  EXPECT_TRUE(reports_.back().has_value()) << reports_.back().error().what;
}

TEST_F(ProberTest, HoldsTheWholeRoundToOneDeadline) {
  options_.timeout = 60ms;
  replica_.on("/metrics").bytes = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nvllm";
  start();
  const ProbeError error = first_error();
  EXPECT_EQ(error.what, "no answer to GET /metrics within 60 ms");
  EXPECT_TRUE(error.healthy);
}

TEST_F(ProberTest, ProbesOnTheSameProberAfterATimeout) {
  options_.timeout = 100ms;
  replica_.on("/health").bytes = "";
  start();
  run_rounds(2);
  EXPECT_FALSE(reports_.back().has_value());
  replica_.on("/health").bytes = http_answer(200, "");
  const auto give_up = std::chrono::steady_clock::now() + 20s;
  while (!reports_.back() && std::chrono::steady_clock::now() < give_up) run_rounds(1);
  EXPECT_TRUE(reports_.back().has_value());
}

TEST_F(ProberTest, SaysThatAConnectionIsRefusedAndRecovers) {
  const Endpoint gone = endpoint();
  replica_.stop();
  start(gone);
  const ProbeError error = first_error();
  EXPECT_EQ(error.what, "cannot connect to " + gone.authority() + ": Connection refused");
  EXPECT_FALSE(error.healthy);

  FakeReplica back(loop_, gone.port);
  back.on("/health").bytes = http_answer(200, "");
  back.on("/metrics").bytes = http_answer(200, kLoad);
  const auto give_up = std::chrono::steady_clock::now() + 20s;
  while (!reports_.back() && std::chrono::steady_clock::now() < give_up) run_rounds(1);
  EXPECT_TRUE(reports_.back().has_value()) << reports_.back().error().what;
  prober_.reset();
}

TEST_F(ProberTest, FailsARoundWhoseConnectionIsCutAndRecovers) {
  replica_.on("/health") = {"", Script::Then::kClose};
  start();
  EXPECT_THAT(first_error().what, HasSubstr("closed before the answer to GET /health"));
  replica_.on("/health") = {http_answer(200, ""), Script::Then::kKeepOpen};
  run_rounds(1);
  EXPECT_TRUE(reports_.back().has_value()) << reports_.back().error().what;
}

TEST_F(ProberTest, LeavesAConnectionThatIsOutOfStep) {
  replica_.on("/health").bytes = http_answer(200, "") + http_answer(503, "");
  start();
  run_rounds(2);
  for (const auto& report : reports_) EXPECT_TRUE(report.has_value()) << report.error().what;
  EXPECT_GT(replica_.connections(), 1);
}

TEST_F(ProberTest, ResolvesNamesAndTriesEveryAddress) {
  start(Endpoint{"localhost", replica_.port(), ""});
  run_rounds(1);
  EXPECT_TRUE(reports_[0].has_value()) << reports_[0].error().what;
}

TEST_F(ProberTest, SaysWhichNameCannotBeResolved) {
  const std::string too_long(300, 'a');
  start(Endpoint{too_long, 80, ""});
  EXPECT_THAT(first_error().what, HasSubstr("cannot resolve " + too_long));
}

TEST_F(ProberTest, IsSilentOnceDestroyedWithARoundInFlight) {
  replica_.on("/metrics").bytes = "";
  start();
  while (replica_.requests().size() < 2) loop_.run_one_for(100ms);
  prober_.reset();
  replica_.stop();
  loop_.run();  // returns: nothing of the prober is left on the loop
  EXPECT_TRUE(reports_.empty());
}

TEST_F(ProberTest, IsSilentOnceDestroyedWhileItResolvesConnectsOrWaits) {
  for (int events = 0; events < 12; ++events) {
    reports_.clear();
    start(Endpoint{"localhost", replica_.port(), ""});
    for (int i = 0; i < events; ++i) loop_.run_one_for(10ms);
    prober_.reset();
    const std::size_t before = reports_.size();
    loop_.run_for(5ms);
    EXPECT_EQ(reports_.size(), before) << "after " << events << " events";
  }
}

TEST_F(ProberTest, MayBeDestroyedByItsOwnReport) {
  int calls = 0;
  std::optional<Prober> prober;
  prober.emplace(loop_, endpoint(), *find_engine("vllm"), options_,
                 [&](const ProbeResult<LoadReading>&, TimePoint) {
                   ++calls;
                   prober.reset();
                   replica_.stop();
                 });
  prober->start();
  loop_.run();
  EXPECT_EQ(calls, 1);
}

TEST_F(ProberTest, MayBeLeftBehindOnALoopThatNeverRunsAgain) {
  replica_.on("/health").bytes = "";
  start();
  while (replica_.requests().empty()) loop_.run_one_for(100ms);
  loop_.stop();
}

}  // namespace
}  // namespace fareway
