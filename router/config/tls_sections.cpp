#include <array>
#include <optional>
#include <utility>

#include "router/config/draft.hpp"
#include "router/config/value_parsers.hpp"

namespace fareway {
namespace {

constexpr std::array<std::pair<std::string_view, TlsVersion>, 2> kVersions{
    {{"1.2", TlsVersion::k12}, {"1.3", TlsVersion::k13}}};

}  // namespace

void read_tls(Section& top, ConfigDraft& draft) {
  auto section = top.section("tls");
  if (!section) return;
  TlsListener& tls = draft.config.tls;
  section->for_each_required("certificates", [&](Section& files) {
    tls.certificates.push_back(
        {.certificate = files.required("certificate", text_value), .key = files.required("key", text_value)});
    draft.config.tls_places.certificates.push_back(files.place());
  });
  section->read_into("client_ca", text_value, tls.client_ca);
  section->read_into("min_version", one_of(kVersions), tls.least);
  draft.config.tls_places.listener = section->place();
  section->finish();
}

std::optional<TlsUpstream> read_engine_tls(Section& pool, ConfigPlace& place) {
  auto section = pool.section("tls");
  if (!section) return std::nullopt;
  TlsUpstream tls;
  section->read_into("ca", text_value, tls.ca);
  section->read_into("server_name", text_value, tls.server_name);
  section->read_into("certificate", text_value, tls.certificate.certificate);
  section->read_into("key", text_value, tls.certificate.key);
  if (tls.certificate.certificate.empty() != tls.certificate.key.empty()) {
    section->report("certificate and key belong together; name both files, or neither");
  }
  place = section->place();
  section->finish();
  return tls;
}

}  // namespace fareway
