// SPDX-License-Identifier: BSD-3-Clause
// AES-GCM under one key, for records (records.hpp). Short texts go to libsodium where the processor can
// do it, the rest to OpenSSL, and with a key of 128 bits all: the first call after other work costs 0.6 us
// there and 3 us here, 16 KiB take 14 us there and 6 us here (docs/decisions/0011-tcp.md).
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "weft/bytes.hpp"

using EVP_CIPHER = struct evp_cipher_st;
using EVP_CIPHER_CTX = struct evp_cipher_ctx_st;

namespace weft::tcp {

class AesGcm {
 public:
  static constexpr std::size_t most_key_bytes = 32, nonce_bytes = 12, tag_bytes = 16;
  static constexpr std::size_t short_bytes = 512;  ///< at most, for libsodium
  using Nonce = std::span<const std::byte, nonce_bytes>;

  /// cipher: AES-GCM of OpenSSL's for keys of that length, 16 or 32 bytes; outlives this.
  AesGcm(const EVP_CIPHER& cipher, Bytes key);
  ~AesGcm();
  AesGcm(const AesGcm&) = delete;
  AesGcm& operator=(const AesGcm&) = delete;

  /// `plain`, then the byte `last`, both sealed, then the tag: plain.size() + 1 + tag_bytes, to `out`. No
  /// nonce serves twice.
  /// False: no memory.
  bool seal(Nonce nonce, Bytes covered, Bytes plain, std::byte last, std::byte* out) noexcept;
  /// Opens what seal() has sealed; plain.size() is sealed.size() - 1 - tag_bytes. False: not sealed so, and
  /// `plain` is undefined; or no memory.
  bool open(Nonce nonce, Bytes covered, Bytes sealed, MutableBytes plain, std::byte& last) noexcept;

 private:
  struct Free {
    void operator()(EVP_CIPHER_CTX* context) const noexcept;
  };
  struct Short;
  EVP_CIPHER_CTX* context(bool for_sealing) noexcept;

  const EVP_CIPHER& cipher_;
  std::byte key_[most_key_bytes];
  std::unique_ptr<Short> short_;                   ///< NULL: this processor, or libsodium, cannot
  std::unique_ptr<EVP_CIPHER_CTX, Free> context_;  ///< made when there is something long
};

}  // namespace weft::tcp
