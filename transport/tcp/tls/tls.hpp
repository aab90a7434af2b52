// SPDX-License-Identifier: BSD-3-Clause
// TLS 1.3 between two endpoints that share a key, without sockets: bytes of the network go in and come out as
// bytes of the caller's, and the other way round. OpenSSL shakes hands; then its part is freed, and
// records.hpp seals and opens. Or, where that is asked for, OpenSSL stays and does it all.
//
// S1  Nothing but OpenSSL looks at what a peer sends until the handshake is complete. A handshake completes
//     only with a peer that has the key: there are no certificates, so no other way to authenticate.
// S2  The identity that goes with the key names both endpoints. The handshake's proof of the key covers it: a
//     message for another endpoint, or of an earlier process at this port, does not verify.
// S3  The shared secret comes of a fresh key exchange as well: the key, learnt later, does not open what was
//     recorded.
// S4  An OpenSSL of its own (OSSL_LIB_CTX) without configuration files: neither the embedding program's use
//     of OpenSSL nor the environment changes what is spoken here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "transport/tcp/tls/records.hpp"
#include "weft/bytes.hpp"
#include "weft/result.hpp"

using SSL = struct ssl_st;
using SSL_CTX = struct ssl_ctx_st;
using SSL_SESSION = struct ssl_session_st;
using BIO = struct bio_st;
using BIO_METHOD = struct bio_method_st;

namespace weft::tcp {

/// Random: no other endpoint, of this process or any other, has it.
using EndpointId = std::array<std::byte, 16>;

/// The hello of the connecting side: which endpoint it is, and which it means.
struct Introduction {
  static constexpr std::string_view label =
      "weft transport tcp 3";  ///< changes with every change of what is spoken
  static constexpr std::size_t bytes = label.size() + 2 * sizeof(EndpointId);
  EndpointId from{}, to{};
};

/// The code that seals and opens the records of a connection. The bytes on the wire are the same, and the
/// peer's choice does not matter.
enum class RecordsBy : std::uint8_t { weft, openssl };

/// The amount that has been sealed under one key.
struct KeyUse {
  std::uint64_t bytes = 0, records = 0;
};

/// The parts that all connections of an endpoint have in common.
class TlsContext {
 public:
  /// key: any number of bytes, 16 at least; the key that is used is derived from it. Errors: invalid,
  /// not_supported (this OpenSSL lacks what is needed).
  static Result<std::unique_ptr<TlsContext>> make(Bytes key, RecordsBy records = RecordsBy::weft);
  /// openssl where weft was asked for: what the two seal and open here is not the same.
  RecordsBy records_by() const noexcept { return records_by_; }
  /// The most that goes under one key; the rest goes under another. AES-GCM is good for 2^24.5 full records
  /// under one (RFC 8446, 5.5).
  KeyUse most_of_a_key{.bytes = std::uint64_t{32} << 30, .records = std::uint64_t{1} << 24};

 private:
  friend class TlsStream;
  struct Free {
    void operator()(SSL_CTX* context) const noexcept;
    void operator()(SSL_SESSION* session) const noexcept;
    void operator()(BIO_METHOD* method) const noexcept;
    void operator()(OSSL_LIB_CTX* library) const noexcept;
    void operator()(EVP_CIPHER* cipher) const noexcept;
  };
  explicit TlsContext(RecordsBy records) noexcept : records_by_(records) {}
  bool agrees_with_openssl();

  RecordsBy records_by_;
  std::unique_ptr<OSSL_LIB_CTX, Free> library_;
  std::unique_ptr<BIO_METHOD, Free> method_;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL_SESSION, Free> session_;  ///< holds the derived key
  std::unique_ptr<EVP_CIPHER, Free> cipher_;    ///< of records
  std::vector<std::byte> spare_output_;  ///< the memory of one output, for whichever stream writes next
};

/// One connection. OpenSSL knows the object's address, so the object does not move.
class TlsStream {
 public:
  static constexpr std::size_t record_bytes =
      RecordKey::most_bytes;  ///< of the caller's in one record, at most
  static constexpr std::size_t most_before_proof =
      8192;  ///< bytes of a peer that has not proved that it has the key

  enum class State : std::uint8_t {
    handshaking,
    open,
    refused,   ///< the peer has another key, or is another endpoint
    unwanted,  ///< `accepts` said no
    broken
  };
  /// Asked on the accepting side, when the peer has introduced itself and proved nothing yet.
  using Accepts = std::function<bool(const Introduction& peer)>;

  /// The connecting side.
  TlsStream(TlsContext& context, const Introduction& self);
  /// The accepting side.
  TlsStream(TlsContext& context, const EndpointId& self, Accepts accepts);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  State state() const noexcept { return state_; }
  /// Accepting side: the peer's hello was made with the key, by the peer or, recorded, by another.
  bool is_greeted() const noexcept;
  /// Accepting side: what the peer has said of itself. Nothing is proved before the state is open.
  const Introduction& introduction() const noexcept { return introduction_; }

  /// Bytes of the network; they stay the caller's, unchanged, until coming() says that there is no more.
  void feed(Bytes received) noexcept;
  /// The handshake, as far as it goes with what was fed; output() has what it says.
  State step() noexcept;
  // When the state is open:
  /// Bytes of the next record, which is there as a whole; 0: all that was fed is used up. Errors: corrupt.
  Result<std::size_t> coming() noexcept;
  /// Opens that record. into: of coming() bytes at least. Number of bytes; 0: nothing of the caller's.
  /// Errors: corrupt (not from the peer, or altered; `into` is undefined), peer_lost (the peer has closed).
  Result<std::size_t> read(MutableBytes into) noexcept;
  /// Seals all of `plain` into output(). Errors: no_memory.
  Result<void> write(Bytes plain) noexcept;
  /// From here on write() seals under another key; it calls this by itself in time. Errors: no_memory.
  Result<void> renew_key() noexcept;

  /// The bytes that are to be sent, in this order.
  Bytes output() const noexcept { return Bytes(output_).subspan(sent_, said_ - sent_); }
  void sent(std::size_t bytes) noexcept;

 private:
  friend class TlsContext;
  struct Free {
    void operator()(SSL* ssl) const noexcept;
  };
  TlsStream(TlsContext& context);
  Result<std::size_t> coming_by_openssl() noexcept;
  Result<std::size_t> read_by_openssl(MutableBytes into) noexcept;
  Result<void> write_by_openssl(Bytes plain) noexcept;
  Unexpected broken(const char* why) noexcept;
  State fail_handshake(int code) noexcept;
  void keep_secret(std::string_view line) noexcept;
  Result<Bytes> next_record();
  void drop_record(std::size_t bytes) noexcept;
  Result<void> heard(Content content, Bytes text) noexcept;
  std::byte* add_output(std::size_t bytes);
  Result<void> seal(Content content, Bytes text) noexcept;

  TlsContext& context_;
  const RecordsBy records_by_;
  std::unique_ptr<SSL, Free> ssl_;  ///< until the handshake is complete, where the records are Weft's
  bool is_client_ = false;
  std::unique_ptr<RecordKey> sending_, receiving_;  ///< NULL: the handshake has not come to them
  Bytes input_;
  std::vector<std::byte> partial_;  ///< the beginning of a record; input_ goes on with it
  std::vector<std::byte> output_;   ///< bytes sent_ to said_ are to be sent, those behind are room
  std::size_t sent_ = 0, said_ = 0;
  std::size_t fed_before_proof_ = 0;
  KeyUse used_;  ///< of the key of this direction
  State state_ = State::handshaking;
  Introduction introduction_;
  std::array<unsigned char, Introduction::bytes> identity_{};  ///< of the connecting side, as it travels
  Accepts accepts_;
};

}  // namespace weft::tcp
