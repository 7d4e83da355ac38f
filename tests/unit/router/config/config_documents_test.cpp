// Keeps docs/configuration.md and deploy/fareway.example.yaml true: every key the parser knows is in both,
// the reference invents none, and the defaults it states are the real ones.

#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "router/config/draft.hpp"
#include "tests/unit/router/config/config_text.hpp"

namespace fareway {
namespace {

using testing::replaced;
using testing::small_config;

std::string read(const std::string& file) {
  std::ifstream in(std::string(FAREWAY_SOURCE_DIR "/") + file);
  EXPECT_TRUE(in) << file;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Row {
  std::string value;
  std::optional<std::string> default_value;  ///< where the cell is nothing but code
};

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::optional<std::string> code(const std::string& cell) {
  const std::string text = trimmed(cell);
  if (text.size() < 2 || text.front() != '`' || text.find('`', 1) != text.size() - 1) return std::nullopt;
  return text.substr(1, text.size() - 2);
}

/// Rows of four cells whose first is code: the reference of keys.
std::map<std::string, Row> documented_keys() {
  std::map<std::string, Row> rows;
  std::istringstream lines(read("docs/configuration.md"));
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells;
    std::istringstream in(line);
    for (std::string cell; std::getline(in, cell, '|');) cells.push_back(cell);
    constexpr std::size_t kCells = 5;  // and the empty one before the first bar
    if (cells.size() < kCells) continue;
    if (const auto key = code(cells[1])) rows[*key] = {trimmed(cells[2]), code(cells[3])};
  }
  return rows;
}

/// Every path in `node`, without positions.
void collect_keys(const YamlNode& node, const std::string& path, std::set<std::string>& keys) {
  for (const auto& item : node.items) collect_keys(*item, path + "[]", keys);
  for (const auto& entry : node.entries) {
    const std::string inner = path.empty() ? entry.key : path + "." + entry.key;
    keys.insert(inner);
    collect_keys(*entry.value, inner, keys);
  }
}

class ConfigDocuments : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("ENGINE_API_KEY", "sk-engine", 1);
    ReadingState state;
    const auto root = read_yaml(read("deploy/fareway.example.yaml"), state.problems);
    ASSERT_TRUE(root);
    read_config(*root, state);
    for (const auto& problem : state.problems.sorted()) ADD_FAILURE() << problem.line << ": " << problem.what;
    known_ = state.known_keys;
    collect_keys(*root, {}, given_);
  }
  void TearDown() override { ::unsetenv("ENGINE_API_KEY"); }

  std::set<std::string> known_;  ///< what the parser asks for
  std::set<std::string> given_;  ///< what the example gives
};

TEST_F(ConfigDocuments, ReferenceNamesEveryKeyAndInventsNone) {
  const auto documented = documented_keys();
  std::set<std::string> names;
  for (const auto& [key, row] : documented) {
    names.insert(key);
    EXPECT_FALSE(row.value.empty()) << key;
  }
  EXPECT_EQ(names, known_);
}

TEST_F(ConfigDocuments, ExampleShowsEveryKey) {
  EXPECT_EQ(given_, known_);
}

TEST_F(ConfigDocuments, ReferenceStatesTheDefaultsOfTheProcess) {
  const auto documented = documented_keys();
  std::string text = replaced(small_config(), "listen: \"127.0.0.1:0\"\n", "");
  const Config implied = parse_config(text, "test.yaml");
  for (const char* key : {"listen", "admin"})
    text += std::string(key) + ": \"" + *documented.at(key).default_value + "\"\n";
  text += "ledger: {file: " + *documented.at("ledger.file").default_value + "}\n";
  text += "emulator: {time_scale: " + *documented.at("emulator.time_scale").default_value + "}\n";
  text += "limits:\n";
  for (const auto& [key, row] : documented) {
    if (key.starts_with("limits."))
      text += "  " + key.substr(7) + ": " + row.default_value.value_or("none") + "\n";
  }
  text += "queue:\n";
  for (const auto& [key, row] : documented) {
    if (key.starts_with("queue."))
      text += "  " + key.substr(6) + ": " + row.default_value.value_or("none") + "\n";
  }
  const Config stated = parse_config(text, "test.yaml");

  EXPECT_EQ(stated.queue.max_requests, implied.queue.max_requests);
  EXPECT_EQ(stated.queue.max_bytes, implied.queue.max_bytes);
  EXPECT_EQ(stated.queue.max_wait, implied.queue.max_wait);
  EXPECT_EQ(stated.listen.host, implied.listen.host);
  EXPECT_EQ(stated.listen.port, implied.listen.port);
  EXPECT_EQ(stated.admin.host, implied.admin.host);
  EXPECT_EQ(stated.admin.port, implied.admin.port);
  EXPECT_EQ(stated.ledger_file, implied.ledger_file);
  EXPECT_EQ(stated.emulator_time_scale, implied.emulator_time_scale);
  EXPECT_EQ(stated.limits.max_body_bytes, implied.limits.max_body_bytes);
  EXPECT_EQ(stated.limits.max_connections, implied.limits.max_connections);
  EXPECT_EQ(stated.limits.header_timeout, implied.limits.header_timeout);
  EXPECT_EQ(stated.limits.body_idle_timeout, implied.limits.body_idle_timeout);
  EXPECT_EQ(stated.limits.keep_alive_timeout, implied.limits.keep_alive_timeout);
  EXPECT_EQ(stated.limits.connect_timeout, implied.limits.connect_timeout);
  EXPECT_EQ(stated.limits.first_byte_timeout, implied.limits.first_byte_timeout);
  EXPECT_EQ(stated.limits.idle_timeout, implied.limits.idle_timeout);
  EXPECT_EQ(stated.limits.write_stall_timeout, implied.limits.write_stall_timeout);
  EXPECT_EQ(stated.limits.upstream_idle, implied.limits.upstream_idle);
  EXPECT_EQ(stated.limits.drain_timeout, implied.limits.drain_timeout);
  EXPECT_EQ(stated.limits.max_attempts, implied.limits.max_attempts);
}

TEST_F(ConfigDocuments, ReferenceStatesTheDefaultsOfADeployment) {
  const auto documented = documented_keys();
  const auto stated_as = [&](const std::string& key) {
    return key.substr(key.rfind('.') + 1) + ": " + documented.at(key).default_value.value_or("none");
  };
  std::string degrees;
  for (const char* key : {"tp", "pp", "ep", "dp", "dcp"}) {
    degrees += (degrees.empty() ? "" : ", ") + stated_as(std::string("deployments[].parallelism.") + key);
  }
  const std::string text =
      replaced(small_config(), "    weights: 16GB\n",
               "    weights: 16GB\n    parallelism: {" + degrees + "}\n    " +
                   stated_as("deployments[].reserve_per_device") + "\n    " +
                   stated_as("deployments[].memory_utilisation") + "\n    " +
                   stated_as("deployments[].kv_dtype") + "\n    " + stated_as("deployments[].seats") +
                   "\n    " + stated_as("deployments[].chunk_tokens") + "\n");
  const Deployment stated = parse_config(text, "test.yaml").fleet.deployments[0];
  const Deployment implied = parse_config(small_config(), "test.yaml").fleet.deployments[0];

  EXPECT_EQ(stated.parallelism, implied.parallelism);
  EXPECT_EQ(stated.kv_format, implied.kv_format);
  EXPECT_EQ(stated.capacity.kv_pool, implied.capacity.kv_pool);
  EXPECT_EQ(stated.seats, implied.seats);
  EXPECT_EQ(stated.chunk, implied.chunk);
}

TEST_F(ConfigDocuments, ExampleStatesTheDefaultLimitsAndClasses) {
  const Config example = load_config(FAREWAY_SOURCE_DIR "/deploy/fareway.example.yaml");
  const Config implied = parse_config(small_config(), "test.yaml");
  EXPECT_EQ(example.limits.max_body_bytes, implied.limits.max_body_bytes);
  EXPECT_EQ(example.limits.first_byte_timeout, implied.limits.first_byte_timeout);
  EXPECT_EQ(example.limits.drain_timeout, implied.limits.drain_timeout);
  ASSERT_GE(example.fleet.classes.size(), implied.fleet.classes.size());
  for (std::size_t i = 0; i < implied.fleet.classes.size(); ++i) {
    const ServiceClass& shown = example.fleet.classes[i];
    const ServiceClass& real = implied.fleet.classes[i];
    EXPECT_EQ(shown.name, real.name);
    EXPECT_EQ(shown.ttft, real.ttft);
    EXPECT_EQ(shown.ttft_per_prompt_token, real.ttft_per_prompt_token);
    EXPECT_EQ(shown.tpot, real.tpot);
    EXPECT_EQ(shown.deadline, real.deadline);
    EXPECT_EQ(shown.tpot_over, real.tpot_over);
    EXPECT_EQ(shown.miss, real.miss);
    EXPECT_EQ(shown.attainment, real.attainment);
  }
}

}  // namespace
}  // namespace fareway
