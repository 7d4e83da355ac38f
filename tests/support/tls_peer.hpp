#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/ssl.h>

#include "adapters/tls/tls_settings.hpp"
#include "tests/support/scripted_backend.hpp"

namespace fareway::testing {

/// A certificate authority and what it signs, as PEM files in a folder that goes with it.
class TestAuthority {
 public:
  TestAuthority();
  ~TestAuthority();
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path file() const { return folder_ / "ca.pem"; }
  /// A certificate for `names` ("DNS:api.test", "IP:127.0.0.1"), valid for `days` from an hour ago; out of
  /// date where they are negative. The same `stem` writes over the files of the last.
  CertificateFiles issue(const std::string& stem, const std::string& names, int days = 1) const;

 private:
  std::filesystem::path folder_;
  std::shared_ptr<EVP_PKEY> key_;
  std::shared_ptr<X509> certificate_;
};

/// One end of a TLS connection, blocking, over a raw one. OpenSSL alone, so that it shares nothing with what
/// it tests.
class TlsPeer {
 public:
  struct Options {
    std::filesystem::path ca{};            ///< whose certificates are accepted; empty: no verification
    std::string server_name{};             ///< asked for by SNI, and what the certificate must name
    CertificateFiles certificate{};        ///< shown to the other side
    std::vector<std::string> protocols{};  ///< ALPN
    int most_version{TLS1_3_VERSION};
  };
  static TlsPeer client(RawConnection connection, const Options& options);
  /// `options.ca`: a client certificate is demanded.
  static TlsPeer server(RawConnection connection, const Options& options);

  bool connected() const { return connected_; }
  bool send(std::string_view bytes);
  std::string read_until(std::string_view mark);
  /// The same until the other side ends; `clean` tells whether it said farewell.
  std::string read_to_end(bool& clean);
  /// Common name of the other side's certificate: the stem it was issued under.
  std::string peer_name() const;
  std::string protocol() const;

 private:
  TlsPeer(RawConnection connection, const Options& options, bool is_server);

  RawConnection connection_;
  std::shared_ptr<SSL_CTX> context_;
  std::shared_ptr<SSL> ssl_;
  bool connected_{false};
  std::string buffer_;
};

}  // namespace fareway::testing
