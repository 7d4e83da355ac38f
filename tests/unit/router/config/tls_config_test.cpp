#include <filesystem>

#include <gmock/gmock.h>

#include "router/config/tls_files.hpp"
#include "tests/support/tls_peer.hpp"
#include "tests/unit/router/config/config_text.hpp"

namespace fareway {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::replaced;
using testing::small_config;
using testing::TestAuthority;

std::string with_tls(const std::string& section) {
  return small_config() + "tls:\n" + section;
}

std::string with_engine_tls(const std::string& tls) {
  return replaced(replaced(small_config(), "http://10.0.0.1:8000", "https://10.0.0.1:8000"),
                  "    replicas:\n", "    tls: " + tls + "\n    replicas:\n");
}

/// Empty where all files are in order.
std::string complaint(const std::string& text) {
  try {
    verify_tls_files(parse_config(text, "test.yaml"));
    return {};
  } catch (const ConfigError& error) {
    return error.what();
  }
}

TEST(TlsConfig, WithoutTheSectionClientsSpeakPlainHttp) {
  EXPECT_FALSE(parse_config(small_config(), "test.yaml").tls.enabled());
}

TEST(TlsConfig, ReadsCertificatesAuthorityAndVersion) {
  const Config config = parse_config(with_tls(R"(  certificates:
    - {certificate: a.pem, key: a.key}
    - {certificate: b.pem, key: b.key}
  client_ca: clients.pem
  min_version: "1.3"
)"),
                                     "test.yaml");
  ASSERT_EQ(config.tls.certificates.size(), 2U);
  EXPECT_EQ(config.tls.certificates[1], (CertificateFiles{.certificate = "b.pem", .key = "b.key"}));
  EXPECT_EQ(config.tls.client_ca, "clients.pem");
  EXPECT_EQ(config.tls.least, TlsVersion::k13);
}

TEST(TlsConfig, ExplainsWhatIsMissingOrUnknown) {
  EXPECT_THAT(error_of(with_tls("  min_version: \"1.3\"\n")), HasSubstr("tls.certificates"));
  EXPECT_THAT(error_of(with_tls("  certificates: [{certificate: a.pem}]\n")),
              HasSubstr("tls.certificates[0].key"));
  EXPECT_THAT(error_of(with_tls("  certificates: [{certificate: a, key: b}]\n  min_version: \"1.1\"\n")),
              HasSubstr("tls.min_version: \"1.1\" is none of 1.2, 1.3"));
}

TEST(TlsConfig, EnginesBehindHttpsHaveTheSettingsOfTheirPool) {
  const Config config = parse_config(with_engine_tls("{ca: ca.pem, server_name: engines.test}"), "test.yaml");
  ASSERT_TRUE(config.access[0].endpoint.tls);
  EXPECT_EQ(config.access[0].endpoint.tls->ca, "ca.pem");
  EXPECT_EQ(config.access[0].endpoint.tls->server_name, "engines.test");
  const std::string bare = replaced(small_config(), "http://10.0.0.1:8000", "https://10.0.0.1:8000");
  EXPECT_EQ(parse_config(bare, "test.yaml").access[0].endpoint.tls, TlsUpstream{})
      << "the system's authorities";
  EXPECT_FALSE(parse_config(small_config(), "test.yaml").access[0].endpoint.tls);
}

class TlsFiles : public ::testing::Test {
 protected:
  std::string listener(const CertificateFiles& files, const std::string& more = {}) const {
    return with_tls("  certificates:\n    - certificate: " + files.certificate.string() +
                    "\n      key: " + files.key.string() + "\n" + more);
  }
  TestAuthority authority_;
  CertificateFiles good_{authority_.issue("good", "DNS:api.test")};
};

TEST_F(TlsFiles, InOrderPass) {
  EXPECT_THAT(complaint(listener(good_, "  client_ca: " + authority_.file().string() + "\n")), IsEmpty());
  EXPECT_THAT(complaint(with_engine_tls("{ca: " + authority_.file().string() + "}")), IsEmpty());
}

TEST_F(TlsFiles, ThatAreMissingAreNamedWithTheirPlace) {
  const std::string said = complaint(listener({.certificate = "/none.pem", .key = good_.key}));
  EXPECT_THAT(said, HasSubstr("tls.certificates[0]: /none.pem: no certificate in PEM form can be read"));
  EXPECT_THAT(said, HasSubstr("test.yaml:33: tls.certificates[0]"));
}

TEST_F(TlsFiles, KeyOfAnotherCertificateIsNamed) {
  const CertificateFiles other = authority_.issue("other", "DNS:other.test");
  EXPECT_THAT(complaint(listener({.certificate = good_.certificate, .key = other.key})),
              HasSubstr("other.key: no private key for " + good_.certificate.string() + " can be read"));
}

TEST_F(TlsFiles, OutOfDateIsNamed) {
  EXPECT_THAT(complaint(listener(authority_.issue("old", "DNS:api.test", -1))),
              HasSubstr("old.pem: the certificate is out of date; renew it"));
}

TEST_F(TlsFiles, AuthorityThatIsNoneIsNamedWithItsPlace) {
  EXPECT_THAT(complaint(listener(good_, "  client_ca: " + good_.key.string() + "\n")),
              HasSubstr("tls: " + good_.key.string() + ": no certificate authority in PEM form can be read"));
  EXPECT_THAT(complaint(with_engine_tls("{ca: /none.pem}")),
              HasSubstr("pools[0].tls: /none.pem: no certificate authority in PEM form can be read"));
}

}  // namespace
}  // namespace fareway
