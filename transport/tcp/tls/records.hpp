// SPDX-License-Identifier: BSD-3-Clause
// The records of a TLS 1.3 connection once its handshake is complete, in one direction: RFC 8446, sections
// 5.2, 5.3, 7.2 and 7.3, with AES-256-GCM and SHA-384. The handshake is OpenSSL's (tls.hpp), whose own
// records cost a barrier between nodes a third more (docs/decisions/0012-records.md). The bytes that are
// sent are the same; of those that may come, padding is refused (section 5.4), which no endpoint sends. Tests
// have the vectors of RFC 8448, and OpenSSL's own records at the other end.
//
// R1  Each record has a nonce of its own: the initial one of the direction with the number of the record,
//     which begins at 0 under each key and only goes up. A record that is repeated, left out or comes in
//     another order does not open.
// R2  Before a record has opened nothing is concluded from it but its length, which is bounded.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "transport/tcp/tls/aes_gcm.hpp"
#include "weft/result.hpp"

using OSSL_LIB_CTX = struct ossl_lib_ctx_st;

namespace weft::tcp {

/// The content of a record, by the Standard's numbers.
enum class Content : std::uint8_t { alert = 21, handshake = 22, data = 23 };

class RecordKey {
 public:
  static constexpr std::size_t most_secret_bytes = 48;
  static constexpr std::size_t header_bytes = 5;
  static constexpr std::size_t around_bytes =
      header_bytes + 1 + AesGcm::tag_bytes;         ///< of a record, beside the text
  static constexpr std::size_t most_bytes = 16384;  ///< of text in a record

  /// secret: the application traffic secret of the direction: 48 bytes with AES-256-GCM, and SHA-384; 32
  /// bytes with AES-128-GCM, and SHA-256 (the RFC's vectors). NULL: OpenSSL cannot.
  static std::unique_ptr<RecordKey> make(OSSL_LIB_CTX& library, const EVP_CIPHER& cipher, Bytes secret);
  ~RecordKey();
  RecordKey(const RecordKey&) = delete;
  RecordKey& operator=(const RecordKey&) = delete;

  /// To `out`, text.size() + around_bytes. text: most_bytes at most. Errors: no_memory.
  Result<void> seal(Content content, Bytes text, std::byte* out) noexcept;
  /// Bytes of the record that begins with this, header and all. Errors: corrupt (none with anything in it
  /// begins so).
  static Result<std::size_t> length(std::span<const std::byte, header_bytes> header) noexcept;
  /// text.size() is that of the record less around_bytes. Errors: corrupt (not the peer's next record).
  Result<Content> open(Bytes record, MutableBytes text) noexcept;
  /// The next records are under the next key. Errors: no_memory; then this is of no use any more.
  Result<void> renew() noexcept;

 private:
  RecordKey(OSSL_LIB_CTX& library, const EVP_CIPHER& cipher, Bytes secret) noexcept;
  bool expand(const char* label, MutableBytes out) noexcept;
  bool derive() noexcept;
  std::array<std::byte, AesGcm::nonce_bytes> next_nonce() noexcept;

  OSSL_LIB_CTX& library_;
  const EVP_CIPHER& cipher_;
  std::array<std::byte, most_secret_bytes> secret_{};
  std::size_t secret_bytes_;
  std::array<std::byte, AesGcm::nonce_bytes> initial_{};
  std::uint64_t number_ = 0;
  std::unique_ptr<AesGcm> aead_;
};

}  // namespace weft::tcp
