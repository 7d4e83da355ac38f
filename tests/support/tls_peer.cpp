#include "tests/support/tls_peer.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace fareway::testing {

namespace {

using Key = std::shared_ptr<EVP_PKEY>;
using Certificate = std::shared_ptr<X509>;

constexpr long kHour = 3600;
constexpr long kDay = 24 * kHour;

void must(bool worked, const char* what) {
  if (!worked) throw std::runtime_error(std::string("OpenSSL: ") + what);
}

Key new_key() {
  return {EVP_EC_gen("P-256"), EVP_PKEY_free};
}

void add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  must(extension != nullptr, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Certificate new_certificate(const std::string& common_name, EVP_PKEY* key, long valid_for) {
  static long serial = 1;
  Certificate certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), valid_for < 0 ? 2 * valid_for : -kHour);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), valid_for);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0);
  return certificate;
}

template <class Write>
void write_pem(const std::filesystem::path& file, Write write) {
  std::FILE* const out = std::fopen(file.c_str(), "w");
  must(out != nullptr && write(out) == 1, file.c_str());
  std::fclose(out);
}

void use_files(SSL_CTX* context, const CertificateFiles& files) {
  if (files.certificate.empty()) return;
  must(SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) == 1, "certificate");
  must(SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) == 1, "key");
}

}  // namespace

TestAuthority::TestAuthority() : key_(new_key()) {
  std::string pattern = (std::filesystem::temp_directory_path() / "fareway-tls-XXXXXX").string();
  must(::mkdtemp(pattern.data()) != nullptr, "no temporary folder");
  folder_ = pattern;
  certificate_ = new_certificate("authority of " + pattern, key_.get(), kDay);
  X509_set_issuer_name(certificate_.get(), X509_get_subject_name(certificate_.get()));
  add_extension(certificate_.get(), certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
  add_extension(certificate_.get(), certificate_.get(), NID_key_usage, "critical,keyCertSign");
  must(X509_sign(certificate_.get(), key_.get(), EVP_sha256()) != 0, "sign");
  write_pem(file(), [this](std::FILE* out) { return PEM_write_X509(out, certificate_.get()); });
}

TestAuthority::~TestAuthority() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

CertificateFiles TestAuthority::issue(const std::string& stem, const std::string& names, int days) const {
  const Key key = new_key();
  const Certificate certificate = new_certificate(stem, key.get(), days * kDay);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate_.get()));
  add_extension(certificate.get(), certificate_.get(), NID_subject_alt_name, names);
  must(X509_sign(certificate.get(), key_.get(), EVP_sha256()) != 0, "sign");
  CertificateFiles files{.certificate = folder_ / (stem + ".pem"), .key = folder_ / (stem + ".key")};
  write_pem(files.certificate, [&](std::FILE* out) { return PEM_write_X509(out, certificate.get()); });
  write_pem(files.key, [&](std::FILE* out) {
    return PEM_write_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return files;
}

TlsPeer::TlsPeer(RawConnection connection, const Options& options, bool is_server)
    : connection_(std::move(connection)),
      context_(SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method()), SSL_CTX_free) {
  SSL_CTX_set_max_proto_version(context_.get(), options.most_version);
  use_files(context_.get(), options.certificate);
  if (!options.ca.empty()) {
    must(SSL_CTX_load_verify_locations(context_.get(), options.ca.c_str(), nullptr) == 1, "authority");
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  std::string protocols;
  for (const std::string& protocol : options.protocols) {
    protocols += static_cast<char>(protocol.size());
    protocols += protocol;
  }
  SSL_CTX_set_alpn_protos(context_.get(), reinterpret_cast<const unsigned char*>(protocols.data()),
                          static_cast<unsigned int>(protocols.size()));
  ssl_ = std::shared_ptr<SSL>(SSL_new(context_.get()), SSL_free);
  SSL_set_fd(ssl_.get(), connection_.socket());
  if (!options.server_name.empty() && !is_server) {
    SSL_set_tlsext_host_name(ssl_.get(), options.server_name.c_str());  // NOLINT: OpenSSL's macro casts
    SSL_set1_host(ssl_.get(), options.server_name.c_str());
  }
  ERR_clear_error();
  connected_ = (is_server ? SSL_accept(ssl_.get()) : SSL_connect(ssl_.get())) == 1;
}

TlsPeer TlsPeer::client(RawConnection connection, const Options& options) {
  return {std::move(connection), options, false};
}
TlsPeer TlsPeer::server(RawConnection connection, const Options& options) {
  return {std::move(connection), options, true};
}

bool TlsPeer::send(std::string_view bytes) {
  std::size_t sent = 0;
  ERR_clear_error();
  return SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent) == 1 && sent == bytes.size();
}

std::string TlsPeer::read_until(std::string_view mark) {
  std::size_t at = std::string::npos;
  std::array<char, 4096> room{};
  while ((at = buffer_.find(mark)) == std::string::npos) {
    std::size_t got = 0;
    ERR_clear_error();
    if (SSL_read_ex(ssl_.get(), room.data(), room.size(), &got) != 1) return std::exchange(buffer_, {});
    buffer_.append(room.data(), got);
  }
  std::string found = buffer_.substr(0, at + mark.size());
  buffer_.erase(0, found.size());
  return found;
}

std::string TlsPeer::read_to_end(bool& clean) {
  std::string all = std::exchange(buffer_, {});
  std::array<char, 4096> room{};
  std::size_t got = 0;
  ERR_clear_error();
  while (SSL_read_ex(ssl_.get(), room.data(), room.size(), &got) == 1) all.append(room.data(), got);
  clean = SSL_get_error(ssl_.get(), 0) == SSL_ERROR_ZERO_RETURN;
  return all;
}

std::string TlsPeer::peer_name() const {
  const Certificate certificate(SSL_get1_peer_certificate(ssl_.get()), X509_free);
  std::array<char, 256> name{};
  if (certificate == nullptr) return {};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, name.data(),
                            name.size());
  return name.data();
}

std::string TlsPeer::protocol() const {
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

}  // namespace fareway::testing
