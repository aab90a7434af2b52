// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/credentials/run_token.hpp"

#include <sodium.h>

#include <algorithm>
#include <span>

namespace weft::server {
namespace {

constexpr int variant = sodium_base64_VARIANT_ORIGINAL;
static_assert(sizeof(CredentialKey) == crypto_auth_KEYBYTES);

const unsigned char* raw(Bytes bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

std::string base64(Bytes bytes) {
  std::string out(sodium_base64_encoded_len(bytes.size(), variant), '\0');
  ::sodium_bin2base64(out.data(), out.size(), raw(bytes), bytes.size(), variant);
  out.pop_back();  // the NUL
  return out;
}

/// Only what base64() writes: the decoder of libsodium takes other letters as well, and a token that a
/// process has seen would come again in another text.
Result<std::vector<std::byte>> from_base64(std::string_view text) {
  if (text.empty()) return fail(Errc::corrupt, "nothing");
  std::vector<std::byte> out(text.size());
  std::size_t size = 0;
  const char* end = nullptr;
  const auto status = ::sodium_base642bin(reinterpret_cast<unsigned char*>(out.data()), out.size(),
                                          text.data(), text.size(), nullptr, &size, &end, variant);
  if (status != 0 || end != text.data() + text.size()) return fail(Errc::corrupt, "no base64");
  out.resize(size);
  if (base64(out) != text) return fail(Errc::corrupt, "another text of the same bytes");
  return out;
}

}  // namespace

std::string_view text_of_credential(Bytes credential) noexcept {
  std::string_view text(reinterpret_cast<const char*>(credential.data()), credential.size());
  if (!text.empty() && text.back() == '\0') text.remove_suffix(1);
  return text;
}

std::vector<std::byte> RunToken::make(const CredentialOwner& owner, WallTime now, const CredentialKey& key) {
  RunToken token{owner, static_cast<std::uint64_t>(now.count()), {}};
  ::randombytes_buf(token.nonce.data(), token.nonce.size());
  auto body = base::encode(token);
  std::array<std::byte, crypto_auth_BYTES> mac;
  ::crypto_auth(reinterpret_cast<unsigned char*>(mac.data()), raw(body), body.size(), key.data());
  body.insert(body.end(), mac.begin(), mac.end());
  const auto text = std::string(prefix) + base64(body);
  const auto bytes = std::as_bytes(std::span(text.c_str(), text.size() + 1));
  return {bytes.begin(), bytes.end()};
}

Result<CredentialOwner> RunToken::check(std::string_view text, WallTime now, const CredentialKey& key) {
  if (text.size() > most_bytes || !text.starts_with(prefix)) return fail(Errc::corrupt, "no such token");
  const auto bytes = from_base64(text.substr(prefix.size()));
  if (!bytes) return fail(bytes.error());
  if (bytes->size() <= crypto_auth_BYTES) return fail(Errc::corrupt, "a token without a MAC");
  const auto body = Bytes(*bytes).first(bytes->size() - crypto_auth_BYTES);
  if (::crypto_auth_verify(raw(Bytes(*bytes).last(crypto_auth_BYTES)), raw(body), body.size(), key.data()) !=
      0)
    return fail(Errc::denied, "a token of another key");
  auto token = base::decode<RunToken>(body);
  if (!token) return fail(token.error());
  const auto seconds = static_cast<std::uint64_t>(now.count());
  const bool is_to_come = token->issued > seconds + most_skew.count();
  const bool is_over = token->issued + lifetime.count() < seconds;
  if (is_to_come || is_over) return fail(Errc::timeout, "an expired token");
  return std::move(token->owner);
}

}  // namespace weft::server
