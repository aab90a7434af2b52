// SPDX-License-Identifier: BSD-3-Clause
// What all connections under one key have in common: the cipher, and which key a peer has to prove.
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "transport/tcp/tls/error_queue.hpp"
#include "transport/tcp/tls/tls.hpp"

namespace weft::tcp {
namespace {

constexpr unsigned char cipher_number[] = {0x13, 0x02};  // TLS_AES_256_GCM_SHA384
constexpr const char* cipher_name = "TLS_AES_256_GCM_SHA384";
constexpr const char* groups = "X25519:P-256";
bool read_identity(const unsigned char* text, std::size_t bytes, Introduction& into) noexcept {
  if (bytes != Introduction::bytes ||
      std::memcmp(text, Introduction::label.data(), Introduction::label.size()) != 0)
    return false;
  std::memcpy(into.to.data(), text + Introduction::label.size(), sizeof(EndpointId));
  std::memcpy(into.from.data(), text + Introduction::label.size() + sizeof(EndpointId), sizeof(EndpointId));
  return true;
}

}  // namespace

void TlsContext::Free::operator()(SSL_CTX* context) const noexcept {
  ::SSL_CTX_free(context);
}
void TlsContext::Free::operator()(SSL_SESSION* session) const noexcept {
  ::SSL_SESSION_free(session);
}
void TlsContext::Free::operator()(BIO_METHOD* method) const noexcept {
  ::BIO_meth_free(method);
}
void TlsContext::Free::operator()(OSSL_LIB_CTX* library) const noexcept {
  ::OSSL_LIB_CTX_free(library);
}
void TlsContext::Free::operator()(EVP_CIPHER* cipher) const noexcept {
  ::EVP_CIPHER_free(cipher);
}
Result<std::unique_ptr<TlsContext>> TlsContext::make(Bytes key, RecordsBy records) {
  constexpr auto lacking = "OpenSSL lacks TLS 1.3 with AES-256-GCM here";
  if (key.size() < 16) return fail(Errc::invalid, "the transport tcp needs the key of the job");
  // No handler at exit: threads of the embedding program may still be in here then.
  ::OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr);
  const ErrorQueue errors;
  std::unique_ptr<TlsContext> self(new TlsContext(records));
  self->library_.reset(::OSSL_LIB_CTX_new());
  if (!self->library_) return fail(Errc::not_supported, lacking);

  self->method_.reset(::BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weft"));
  if (!self->method_) return fail(Errc::no_memory);
  ::BIO_meth_set_read(self->method_.get(), [](BIO* bio, char* into, int room) {
    auto& stream = *static_cast<TlsStream*>(::BIO_get_data(bio));
    ::BIO_clear_retry_flags(bio);
    const auto bytes = std::min(stream.input_.size(), static_cast<std::size_t>(std::max(room, 0)));
    if (bytes == 0) {
      ::BIO_set_retry_read(bio);
      return -1;
    }
    std::memcpy(into, stream.input_.data(), bytes);
    stream.input_ = stream.input_.subspan(bytes);
    return static_cast<int>(bytes);
  });
  ::BIO_meth_set_write(self->method_.get(), [](BIO* bio, const char* from, int bytes) {
    auto& stream = *static_cast<TlsStream*>(::BIO_get_data(bio));
    ::BIO_clear_retry_flags(bio);
    try {
      std::memcpy(stream.add_output(static_cast<std::size_t>(bytes)), from, static_cast<std::size_t>(bytes));
    } catch (const std::bad_alloc&) {
      return -1;
    }
    return bytes;
  });
  ::BIO_meth_set_ctrl(self->method_.get(),
                      [](BIO*, int what, long, void*) { return what == BIO_CTRL_FLUSH ? 1L : 0L; });

  self->context_.reset(::SSL_CTX_new_ex(self->library_.get(), nullptr, ::TLS_method()));
  SSL_CTX* const context = self->context_.get();
  if (context == nullptr || ::SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
      ::SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) != 1 ||
      ::SSL_CTX_set_ciphersuites(context, cipher_name) != 1 ||
      ::SSL_CTX_set1_groups_list(context, groups) != 1 || ::SSL_CTX_set_num_tickets(context, 0) != 1)
    return fail(Errc::not_supported, lacking);
  ::SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  ::SSL_CTX_clear_options(context, SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);  // a handshake that waits holds none of 16 KiB
  ::SSL_CTX_set_psk_use_session_callback(context, [](SSL* ssl, const EVP_MD*, const unsigned char** id,
                                                     std::size_t* length, SSL_SESSION** session) {
    auto& stream = *static_cast<TlsStream*>(SSL_get_app_data(ssl));
    *id = stream.identity_.data();
    *length = stream.identity_.size();
    *session = stream.context_.session_.get();
    return ::SSL_SESSION_up_ref(*session);
  });
  ::SSL_CTX_set_psk_find_session_callback(
      context, [](SSL* ssl, const unsigned char* id, std::size_t length, SSL_SESSION** session) {
        auto& stream = *static_cast<TlsStream*>(SSL_get_app_data(ssl));
        *session = nullptr;  // with 1: goes on without a key, and so to its end
        Introduction peer;
        if (!read_identity(id, length, peer) || peer.to != stream.introduction_.to) return 1;
        stream.introduction_ = peer;
        if (!stream.accepts_(peer)) {
          stream.state_ = TlsStream::State::unwanted;
          return 0;
        }
        *session = stream.context_.session_.get();
        return ::SSL_SESSION_up_ref(*session);
      });

  // How OpenSSL hands out what the records of both sides are sealed under.
  ::SSL_CTX_set_keylog_callback(context, [](const SSL* ssl, const char* line) {
    static_cast<TlsStream*>(SSL_get_app_data(ssl))->keep_secret(line);
  });
  self->cipher_.reset(::EVP_CIPHER_fetch(self->library_.get(), "AES-256-GCM", nullptr));
  if (!self->cipher_) return fail(Errc::not_supported, lacking);

  unsigned char derived[32];
  unsigned int length = sizeof derived;
  const auto* text = reinterpret_cast<const unsigned char*>(Introduction::label.data());
  if (::EVP_Q_mac(self->library_.get(), "HMAC", nullptr, "SHA256", nullptr, key.data(), key.size(), text,
                  Introduction::label.size(), derived, sizeof derived, nullptr) == nullptr)
    return fail(Errc::not_supported, lacking);
  self->session_.reset(::SSL_SESSION_new());
  const std::unique_ptr<SSL, TlsStream::Free> any(::SSL_new(context));
  const SSL_CIPHER* cipher = any ? ::SSL_CIPHER_find(any.get(), cipher_number) : nullptr;
  const bool is_made = self->session_ && cipher != nullptr &&
                       ::SSL_SESSION_set1_master_key(self->session_.get(), derived, length) == 1 &&
                       ::SSL_SESSION_set_cipher(self->session_.get(), cipher) == 1 &&
                       ::SSL_SESSION_set_protocol_version(self->session_.get(), TLS1_3_VERSION) == 1;
  ::OPENSSL_cleanse(derived, sizeof derived);
  if (!is_made) return fail(Errc::not_supported, lacking);
  if (records == RecordsBy::weft && !self->agrees_with_openssl()) self->records_by_ = RecordsBy::openssl;
  return self;
}

/// A short and a long text, before and after a change of keys, both ways between the two.
bool TlsContext::agrees_with_openssl() {
  records_by_ = RecordsBy::openssl;
  TlsStream theirs(*this, EndpointId{}, [](const Introduction&) { return true; });
  records_by_ = RecordsBy::weft;
  TlsStream ours(*this, Introduction{});
  const auto say = [](TlsStream& from, TlsStream& to) {
    const auto said = from.output();
    to.feed(said);
    to.step();
    return said.size();
  };
  ours.step();
  for (int i = 0; i < 2; ++i) {
    ours.sent(say(ours, theirs));
    theirs.sent(say(theirs, ours));
  }
  const auto is_open = [](const TlsStream& one) { return one.state() == TlsStream::State::open; };
  if (!is_open(ours) || !is_open(theirs)) return false;
  std::vector<std::byte> text(2 * AesGcm::short_bytes), got(TlsStream::record_bytes);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::byte>(i);
  const auto takes = [&](TlsStream& from, TlsStream& to, std::size_t bytes) {
    if (!from.write(Bytes(text).first(bytes))) return false;
    const auto said = say(from, to);
    std::size_t read = 0;
    for (auto coming = to.coming(); read == 0 && coming.value_or(0) != 0; coming = to.coming()) {
      const auto more = to.read(got);
      if (!more) return false;
      read = *more;
    }
    from.sent(said);
    return read == bytes &&
           std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(read), text.begin());
  };
  for (int i = 0; i < 2; ++i) {
    for (const std::size_t bytes : {std::size_t{80}, text.size()})
      if (!takes(ours, theirs, bytes) || !takes(theirs, ours, bytes)) return false;
    if (!ours.renew_key() || !theirs.renew_key()) return false;
  }
  return true;
}

}  // namespace weft::tcp
