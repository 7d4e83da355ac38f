#include "adapters/tls/tls_contexts.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <openssl/err.h>
#include <openssl/x509v3.h>

namespace fareway {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

constexpr const char* kCiphersBelow13 =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

/// As ALPN has it on the wire: each name behind its length (RFC 7301, 3.1).
constexpr std::array<unsigned char, 9> kHttp11{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

void must_work(const error_code& ec, const std::filesystem::path& file, std::string_view what) {
  if (ec) throw std::runtime_error(file.string() + ": " + std::string(what) + ": " + ec.message());
}

std::unique_ptr<ssl::context> new_context(ssl::context::method method, TlsVersion least) {
  auto context = std::make_unique<ssl::context>(method);
  SSL_CTX* const native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, least == TlsVersion::k13 ? TLS1_3_VERSION : TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(native, kCiphersBelow13);
  SSL_CTX_set_options(native,
                      SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // A stream that waits holds no buffer, a write may be taken up from another place, and one read brings a
  // record.
  SSL_CTX_set_mode(
      native, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(native, 1);
  return context;
}

void use_certificate(ssl::context& context, const CertificateFiles& files) {
  // A passphrase is never asked for at the terminal.
  context.set_password_callback([](std::size_t, ssl::context::password_purpose) { return std::string(); });
  error_code ec;
  context.use_certificate_chain_file(files.certificate.string(), ec);
  must_work(ec, files.certificate, "no certificate in PEM form can be read");
  context.use_private_key_file(files.key.string(), ssl::context::pem, ec);
  must_work(ec, files.key,
            "no private key for " + files.certificate.string() + " can be read (PEM, no passphrase)");
  const X509* const certificate = SSL_CTX_get0_certificate(context.native_handle());
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0) {
    throw std::runtime_error(files.certificate.string() + ": the certificate is out of date; renew it");
  }
}

/// HTTP/1.1 where the client offers it; a client that offers only what is not spoken here (h2) is told so.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, chosen_size, kHttp11.data(), kHttp11.size(), offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

void demand_client_certificate(ssl::context& context, const std::filesystem::path& authority) {
  error_code ec;
  context.load_verify_file(authority.string(), ec);
  must_work(ec, authority, "no certificate authority in PEM form can be read");
  context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  SSL_CTX_set_client_CA_list(context.native_handle(), SSL_load_client_CA_file(authority.c_str()));
  constexpr std::string_view kSessions = "fareway";  // sessions of verified clients may be taken up again
  SSL_CTX_set_session_id_context(context.native_handle(),
                                 reinterpret_cast<const unsigned char*>(kSessions.data()), kSessions.size());
}

/// A connection keeps its acceptor: the choice of a certificate looks at all of them.
int keeper_index() {
  static const int index = SSL_get_ex_new_index(
      0, nullptr, nullptr, nullptr, [](void*, void* keeper, CRYPTO_EX_DATA*, int, long, void*) {
        delete static_cast<std::shared_ptr<const TlsAcceptor>*>(keeper);
      });
  return index;
}

SslHandle new_handle(SSL_CTX* context, int descriptor) {
  SslHandle handle(SSL_new(context));
  if (handle == nullptr || SSL_set_fd(handle.get(), descriptor) != 1) throw std::bad_alloc();
  return handle;
}

}  // namespace

TlsAcceptor::TlsAcceptor(const TlsListener& settings) {
  for (const CertificateFiles& files : settings.certificates) {
    auto context = new_context(ssl::context::tls_server, settings.least);
    use_certificate(*context, files);
    if (!settings.client_ca.empty()) demand_client_certificate(*context, settings.client_ca);
    SSL_CTX* const native = context->native_handle();
    SSL_CTX_set_alpn_select_cb(native, choose_protocol, nullptr);
    SSL_CTX_set_tlsext_servername_callback(native, choose_certificate);
    SSL_CTX_set_tlsext_servername_arg(native, this);
    contexts_.push_back(std::move(context));
  }
  if (contexts_.empty()) throw std::runtime_error("TLS needs a certificate");
}

SslHandle TlsAcceptor::accept(const std::shared_ptr<const TlsAcceptor>& self, int descriptor) {
  SslHandle handle = new_handle(self->contexts_.front()->native_handle(), descriptor);
  SSL_set_ex_data(handle.get(), keeper_index(), new std::shared_ptr<const TlsAcceptor>(self));
  SSL_set_accept_state(handle.get());
  return handle;
}

/// The first certificate that names what the client asks for, wildcards included; else the first of all.
int TlsAcceptor::choose_certificate(SSL* handle, int*, void* self) {
  const auto& contexts = static_cast<const TlsAcceptor*>(self)->contexts_;
  const char* const name = SSL_get_servername(handle, TLSEXT_NAMETYPE_host_name);
  if (name == nullptr) return SSL_TLSEXT_ERR_NOACK;
  const std::string_view asked(name);
  const auto names_it = [asked](const auto& context) {
    X509* const certificate = SSL_CTX_get0_certificate(context->native_handle());
    return X509_check_host(certificate, asked.data(), asked.size(), 0, nullptr) == 1;
  };
  const auto found = std::ranges::find_if(contexts, names_it);
  if (found == contexts.end()) return SSL_TLSEXT_ERR_NOACK;
  SSL_set_SSL_CTX(handle, (*found)->native_handle());
  return SSL_TLSEXT_ERR_OK;
}

TlsConnector::TlsConnector(const TlsUpstream& settings)
    : context_(new_context(ssl::context::tls_client, TlsVersion::k12)), server_name_(settings.server_name) {
  error_code ec;
  if (settings.ca.empty()) {
    context_->set_default_verify_paths(ec);
    must_work(ec, "the system's certificate authorities", "cannot be read");
  } else {
    context_->load_verify_file(settings.ca.string(), ec);
    must_work(ec, settings.ca, "no certificate authority in PEM form can be read");
  }
  context_->set_verify_mode(ssl::verify_peer);
  if (!settings.certificate.certificate.empty()) use_certificate(*context_, settings.certificate);
  SSL_CTX_set_alpn_protos(context_->native_handle(), kHttp11.data(), kHttp11.size());
}

std::shared_ptr<const TlsConnector> TlsConnector::shared(const TlsUpstream& settings) {
  static std::mutex mutex;
  static std::vector<std::pair<TlsUpstream, std::weak_ptr<const TlsConnector>>> made;
  const std::lock_guard lock(mutex);
  std::erase_if(made, [](const auto& entry) { return entry.second.expired(); });
  for (const auto& [known, connector] : made) {
    if (known == settings) return connector.lock();
  }
  auto connector = std::make_shared<const TlsConnector>(settings);
  made.emplace_back(settings, connector);
  return connector;
}

SslHandle TlsConnector::connect(const std::string& host, int descriptor) const {
  SslHandle handle = new_handle(context_->native_handle(), descriptor);
  prepare(handle.get(), host);
  SSL_set_connect_state(handle.get());
  return handle;
}

void TlsConnector::prepare(SSL* handle, const std::string& host) const {
  const std::string& name = server_name_.empty() ? host : server_name_;
  X509_VERIFY_PARAM* const verified = SSL_get0_param(handle);
  if (X509_VERIFY_PARAM_set1_ip_asc(verified, name.c_str()) == 1) return;  // an address is no name to ask for
  ERR_clear_error();
  X509_VERIFY_PARAM_set_hostflags(verified, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (SSL_set1_host(handle, name.c_str()) != 1) throw std::bad_alloc();
  SSL_ctrl(handle, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, const_cast<char*>(name.c_str()));
}

std::string certificate_complaint(const SSL* handle) {
  const long result = SSL_get_verify_result(handle);
  return result == X509_V_OK ? std::string() : X509_verify_cert_error_string(result);
}

}  // namespace fareway
