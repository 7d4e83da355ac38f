#pragma once

#include <memory>
#include <string>
#include <vector>

#include <boost/asio/ssl/context.hpp>

#include "adapters/tls/tls_settings.hpp"

namespace fareway {

struct SslDeleter {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
/// One side of one TLS connection. OpenSSL writes without MSG_NOSIGNAL, so the process ignores SIGPIPE. It
/// keeps what it needs of its context alive.
using SslHandle = std::unique_ptr<SSL, SslDeleter>;

// Policy of both sides: TLS 1.2 at least; under 1.2 only ECDHE with AES-GCM or ChaCha20-Poly1305, under 1.3
// OpenSSL's own suites; no renegotiation, no compression; HTTP/1.1 is the one protocol spoken (ALPN).
// Which is Mozilla's "intermediate" profile without its DHE suites
// (wiki.mozilla.org/Security/Server_Side_TLS, 5.7).

/// The server's side. Immutable, so that certificates are reloaded by making another one: connections of the
/// old one go on. Any thread.
class TlsAcceptor {
 public:
  /// Reads the files. Throws std::runtime_error that names the file and what is wrong with it: unreadable,
  /// not PEM, a key that is not the certificate's, out of date.
  explicit TlsAcceptor(const TlsListener& settings);

  /// For a connection just accepted, before its handshake. `self` stays alive as long as the handle.
  static SslHandle accept(const std::shared_ptr<const TlsAcceptor>& self, int descriptor);

 private:
  static int choose_certificate(SSL* ssl, int* alert, void* self);

  std::vector<std::unique_ptr<boost::asio::ssl::context>>
      contexts_;  // parallel to the settings' certificates
};

/// The client's side. Immutable. Any thread.
class TlsConnector {
 public:
  /// As for TlsAcceptor.
  explicit TlsConnector(const TlsUpstream& settings);
  /// One for all who have the same settings, while any of them holds it: it keeps every authority in memory.
  static std::shared_ptr<const TlsConnector> shared(const TlsUpstream& settings);

  /// For a connection to `host`, which has just been made. The certificate must name it, or `server_name`
  /// where the settings have one.
  SslHandle connect(const std::string& host, int descriptor) const;
  /// The same for a handle that exists already.
  void prepare(SSL* ssl, const std::string& host) const;
  boost::asio::ssl::context& context() const { return *context_; }

 private:
  std::unique_ptr<boost::asio::ssl::context> context_;
  std::string server_name_;
};

/// Why the peer's certificate was not accepted, in words; empty where it was, or where there was none to
/// judge.
std::string certificate_complaint(const SSL* ssl);

}  // namespace fareway
