// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/tls/tls.hpp"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "transport/tcp/tls/error_queue.hpp"

namespace weft::tcp {
namespace {

// A buffer above this goes to the connection that writes next.
constexpr std::size_t output_kept = 512;
// "The sender's key changes now; yours need not": handshake message 24 of one byte.
constexpr std::array key_update{std::byte{24}, std::byte{0}, std::byte{0}, std::byte{1}, std::byte{0}};

constexpr std::string_view label = Introduction::label;

}  // namespace

void TlsStream::Free::operator()(SSL* ssl) const noexcept {
  ::SSL_free(ssl);
}

TlsStream::TlsStream(TlsContext& context)
    : context_(context), records_by_(context.records_by()), ssl_(::SSL_new(context.context_.get())) {
  BIO* const bio = ssl_ ? ::BIO_new(context.method_.get()) : nullptr;
  if (bio == nullptr) {
    state_ = State::broken;
    return;
  }
  ::BIO_set_data(bio, this);
  ::BIO_set_init(bio, 1);
  ::SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_app_data(ssl_.get(), this);
}

TlsStream::TlsStream(TlsContext& context, const Introduction& self) : TlsStream(context) {
  introduction_ = self;
  is_client_ = true;
  auto* at = std::copy(label.begin(), label.end(), identity_.begin());
  std::memcpy(at, self.to.data(), sizeof(EndpointId));
  std::memcpy(at + sizeof(EndpointId), self.from.data(), sizeof(EndpointId));
  if (!ssl_) return;
  ::SSL_set_connect_state(ssl_.get());
  // S1: a peer that shows a certificate instead is refused, because no certificate is trusted.
  ::SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER, nullptr);
}

TlsStream::TlsStream(TlsContext& context, const EndpointId& self, Accepts accepts) : TlsStream(context) {
  introduction_.to = self;
  accepts_ = std::move(accepts);
  if (ssl_) ::SSL_set_accept_state(ssl_.get());
}

TlsStream::~TlsStream() = default;

void TlsStream::feed(Bytes received) noexcept {
  input_ = received;
  if (state_ != State::handshaking) return;
  fed_before_proof_ += received.size();
}

TlsStream::State TlsStream::step() noexcept {
  if (state_ != State::handshaking) return state_;
  const ErrorQueue errors;
  const int code = ::SSL_do_handshake(ssl_.get());
  if (code != 1) return fail_handshake(code);
  // S1, once more: a handshake without the key is none, whatever the library thinks.
  if (::SSL_session_reused(ssl_.get()) != 1) return state_ = State::refused;
  if (records_by_ == RecordsBy::weft) {
    if (!sending_ || !receiving_) return state_ = State::broken;
    if (::SSL_has_pending(ssl_.get()) != 0)
      return state_ = State::broken;  // bytes behind the handshake would be lost
    ssl_.reset();
  }
  accepts_ = nullptr;
  return state_ = State::open;
}

bool TlsStream::is_greeted() const noexcept {
  return ssl_ == nullptr || ::SSL_session_reused(ssl_.get()) == 1;  // the proof of the hello has been checked
}

/// "LABEL random secret", the latter two in hexadecimal digits.
void TlsStream::keep_secret(std::string_view line) noexcept try {
  if (records_by_ == RecordsBy::openssl) return;
  constexpr std::string_view of_client = "CLIENT_TRAFFIC_SECRET_0 ", of_server = "SERVER_TRAFFIC_SECRET_0 ";
  if (!line.starts_with(of_client) && !line.starts_with(of_server)) return;
  auto& key = line.starts_with(of_client) == is_client_ ? sending_ : receiving_;
  const auto digits = line.substr(line.rfind(' ') + 1);
  std::array<std::byte, RecordKey::most_secret_bytes> secret;
  std::size_t bytes = 0;
  if (::sodium_hex2bin(reinterpret_cast<unsigned char*>(secret.data()), secret.size(), digits.data(),
                       digits.size(), nullptr, &bytes, nullptr) == 0 &&
      bytes == secret.size())
    key = RecordKey::make(*context_.library_, *context_.cipher_, secret);
  ::OPENSSL_cleanse(secret.data(), secret.size());
} catch (const std::bad_alloc&) {  // step() sees that there is none
}

TlsStream::State TlsStream::fail_handshake(int code) noexcept {
  if (state_ != State::handshaking) return state_;  // unwanted
  const int why = ::SSL_get_error(ssl_.get(), code);
  if (why == SSL_ERROR_WANT_READ)
    return fed_before_proof_ > most_before_proof ? state_ = State::broken : state_;
  if (why == SSL_ERROR_SSL) return state_ = State::refused;
  return state_ = State::broken;
}

/// The next record, if all of it is there. A part of the record after it is kept.
Result<Bytes> TlsStream::next_record() {
  const auto begin_of = [](Bytes bytes) { return bytes.first<RecordKey::header_bytes>(); };
  if (partial_.empty() && input_.size() >= RecordKey::header_bytes) {
    const auto length = RecordKey::length(begin_of(input_));
    if (!length) return fail(length.error());
    if (input_.size() >= *length) return input_.first(*length);
  }
  const auto complete = [this](std::size_t bytes) {
    if (partial_.size() < bytes) {
      const auto more = input_.first(std::min(bytes - partial_.size(), input_.size()));
      partial_.insert(partial_.end(), more.begin(), more.end());
      input_ = input_.subspan(more.size());
    }
    return partial_.size() >= bytes;
  };
  if (input_.empty() && partial_.empty()) return Bytes();
  if (!complete(RecordKey::header_bytes)) return Bytes();
  const auto length = RecordKey::length(begin_of(partial_));
  if (!length) return fail(length.error());
  return complete(*length) ? Bytes(partial_) : Bytes();
}

void TlsStream::drop_record(std::size_t bytes) noexcept {
  if (partial_.empty())
    input_ = input_.subspan(bytes);
  else
    partial_ = {};
}

Unexpected TlsStream::broken(const char* why) noexcept {
  state_ = State::broken;
  return fail(Errc::corrupt, why);
}

Result<std::size_t> TlsStream::coming_by_openssl() noexcept {
  if (const int ready = ::SSL_pending(ssl_.get()); ready > 0) return static_cast<std::size_t>(ready);
  if (input_.empty()) return 0;
  const ErrorQueue errors;
  std::byte first;
  std::size_t bytes = 0;
  const int code = ::SSL_peek_ex(ssl_.get(), &first, 1, &bytes);
  if (code == 1) return static_cast<std::size_t>(::SSL_pending(ssl_.get()));
  switch (::SSL_get_error(ssl_.get(), code)) {
    case SSL_ERROR_WANT_READ:
      return 0;
    case SSL_ERROR_ZERO_RETURN:
      return fail(Errc::peer_lost, "the peer has closed the connection");
    default:
      return broken("bytes that the peer did not send");
  }
}

Result<std::size_t> TlsStream::read_by_openssl(MutableBytes into) noexcept {
  const ErrorQueue errors;
  std::size_t bytes = 0;
  if (::SSL_read_ex(ssl_.get(), into.data(), into.size(), &bytes) == 1) return bytes;
  return broken("bytes that the peer did not send");
}

Result<void> TlsStream::write_by_openssl(Bytes plain) noexcept {
  const ErrorQueue errors;
  std::size_t bytes = 0;
  if (::SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &bytes) == 1 && bytes == plain.size()) return {};
  state_ = State::broken;
  return fail(Errc::no_memory, "no memory for a message's record");
}

Result<std::size_t> TlsStream::coming() noexcept try {
  if (records_by_ == RecordsBy::openssl) return coming_by_openssl();
  const auto record = next_record();
  if (!record) {
    state_ = State::broken;
    return fail(record.error());
  }
  return record->empty() ? 0 : record->size() - RecordKey::around_bytes;
} catch (const std::bad_alloc&) {
  return fail(Errc::no_memory, "no memory for what a peer sent");
}

Result<std::size_t> TlsStream::read(MutableBytes into) noexcept try {
  if (records_by_ == RecordsBy::openssl) return read_by_openssl(into);
  const auto record = next_record();
  if (!record) return fail(record.error());
  if (record->empty()) return 0;
  const auto text = into.first(record->size() - RecordKey::around_bytes);
  const auto content = receiving_->open(*record, text);
  drop_record(record->size());
  if (!content) {
    state_ = State::broken;
    return fail(content.error());
  }
  if (*content == Content::data) return text.size();
  if (auto right = heard(*content, text); !right) return fail(right.error());
  return 0;
} catch (const std::bad_alloc&) {
  return fail(Errc::no_memory, "no memory for what a peer sent");
}

/// Handles what the peer's TLS says to this one.
Result<void> TlsStream::heard(Content content, Bytes text) noexcept {
  if (content == Content::alert) return fail(Errc::peer_lost, "the peer has closed the connection");
  if (content == Content::handshake &&
      std::equal(text.begin(), text.end(), key_update.begin(), key_update.end()))
    return receiving_->renew();
  return broken("the peer says what no endpoint does");
}

Result<void> TlsStream::write(Bytes plain) noexcept {
  const auto records = (plain.size() + record_bytes - 1) / record_bytes;
  const auto& most = context_.most_of_a_key;
  if (used_.bytes + plain.size() > most.bytes || used_.records + records > most.records)
    if (auto renewed = renew_key(); !renewed) return renewed;
  used_.bytes += plain.size();
  used_.records += records;
  if (records_by_ == RecordsBy::openssl) return plain.empty() ? Result<void>() : write_by_openssl(plain);
  for (Bytes piece; !plain.empty(); plain = plain.subspan(piece.size())) {
    piece = plain.first(std::min(plain.size(), record_bytes));
    if (auto sealed = seal(Content::data, piece); !sealed) return sealed;
  }
  return {};
}

Result<void> TlsStream::renew_key() noexcept {
  used_ = {};
  if (records_by_ == RecordsBy::openssl) {
    const ErrorQueue errors;
    if (::SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1 &&
        ::SSL_do_handshake(ssl_.get()) == 1)
      return {};
    state_ = State::broken;
    return fail(Errc::no_memory, "no memory for the next key of a connection");
  }
  if (auto sealed = seal(Content::handshake, key_update); !sealed) return sealed;
  return sending_->renew();
}

Result<void> TlsStream::seal(Content content, Bytes text) noexcept try {
  const auto bytes = text.size() + RecordKey::around_bytes;
  auto sealed = sending_->seal(content, text, add_output(bytes));
  if (sealed) return {};
  said_ -= bytes;
  state_ = State::broken;
  return sealed;
} catch (const std::bad_alloc&) {
  state_ = State::broken;
  return fail(Errc::no_memory, "no memory for a message's record");
}

/// Room for so much more of it.
std::byte* TlsStream::add_output(std::size_t bytes) {
  auto& spare = context_.spare_output_;
  if (said_ == 0 && bytes > output_.size() && spare.size() > output_.size()) output_.swap(spare);
  if (said_ + bytes > output_.size() && sent_ != 0) {  // what has left makes room before more memory is taken
    std::memmove(output_.data(), output_.data() + sent_, said_ - sent_);
    said_ -= std::exchange(sent_, 0);
  }
  if (said_ + bytes > output_.size()) output_.resize(std::max(said_ + bytes, 2 * said_));
  return output_.data() + std::exchange(said_, said_ + bytes);
}

void TlsStream::sent(std::size_t bytes) noexcept {
  sent_ += bytes;
  if (sent_ < said_) return;
  sent_ = said_ = 0;
  if (output_.size() <= output_kept) return;
  if (output_.size() > context_.spare_output_.size()) output_.swap(context_.spare_output_);
  output_ = {};
}

}  // namespace weft::tcp
