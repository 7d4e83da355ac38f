#include <exception>
#include <iostream>
#include <map>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "router/cli/commands.hpp"
#include "router/config/config.hpp"

namespace {

constexpr int kFailed = 1;
constexpr int kBadInput = 2;

using fareway::ReportKey;
const std::map<std::string, ReportKey> kReportKeys{{"tenant", ReportKey::kTenant},
                                                   {"model", ReportKey::kModel},
                                                   {"pool", ReportKey::kPool},
                                                   {"class", ReportKey::kClass}};

/// Command line and what it fills in; `run` calls the command that was named.
class CommandLine {
 public:
  CommandLine() {
    app_.set_version_flag("--version", "fareway " FAREWAY_VERSION);
    app_.require_subcommand(1);
    with_config(serve_)->required();
    with_config(check_)->required();
    with_config(emulate_)->required();
    emulate_->add_option("--pool", pools_, "Only this pool; may be given more than once");

    auto* id = explain_->add_option("id", request_id_, "Request id, as x-request-id of an answer");
    auto* request = explain_->add_option("--request", explain_options_.request_file,
                                         "A request body that is not sent; - is standard input");
    id->excludes(request);
    explain_->add_option("--admin", explain_options_.admin, "Admin listener, as http://127.0.0.1:9090");
    with_config(explain_)->needs(request)->description(
        "With --request: decide on an idle fleet of this configuration");
    explain_->add_option("--path", explain_options_.path, "Where it would be sent")->capture_default_str();
    explain_->add_option("--key", explain_options_.key,
                         "Id of the key; the first one of the configuration else");
    explain_->add_option("--class", explain_options_.service_class, "Service class");
    explain_->add_option("--session", explain_options_.session, "Session id");

    ledger_->require_subcommand(1);
    auto* file = report_->add_option("--ledger", report_options_.ledger_file, "Ledger file");
    with_config(report_)->excludes(file);
    report_->add_option("--by", report_key_, "tenant, model, pool or class")
        ->check(CLI::IsMember({"tenant", "model", "pool", "class"}))
        ->capture_default_str();
    report_->add_option("--since", report_options_.since, "24h, 7d, 2026-11-30 or 2026-11-30T12:00:00Z");
    report_->add_option("--until", report_options_.until, "The same, exclusive");
    report_->add_flag("--json", report_options_.json, "Every nanodollar, for programs");
    add_capacity_options();
    add_speed_options();
    add_compare_options();
    add_simulate();
  }

  /// The exit code where nothing is left to run: after --help, --version or a line that cannot be read.
  std::optional<int> parse(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
      return std::nullopt;
    } catch (const CLI::ParseError& error) {
      return app_.exit(error) == 0 ? 0 : kBadInput;
    }
  }

  int run() {
    if (serve_->parsed()) return fareway::serve(config_file_);
    if (check_->parsed()) return fareway::check(config_file_);
    if (speed_->parsed()) return fareway::print_speed(speed_options_);
    if (compare_->parsed()) return fareway::print_comparison(compare_options_);
    if (emulate_->parsed()) return fareway::emulate(config_file_, pools_);
    if (capacity_->parsed()) return fareway::print_capacity(capacity_options_);
    if (explain_->parsed()) return explain();
    if (simulate_->parsed()) return fareway::simulate_placement(simulate_options_);
    if (report_options_.ledger_file.empty()) {
      if (config_file_.empty())
        throw std::runtime_error("ledger report needs --ledger FILE or --config FILE");
      report_options_.ledger_file = fareway::load_config(config_file_).ledger_file;
    }
    report_options_.by = kReportKeys.at(report_key_);
    return fareway::print_report(report_options_);
  }

 private:
  CLI::Option* with_config(CLI::App* command) {
    return command->add_option("--config", config_file_, "Configuration file, YAML or JSON");
  }

  void add_capacity_options() {
    fareway::CapacityOptions& options = capacity_options_;
    capacity_->add_option("--config", options.config_file,
                          "Configuration file whose models and devices are known too");
    capacity_->add_option("--model", options.model, "Model of the catalogue, or of the configuration")
        ->required();
    capacity_->add_option("--device", options.device, "Device of the catalogue, or of the configuration")
        ->required();
    capacity_->add_option("--context", options.context, "Tokens of prompt and answer")->required();
    capacity_->add_option("--devices", options.devices, "How many; alone: one TP group of so many");
    capacity_->add_option("--tp", options.tp, "Tensor parallel");
    capacity_->add_option("--pp", options.pp, "Pipeline parallel");
    capacity_->add_option("--ep", options.ep, "Expert parallel");
    capacity_->add_option("--dp", options.dp, "Data parallel attention");
    capacity_->add_option("--dcp", options.dcp, "Decode context parallel");
    capacity_->add_option("--format", options.format, "Checkpoint format; the publisher's own if left out");
    capacity_->add_option("--kv-dtype", options.kv_dtype, "bf16 or fp8")->capture_default_str();
    capacity_->add_option("--reserve-gib", options.reserve_gib, "Runtime reserve of each device, GiB; 8");
    capacity_
        ->add_option("--utilisation", options.utilisation, "Share of the memory that the engine may take")
        ->capture_default_str();
    capacity_->add_option("--engine", options.engine, "vllm, llamacpp ...; any if left out");
    capacity_->add_option("--engine-version", options.engine_version, "0.10.1; the newest if left out");
    capacity_->add_flag("--json", options.json, "For programs");
  }

  int explain() {
    if (!request_id_.empty()) return fareway::explain_decision(request_id_, explain_options_.admin);
    if (explain_options_.request_file.empty())
      throw std::runtime_error("explain needs a request id or --request FILE");
    explain_options_.config_file = config_file_;
    return fareway::explain_request(explain_options_);
  }

  void add_speed_options() {
    speed_->add_option("--model", speed_options_.model, "A model of the catalogue")->required();
    speed_
        ->add_option("--deployment", speed_options_.deployment,
                     "Such as MI300X, 8xMI355X, MI355X:tp8, B200:2x8:tp16, B300:tp8:dcp8:fp8, B200:tp4:mtp3")
        ->required();
    speed_->add_option("--context", speed_options_.context, "Tokens of each sequence")->required();
    speed_->add_option("--batch", speed_options_.batch, "Sequences decoded at once")->capture_default_str();
    speed_->add_flag("--json", speed_options_.json, "For programs");
  }

  void add_compare_options() {
    compare_->add_option("--model", compare_options_.model, "A model of the catalogue")->required();
    compare_->add_option("--deployments", compare_options_.deployments, "As for speed, separated by commas")
        ->required();
    compare_->add_option("--prices", compare_options_.price_file,
                         "YAML or JSON, see deploy/prices.example.yaml");
    compare_->add_option("--slo", compare_options_.slo, "tpot=40ms,ttft=2s, either or both");
    compare_->add_option("--input-tokens", compare_options_.input_tokens)->capture_default_str();
    compare_->add_option("--output-tokens", compare_options_.output_tokens)->capture_default_str();
    compare_->add_option("--svg", compare_options_.svg_file, "Write cost against interactivity as a chart");
    compare_->add_flag("--json", compare_options_.json, "For programs");
  }

  void add_simulate() {
    simulate_
        ->add_option("--suite", simulate_options_.suite,
                     "placement: every policy on every trace; elastic: replicas come and go")
        ->check(CLI::IsMember({"placement", "elastic"}))
        ->capture_default_str();
    auto* data = simulate_
                     ->add_option("--data", simulate_options_.data,
                                  "Folder of the recorded traces; without, a generated one")
                     ->check(CLI::ExistingDirectory);
    simulate_->add_option("--trace", simulate_options_.trace, "Only conv, code, mooncake, synthetic or mix")
        ->needs(data);
    simulate_->add_option("--seeds", simulate_options_.seeds, "Repetitions with other gaps between arrivals")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    simulate_->add_option("--jobs", simulate_options_.jobs, "Threads; the result does not depend on it")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    simulate_->add_flag("--quick", simulate_options_.quick,
                        "Only goodput of the strongest policies, shorter runs");
    simulate_->add_flag("--json", simulate_options_.json, "Everything measured, for programs");
    simulate_->add_option("--svg", simulate_options_.svg, "Folder to write attainment curves to");
  }

  CLI::App app_{"Fareway: a cost-aware router for mixed GPU fleets"};
  CLI::App* serve_{app_.add_subcommand("serve", "Run the gateway")};
  CLI::App* check_{app_.add_subcommand("check", "Check a configuration file")};
  CLI::App* emulate_{
      app_.add_subcommand("emulate", "Run emulated engines for the replicas of a configuration")};
  CLI::App* explain_{app_.add_subcommand("explain", "Say why a request goes where it goes")};
  CLI::App* ledger_{app_.add_subcommand("ledger", "Read the ledger")};
  CLI::App* report_{ledger_->add_subcommand("report", "Requests, tokens and dollars, summed")};
  CLI::App* capacity_{app_.add_subcommand("capacity", "What fits on which devices, and why")};
  CLI::App* speed_{app_.add_subcommand("speed", "How fast a model decodes and prefills on a deployment")};
  CLI::App* compare_{
      app_.add_subcommand("compare", "Which deployment serves a model for the fewest dollars")};
  CLI::App* simulate_{app_.add_subcommand("simulate", "Try placement policies on a simulated fleet")};
  fareway::SimulateOptions simulate_options_;
  std::filesystem::path config_file_;
  std::vector<std::string> pools_;
  std::string report_key_{"tenant"};
  fareway::ReportOptions report_options_;
  fareway::CapacityOptions capacity_options_;
  std::string request_id_;
  fareway::ExplainOptions explain_options_;
  fareway::SpeedOptions speed_options_;
  fareway::CompareOptions compare_options_;
};

}  // namespace

int main(int argc, char** argv) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("fareway"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  try {
    CommandLine command_line;
    if (const std::optional<int> code = command_line.parse(argc, argv)) return *code;
    return command_line.run();
  } catch (const fareway::ConfigError& error) {
    std::cerr << error.what() << '\n';
    return kBadInput;
  } catch (const fareway::UsageError& error) {
    std::cerr << error.what() << '\n';
    return kBadInput;
  } catch (const std::exception& error) {
    std::cerr << "fareway: " << error.what() << '\n';
    return kFailed;
  }
}
