// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/tls/records.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

namespace weft::tcp {
namespace {

/// The first bytes of all records after the handshake, whatever is in them.
constexpr std::array outside{std::byte{23}, std::byte{3}, std::byte{3}};

std::array<std::byte, RecordKey::header_bytes> header_of(std::size_t sealed) noexcept {
  return {outside[0], outside[1], outside[2], static_cast<std::byte>(sealed >> 8),
          static_cast<std::byte>(sealed)};
}

}  // namespace

RecordKey::RecordKey(OSSL_LIB_CTX& library, const EVP_CIPHER& cipher, Bytes secret) noexcept
    : library_(library), cipher_(cipher), secret_bytes_(std::min(secret.size(), most_secret_bytes)) {
  std::copy_n(secret.begin(), secret_bytes_, secret_.begin());
}

RecordKey::~RecordKey() {
  ::OPENSSL_cleanse(secret_.data(), secret_.size());
}

std::unique_ptr<RecordKey> RecordKey::make(OSSL_LIB_CTX& library, const EVP_CIPHER& cipher, Bytes secret) {
  std::unique_ptr<RecordKey> self(new RecordKey(library, cipher, secret));
  return self->derive() ? std::move(self) : nullptr;
}

/// HKDF-Expand-Label with an empty context; `out` is no longer than one hash, so the first block is all of
/// it.
bool RecordKey::expand(const char* label, MutableBytes out) noexcept {
  constexpr std::string_view prefix = "tls13 ";
  const std::string_view name(label);
  std::array<unsigned char, 64> info;
  auto* at = info.data();
  *at++ = static_cast<unsigned char>(out.size() >> 8);
  *at++ = static_cast<unsigned char>(out.size());
  *at++ = static_cast<unsigned char>(prefix.size() + name.size());
  at = std::copy(prefix.begin(), prefix.end(), at);
  at = std::copy(name.begin(), name.end(), at);
  *at++ = 0;  // the context
  *at++ = 1;  // the first block
  const char* const digest = secret_bytes_ == most_secret_bytes ? "SHA384" : "SHA256";
  std::array<unsigned char, most_secret_bytes> block{};
  const bool is_done =
      ::EVP_Q_mac(&library_, "HMAC", nullptr, digest, nullptr, secret_.data(), secret_bytes_, info.data(),
                  static_cast<std::size_t>(at - info.data()), block.data(), block.size(), nullptr) != nullptr;
  std::memcpy(out.data(), block.data(), out.size());
  ::OPENSSL_cleanse(block.data(), block.size());
  return is_done;
}

bool RecordKey::derive() noexcept try {
  std::array<std::byte, AesGcm::most_key_bytes> key;
  const auto used = MutableBytes(key).first(
      std::min<std::size_t>(key.size(), static_cast<std::size_t>(::EVP_CIPHER_get_key_length(&cipher_))));
  const bool is_done = expand("key", used) && expand("iv", initial_);
  if (is_done) aead_ = std::make_unique<AesGcm>(cipher_, used);
  ::OPENSSL_cleanse(key.data(), key.size());
  number_ = 0;
  return is_done;
} catch (const std::bad_alloc&) {
  return false;
}

Result<void> RecordKey::renew() noexcept {
  std::array<std::byte, most_secret_bytes> next;
  const bool is_done = expand("traffic upd", MutableBytes(next).first(secret_bytes_));
  if (is_done) std::copy_n(next.begin(), secret_bytes_, secret_.begin());
  ::OPENSSL_cleanse(next.data(), next.size());
  if (is_done && derive()) return {};
  return fail(Errc::no_memory, "no memory for the next key of a connection");
}

std::array<std::byte, AesGcm::nonce_bytes> RecordKey::next_nonce() noexcept {
  auto nonce = initial_;
  const auto number = number_++;
  for (std::size_t i = 0; i < sizeof number; ++i)
    nonce[nonce.size() - 1 - i] ^= static_cast<std::byte>(number >> (8 * i));
  return nonce;
}

Result<void> RecordKey::seal(Content content, Bytes text, std::byte* out) noexcept {
  const auto header = header_of(text.size() + around_bytes - header_bytes);
  std::byte* const body = std::copy(header.begin(), header.end(), out);
  if (aead_->seal(next_nonce(), header, text, static_cast<std::byte>(content), body)) return {};
  return fail(Errc::no_memory, "no memory for a message's record");
}

Result<std::size_t> RecordKey::length(std::span<const std::byte, header_bytes> header) noexcept {
  const auto sealed = std::to_integer<std::size_t>(header[3]) << 8 | std::to_integer<std::size_t>(header[4]);
  const bool can_be = std::equal(outside.begin(), outside.end(), header.begin()) &&
                      sealed > around_bytes - header_bytes &&
                      sealed <= most_bytes + around_bytes - header_bytes;
  if (!can_be) return fail(Errc::corrupt, "bytes that the peer did not send");
  return header_bytes + sealed;
}

Result<Content> RecordKey::open(Bytes record, MutableBytes text) noexcept {
  std::byte content;
  if (!aead_->open(next_nonce(), record.first(header_bytes), record.subspan(header_bytes), text, content))
    return fail(Errc::corrupt, "bytes that the peer did not send");
  return static_cast<Content>(content);
}

}  // namespace weft::tcp
