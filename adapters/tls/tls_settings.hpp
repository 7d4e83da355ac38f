#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fareway {

/// A certificate with those that lead to its authority (PEM, its own first) and its private key (PEM, without
/// a passphrase).
struct CertificateFiles {
  std::filesystem::path certificate;
  std::filesystem::path key;

  bool operator==(const CertificateFiles&) const = default;
};

enum class TlsVersion { k12, k13 };

/// How clients reach a listener that speaks TLS.
struct TlsListener {
  std::vector<CertificateFiles>
      certificates;  ///< by the name the client asks for (SNI); the first where none fits
  std::filesystem::path
      client_ca{};  ///< PEM; where given, a client must show a certificate of this authority
  TlsVersion least{TlsVersion::k12};

  bool enabled() const { return !certificates.empty(); }
};

/// How an engine behind `https://` is reached. Its certificate is always verified.
struct TlsUpstream {
  std::filesystem::path ca{};    ///< PEM; empty: the authorities the system trusts
  std::string server_name{};     ///< what the certificate must name; empty: the endpoint's host
  CertificateFiles certificate;  ///< shown to the engine where given (mutual TLS)

  bool operator==(const TlsUpstream&) const = default;
};

}  // namespace fareway
