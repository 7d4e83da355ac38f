#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "placement/catalogue/measurements.hpp"
#include "placement/model/capacity_question.hpp"
#include "placement/speed/comparison.hpp"
#include "router/cli/commands.hpp"
#include "router/cli/cost_chart.hpp"
#include "router/cli/model_questions.hpp"
#include "router/cli/price_file.hpp"
#include "router/config/problems.hpp"
#include "router/config/quantity_text.hpp"

namespace fareway {
namespace {

using Json = nlohmann::ordered_json;

/// Everything one comparison has found.
struct Comparison {
  const Model* model{};
  DevicePrices prices;
  ComparisonLoad load;
  std::vector<DeploymentCurve> curves;

  double interactivity() const { return load.tpot ? 1 / load.tpot->count() : 0; }
  const std::string& name(std::size_t index) const { return curves[index].offer.deployment.text; }
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> pieces(1);
  for (const char letter : text) {
    if (letter == ',') {
      pieces.emplace_back();
    } else if (letter != ' ') {
      pieces.back() += letter;
    }
  }
  return pieces;
}

void read_slo(const std::string& text, ComparisonLoad& load) {
  if (text.empty()) return;
  for (const std::string& piece : split(text)) {
    const std::size_t equals = piece.find('=');
    const std::string key = piece.substr(0, equals);
    if (equals == std::string::npos || (key != "tpot" && key != "ttft"))
      throw UsageError(fmt::format("--slo: \"{}\" is neither tpot=TIME nor ttft=TIME", piece));
    const auto time = parse_seconds(piece.substr(equals + 1));
    if (!time) throw UsageError(fmt::format("--slo: {}: {}", key, time.error().what));
    if (time->count() <= 0) throw UsageError(fmt::format("--slo: {} must be more than zero", key));
    (key == "tpot" ? load.tpot : load.ttft) = *time;
  }
}

double asked_tokens(std::string_view option, std::int64_t tokens) {
  if (tokens < 1) throw UsageError(fmt::format("--{}: {} is not a number of tokens from 1", option, tokens));
  return static_cast<double>(tokens);
}

Comparison compared(const CompareOptions& options) {
  Comparison found{.model = &asked_model(options.model),
                   .prices = options.price_file.empty() ? example_prices() : load_prices(options.price_file)};
  found.load = {.input_tokens = asked_tokens("input-tokens", options.input_tokens),
                .output_tokens = asked_tokens("output-tokens", options.output_tokens)};
  check_context(*found.model, options.input_tokens + options.output_tokens);
  read_slo(options.slo, found.load);
  for (const std::string& text : split(options.deployments)) {
    PricedDeployment offer{.deployment = asked_deployment(*found.model, "deployments", text)};
    const auto price = found.prices.of(offer.deployment.device->name);
    if (!price)
      throw UsageError(
          fmt::format("--prices: no price of {}; give a file that has one", offer.deployment.device->name));
    offer.per_device_hour = *price;
    found.curves.push_back(curve_of(offer, found.load, kDefaultReservePerDevice));
  }
  return found;
}

Json json_of(const Comparison& found, const std::vector<RankedOffer>& order) {
  Json list = Json::array();
  for (const RankedOffer& each : order) {
    const DeploymentCurve& curve = found.curves[each.index];
    list.push_back({{"deployment", found.name(each.index)},
                    {"devices", curve.offer.deployment.parallelism.devices()},
                    {"usd_per_device_hour", curve.offer.per_device_hour.value},
                    {"tokens_per_second", each.tokens_per_second},
                    {"tokens_per_second_per_usd_hour", each.tokens_per_dollar_hour},
                    {"usd_per_mtok", each.per_mtok.value},
                    {"break_even_usd_per_device_hour", each.break_even_device_hour.value},
                    {"extrapolated", each.extrapolated},
                    {"notes", each.extrapolated ? Json::array({kExtrapolationNote}) : Json::array()}});
  }
  return list;
}

Json json_of(const DeploymentCurve& curve) {
  const SpeedBasis& basis = curve.estimate.basis;
  Json points = Json::array();
  for (const OperatingPoint& point : curve.frontier.points())
    points.push_back({{"tokens_per_second_user", point.interactivity},
                      {"tokens_per_second", point.throughput},
                      {"usd_per_mtok", curve.dollars_an_hour() / point.throughput / 3600 * 1e6},
                      {"extrapolated", point.extrapolated}});
  return {{"deployment", curve.offer.deployment.text},
          {"format", to_string(curve.offer.deployment.format)},
          {"tier", to_string(basis.tier)},
          {"basis", basis.text},
          {"error_median", basis.tpot_error ? Json(*basis.tpot_error) : Json()},
          {"ttft_cold_seconds", curve.cold_ttft.count()},
          {"excluded", curve.excluded.empty() ? Json() : Json(curve.excluded)},
          {"curve", points}};
}

void print_json(const Comparison& found) {
  Json json{{"model", found.model->name},
            {"input_tokens", found.load.input_tokens},
            {"output_tokens", found.load.output_tokens},
            {"tokens_per_second_user", found.interactivity()},
            {"prices", {{"source", found.prices.source}, {"as_of", found.prices.as_of}}},
            {"ranking", json_of(found, ranked_at(found.curves, found.interactivity()))},
            {"as_published", json_of(found, ranked_as_published(found.curves))}};
  json["flips"] = Json::array();
  for (const Flip& flip : flips(found.curves))
    json["flips"].push_back({{"tokens_per_second_user", flip.interactivity},
                             {"from", found.name(flip.from)},
                             {"to", found.name(flip.to)}});
  json["deployments"] = Json::array();
  for (const DeploymentCurve& curve : found.curves) json["deployments"].push_back(json_of(curve));
  std::cout << json.dump(2) << '\n';
}

void print_ranking(const Comparison& found, const std::vector<RankedOffer>& order) {
  std::cout << fmt::format("  {:<24}{:>9}{:>9}{:>15}{:>12}{:>16}  {}\n", "deployment", "$/dev-h", "tok/s",
                           "tok/s per $/h", "$/Mtok out", "break-even $/h", "speed");
  for (const RankedOffer& each : order) {
    const DeploymentCurve& curve = found.curves[each.index];
    const SpeedBasis& basis = curve.estimate.basis;
    std::cout << fmt::format("  {:<24}{:>9.2f}{:>9.0f}{:>15.1f}{:>12.3f}{:>16.2f}  {}{}{}\n",
                             found.name(each.index), curve.offer.per_device_hour.value,
                             each.tokens_per_second, each.tokens_per_dollar_hour, each.per_mtok.value,
                             each.break_even_device_hour.value, to_string(basis.tier),
                             basis.tpot_error ? fmt::format(", {:.0f} %", 100 * *basis.tpot_error) : "",
                             each.extrapolated ? fmt::format("; {}", kExtrapolationNote) : "");
  }
}

void print_left_out(const Comparison& found, const std::vector<RankedOffer>& order) {
  for (std::size_t i = 0; i < found.curves.size(); ++i) {
    if (std::ranges::any_of(order, [&](const RankedOffer& each) { return each.index == i; })) continue;
    const DeploymentCurve& curve = found.curves[i];
    std::cout << fmt::format("  {:<24}{}\n", found.name(i),
                             curve.excluded.empty()
                                 ? fmt::format("no: {:.1f} tok/s a user at best", curve.frontier.fastest())
                                 : "no: " + curve.excluded);
  }
}

void print(const Comparison& found) {
  const double interactivity = found.interactivity();
  std::cout << fmt::format("{}, {:.0f} tokens in, {:.0f} out\nprices: {}{}\n\n", found.model->name,
                           found.load.input_tokens, found.load.output_tokens, found.prices.source,
                           found.prices.as_of.empty() ? "" : ", as of " + found.prices.as_of);
  std::cout << (interactivity > 0 ? fmt::format("at {:.1f} tok/s a user and more:\n", interactivity)
                                  : std::string{"at the most throughput, however slow each user:\n"});
  const std::vector<RankedOffer> order = ranked_at(found.curves, interactivity);
  print_ranking(found, order);
  print_left_out(found, order);
  const std::vector<RankedOffer> published = ranked_as_published(found.curves);
  if (!published.empty()) {
    std::cout << "\nas published, in aggregate:\n";
    print_ranking(found, published);
  }
  std::cout << '\n';
  const std::vector<Flip> changes = flips(found.curves);
  for (const Flip& flip : changes)
    std::cout << fmt::format("from {:.1f} tok/s a user on, {} is cheaper than {}\n", flip.interactivity,
                             found.name(flip.to), found.name(flip.from));
  if (changes.empty()) std::cout << "the cheapest stays the cheapest at every speed\n";
}

void write_chart(const Comparison& found, const std::filesystem::path& file) {
  std::vector<ChartLine> lines;
  for (const DeploymentCurve& curve : found.curves) {
    ChartLine line{.name = curve.offer.deployment.text};
    for (const OperatingPoint& point : curve.frontier.points())
      line.points.push_back({point.interactivity, curve.dollars_an_hour() / point.throughput / 3600 * 1e6});
    if (!line.points.empty()) lines.push_back(std::move(line));
  }
  const std::string subtitle = fmt::format(
      "{:.0f} tokens in, {:.0f} out; prices: {}{}", found.load.input_tokens, found.load.output_tokens,
      found.prices.source, found.prices.as_of.empty() ? "" : ", as of " + found.prices.as_of);
  std::ofstream stream{file, std::ios::binary};
  stream << cost_chart(found.model->name + ": cost against interactivity", subtitle, lines,
                       found.interactivity());
  if (!stream.flush()) throw std::runtime_error(fmt::format("--svg: {} cannot be written", file.string()));
}

}  // namespace

int print_comparison(const CompareOptions& options) {
  const Comparison found = compared(options);
  if (!options.svg_file.empty()) write_chart(found, options.svg_file);
  if (options.json) {
    print_json(found);
  } else {
    print(found);
  }
  return 0;
}

}  // namespace fareway
