#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "router/config/draft.hpp"
#include "router/config/quantity_text.hpp"
#include "router/config/value_parsers.hpp"

namespace fareway {
namespace {

using namespace std::chrono_literals;

/// What the study counts TPOT over.
constexpr Tokens kTpotOver{50};

/// The classes of a file that defines none. The targets are those of the study in docs/placement.md.
std::vector<ServiceClass> default_classes() {
  return {{.name = "interactive",
           .ttft = 1s,
           .ttft_per_prompt_token = 200us,
           .tpot = 40ms,
           .tpot_over = kTpotOver,
           .deadline = std::nullopt,
           .miss = {0.02}},
          {.name = "standard",
           .ttft = 3s,
           .ttft_per_prompt_token = 400us,
           .tpot = 100ms,
           .tpot_over = kTpotOver,
           .deadline = std::nullopt,
           .miss = {0.01}},
          {.name = "batch",
           .ttft = std::nullopt,
           .ttft_per_prompt_token = 0s,
           .tpot = std::nullopt,
           .tpot_over = kTpotOver,
           .deadline = 300s,
           .miss = {0.005}}};
}

Checked<double> attainment_value(const YamlNode& node) {
  const Checked<double> share = decimal_value(node);
  if (share && (*share <= 0 || *share >= 1)) return Complaint{"must be more than 0 and less than 1, as 0.99"};
  return share;
}

Checked<std::string> generation_path(const YamlNode& node) {
  Checked<std::string> path = text_value(node);
  if (!path) return path;
  const auto paths = generation_paths();
  if (std::ranges::find(paths, *path) != paths.end()) return path;
  return Complaint{fmt::format("{} is no path of the client API; {}", in_quotes(*path),
                               suggestion(*path, std::vector<std::string>(paths.begin(), paths.end())))};
}

ServiceClass read_class(Section& section) {
  const auto time = positive(from_text(parse_seconds));
  ServiceClass result;
  result.tpot_over = kTpotOver;
  result.name = section.required("name", name_value);
  result.ttft = section.optional("ttft", time);
  section.read_into("ttft_per_prompt_token", from_text(parse_seconds), result.ttft_per_prompt_token);
  result.tpot = section.optional("tpot", time);
  section.read_into("tpot_over_tokens", tokens(), result.tpot_over);
  result.deadline = section.optional("deadline", time);
  result.miss = to_usd(section.optional("miss_usd", positive(usd_value)).value_or(NanoUsd{}));
  result.miss_per_second =
      to_usd(section.optional("miss_usd_per_second", positive(usd_value)).value_or(NanoUsd{}));
  section.read_into("attainment", attainment_value, result.attainment);
  if (section.ok() && result.miss <= Usd{} && result.miss_per_second <= Usd{}) {
    section.report("says nothing of what a miss is worth; give miss_usd, miss_usd_per_second or both");
  }
  if (section.ok() && !result.ttft && !result.tpot && !result.deadline) {
    section.report("has no target; give at least one of ttft, tpot, deadline");
  }
  if (section.ok() && !result.ttft && section.has("ttft_per_prompt_token")) {
    section.report("ttft_per_prompt_token", "only adds to ttft; give ttft too");
  }
  if (section.ok() && !result.tpot && section.has("tpot_over_tokens")) {
    section.report("tpot_over_tokens", "says how tpot is counted; give tpot too");
  }
  return result;
}

}  // namespace

std::span<const std::string_view> generation_paths() {
  static constexpr std::array<std::string_view, 5> kPaths{"/v1/chat/completions", "/v1/completions",
                                                          "/v1/embeddings", "/v1/responses", "/v1/messages"};
  return kPaths;
}

bool ApiKey::allows(ClassIndex service_class) const {
  return classes.empty() || std::ranges::find(classes, service_class) != classes.end();
}

bool ClassDefault::applies(std::string_view request_path, ModelIndex request_model) const {
  return (path.empty() || path == request_path) && (!model || *model == request_model);
}

void read_classes(Section& top, ConfigDraft& draft) {
  std::vector<ServiceClass>& classes = draft.config.fleet.classes;
  top.for_each("classes", [&](Section& section) {
    ServiceClass service_class = read_class(section);
    draft.classes.define(section, "name", service_class.name, section.ok());
    classes.push_back(std::move(service_class));
  });
  if (!classes.empty()) return;
  classes = default_classes();
  for (const ServiceClass& service_class : classes) draft.classes.define_if_new(service_class.name);
}

void read_class_defaults(Section& top, ConfigDraft& draft) {
  top.for_each("class_defaults", [&](Section& section) {
    ClassDefault entry;
    section.read_into("path", generation_path, entry.path);
    if (const auto model = section.optional("model", draft.models)) entry.model = ModelIndex{*model};
    entry.service_class = ClassIndex{section.required("class", draft.classes)};
    if (section.ok() && entry.path.empty() && !entry.model) {
      section.report("applies to every request; give path, model or both, or default_class of the keys");
    }
    draft.config.class_defaults.push_back(std::move(entry));
  });
}

}  // namespace fareway
