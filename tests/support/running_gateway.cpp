#include "tests/support/running_gateway.hpp"

#include <chrono>
#include <cstdlib>
#include <future>
#include <stdexcept>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <prometheus/text_serializer.h>
#include <sqlite3.h>

#include "router/gateway/auth.hpp"
#include "tests/support/fleet_builder.hpp"

namespace fareway::testing {

namespace {

constexpr std::chrono::seconds kPatience{10};
constexpr std::chrono::milliseconds kLookAgain{2};

/// New each time: what a killed run has left behind is nobody's.
std::filesystem::path own_folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "fareway-gateway-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  return pattern;
}

bool wait_until(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(kLookAgain);
  }
  return true;
}

Config make_config(const RunningGateway::Options& options) {
  FleetBuilder builder;
  double price = 1;
  for (std::size_t i = 0; i < options.replicas.size(); ++i) {
    builder.add({.name = "r" + std::to_string(i), .usd_per_hour = price});
    price *= 1000;  // far enough apart that no learning turns the order round
  }
  Config config;
  config.fleet = builder.fleet();
  config.fleet.models.front().list_price = ListPrice{{1'000'000'000}, {100'000'000}, {2'000'000'000}};
  config.fleet.models.push_back({.name = "other", .context_limit = {1000}});
  config.fleet.tenants.push_back({.name = "outsider", .models = {ModelIndex{1}}});
  for (const Pool& pool : config.fleet.pools) {
    config.price_schedules.push_back({{WallTime{}, pool.per_device_hour}});
  }
  for (const std::uint16_t port : options.replicas) {
    config.access.push_back({{.host = "127.0.0.1", .port = port, .api_key = options.replica_key}, nullptr});
  }
  config.keys = {{"key-1", sha256_hex(kKey), TenantIndex{0}, ClassIndex{0}},
                 {"key-2", sha256_hex(kOtherKey), TenantIndex{1}, ClassIndex{1}}};
  if (options.adjust) options.adjust(config);
  return config;
}

std::optional<std::int64_t> number(sqlite3_stmt* row, int column) {
  if (sqlite3_column_type(row, column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_int64(row, column);
}

std::string text(sqlite3_stmt* row, int column) {
  const auto* bytes = sqlite3_column_text(row, column);
  return bytes == nullptr ? std::string{} : reinterpret_cast<const char*>(bytes);
}

void each_row(sqlite3* database, const std::string& query, const std::function<void(sqlite3_stmt*)>& take) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, query.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    throw std::runtime_error(sqlite3_errmsg(database));
  }
  while (sqlite3_step(statement) == SQLITE_ROW) take(statement);
  sqlite3_finalize(statement);
}

std::vector<SeenRow> read_rows(const std::filesystem::path& file) {
  sqlite3* database = nullptr;
  if (sqlite3_open_v2(file.c_str(), &database, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) {
    throw std::runtime_error("cannot read the ledger");
  }
  sqlite3_busy_timeout(database, 5000);
  std::vector<SeenRow> rows;
  each_row(
      database,
      "SELECT request_id, outcome, status, usage_source, prompt_tokens, cached_tokens, completion_tokens, "
      "price_nanousd, session, ttft_seconds IS NOT NULL FROM requests ORDER BY rowid",
      [&](sqlite3_stmt* row) {
        rows.push_back({.request_id = text(row, 0),
                        .outcome = text(row, 1),
                        .status = sqlite3_column_int(row, 2),
                        .usage_source = text(row, 3),
                        .prompt = number(row, 4),
                        .cached = number(row, 5),
                        .completion = number(row, 6),
                        .price = number(row, 7),
                        .session = text(row, 8),
                        .has_ttft = sqlite3_column_int(row, 9) != 0,
                        .replicas = {}});
      });
  for (SeenRow& seen : rows) {
    each_row(database,
             "SELECT replica FROM charges WHERE request_id = '" + seen.request_id + "' ORDER BY attempt",
             [&](sqlite3_stmt* row) { seen.replicas.push_back(text(row, 0)); });
  }
  sqlite3_close(database);
  return rows;
}

}  // namespace

RunningGateway::RunningGateway(Options options)
    : folder_(own_folder()), file_(folder_ / "ledger.db"), config_(make_config(options)) {
  ledger_ = std::make_unique<SqliteLedger>(file_);
  fleet_ = std::make_unique<LiveFleet>(config_.fleet, PriceBook{config_.price_schedules},
                                       std::chrono::steady_clock::now(), std::chrono::system_clock::now());
  metrics_ = std::make_unique<Metrics>(registry_, config_.fleet);
  gateway_ =
      std::make_unique<Gateway>(loop_, GatewayParts{config_, *fleet_, decisions_, *ledger_, *metrics_});
  gateway_->start();
  port_ = gateway_->port();
  thread_ = std::thread([this] {
    const auto work = boost::asio::make_work_guard(loop_);
    loop_.run();
  });
}

RunningGateway::~RunningGateway() {
  cut();
  drain_and_wait();
  loop_.stop();
  thread_.join();
  gateway_.reset();
  ledger_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::vector<SeenRow> RunningGateway::rows(std::size_t count) const {
  std::vector<SeenRow> seen;
  wait_until([&] {
    seen = read_rows(file_);
    return seen.size() >= count;
  });
  return seen;
}

void RunningGateway::on_loop(const std::function<void()>& action) {
  std::promise<void> done;
  boost::asio::post(loop_, [&] {
    action();
    done.set_value();
  });
  done.get_future().wait();
}

bool RunningGateway::in_rotation(std::uint32_t replica) {
  bool serving = false;
  on_loop([&] { serving = fleet_->fleet()[ReplicaIndex{replica}].health.serving(); });
  return serving;
}

std::size_t RunningGateway::in_flight(std::uint32_t replica) {
  std::size_t count = 0;
  on_loop([&] { count = fleet_->fleet()[ReplicaIndex{replica}].in_flight.size(); });
  return count;
}

bool RunningGateway::settles_down() {
  return wait_until([this] {
    std::size_t total = 0;
    for (std::uint32_t i = 0; i < config_.access.size(); ++i) total += in_flight(i);
    return total == 0;
  });
}

bool RunningGateway::waits_for_queue(std::size_t count) {
  return wait_until([&] {
    double waiting = 0;
    for (const auto& family : registry_.Collect()) {
      if (family.name != "fareway_queue_requests") continue;
      for (const auto& metric : family.metric) waiting += metric.gauge.value;
    }
    return waiting == static_cast<double>(count);
  });
}

std::string RunningGateway::metrics_page() const {
  return prometheus::TextSerializer().Serialize(registry_.Collect());
}

void RunningGateway::reload_certificates() {
  std::exception_ptr thrown;
  on_loop([&] {
    try {
      gateway_->reload_certificates();
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  if (thrown) std::rethrow_exception(thrown);
}

void RunningGateway::drain_and_wait() {
  auto drained = std::make_shared<std::promise<void>>();
  boost::asio::post(loop_, [this, drained] { gateway_->drain([drained] { drained->set_value(); }); });
  drained->get_future().wait_for(kPatience);
}

void RunningGateway::cut() {
  on_loop([this] { static_cast<void>(gateway_->cut()); });
}

std::string post(std::string_view body, std::string_view path, std::string_view extra) {
  return "POST " + std::string(path) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + std::string(kKey) +
         "\r\nContent-Type: application/json\r\n" + std::string(extra) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

namespace {

std::string chat_event(std::string_view choices, std::string_view rest = {}) {
  return R"(data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[)" +
         std::string(choices) + "]" + std::string(rest) + "}\n\n";
}

}  // namespace

std::string event(std::string_view text) {
  return chat_event(R"({"index":0,"delta":{"content":")" + std::string(text) + R"("},"finish_reason":null})");
}
std::string role_event() {
  return chat_event(R"({"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null})");
}
std::string finish_event(std::string_view reason) {
  return chat_event(R"({"index":0,"delta":{},"finish_reason":")" + std::string(reason) + R"("})");
}
std::string usage_event(int prompt, int completion) {
  return chat_event({}, R"(,"usage":{"prompt_tokens":)" + std::to_string(prompt) +
                            R"(,"completion_tokens":)" + std::to_string(completion) + R"(,"total_tokens":)" +
                            std::to_string(prompt + completion) + "}");
}
std::string chunk(std::string_view bytes) {
  char size[17];
  std::snprintf(size, sizeof size, "%zx", bytes.size());
  return std::string(size) + "\r\n" + std::string(bytes) + "\r\n";
}
std::string json_answer(std::string_view body) {
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}
std::string chat_answer(int prompt, int completion) {
  return json_answer(
      R"({"id":"c1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",)"
      R"("content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":)" +
      std::to_string(prompt) + R"(,"completion_tokens":)" + std::to_string(completion) + "}}");
}

}  // namespace fareway::testing
