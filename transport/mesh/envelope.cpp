// SPDX-License-Identifier: BSD-3-Clause
#include "transport/mesh/envelope.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace weft::mesh {
namespace {

static_assert(JobKey::bytes == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);
static_assert(Envelope::tag_bytes == crypto_aead_xchacha20poly1305_ietf_ABYTES);

constexpr std::size_t tag_at = Envelope::bytes - Envelope::tag_bytes;

const unsigned char* raw(Bytes bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

/// The envelope that a message claims, before its tag is verified.
Result<Envelope> claimed(Bytes header) noexcept {
  if (header.size() < Envelope::bytes) return fail(Errc::corrupt, "a message without an envelope");
  base::Reader in(header.first(tag_at));
  if (in.u16() != protocol_version) return fail(Errc::corrupt, "an envelope of another version");
  Envelope envelope;
  in(envelope);
  return envelope;
}

/// The nonce and the covered bytes, which the cipher takes beside a message's text.
struct Context {
  std::array<std::byte, crypto_aead_xchacha20poly1305_ietf_NPUBBYTES> nonce;
  std::array<std::byte, 24 + tag_at> covered;
};
Context context_of(const NodeIncarnation& to, const Envelope& envelope, std::size_t header_bytes,
                   Bytes fields) noexcept {
  Context out;
  base::write_fixed(out.nonce.data(), envelope.from.node, to.node, envelope.from.incarnation,
                    envelope.sequence);
  // Where the header ends is under the tag as well: bytes cannot wander between header and payload.
  auto* const at = base::write_fixed(out.covered.data(), std::uint64_t{to.node}, to.incarnation,
                                     std::uint64_t{header_bytes});
  std::copy_n(fields.begin(), tag_at, at);
  return out;
}

/// Once a process; without it libsodium may not be used.
void need_sodium() noexcept {
  if (::sodium_init() < 0) std::abort();  // no source of random numbers: there is nothing to be secret with
}

}  // namespace

Result<JobKey> JobKey::from(Bytes raw_key) {
  need_sodium();
  if (raw_key.size() != bytes) return fail(Errc::invalid, "a job key has 32 bytes");
  return JobKey(base::Secret(raw_key));
}

JobKey JobKey::random() {
  need_sodium();
  return JobKey(base::Secret::random(bytes));
}

std::array<std::uint8_t, JobKey::bytes> JobKey::derive(std::string_view purpose) const noexcept {
  std::array<std::uint8_t, bytes> out;
  static_assert(bytes <= crypto_generichash_BYTES_MAX && bytes <= crypto_generichash_KEYBYTES_MAX);
  crypto_generichash(out.data(), out.size(), reinterpret_cast<const unsigned char*>(purpose.data()),
                     purpose.size(), data(), bytes);
  return out;
}

void seal(const JobKey& key, const NodeIncarnation& to, const Envelope& envelope, std::size_t header_bytes,
          MutableBytes text, std::span<std::byte, Envelope::bytes> out) noexcept {
  base::write_fixed(out.data(), protocol_version, envelope);
  const auto context = context_of(to, envelope, header_bytes, out.first(tag_at));
  unsigned char none;  // libsodium wants an address where there is no text, too
  auto* const at = text.empty() ? &none : reinterpret_cast<unsigned char*>(text.data());
  crypto_aead_xchacha20poly1305_ietf_encrypt_detached(
      at, reinterpret_cast<unsigned char*>(out.data()) + tag_at, nullptr, at, text.size(),
      raw(context.covered), context.covered.size(), nullptr, raw(context.nonce), key.data());
}

void write_unsealed(const Envelope& envelope, std::span<std::byte, Envelope::bytes> out) noexcept {
  auto* const at = base::write_fixed(out.data(), protocol_version, envelope);
  std::fill_n(at, Envelope::tag_bytes, std::byte{0});
}

Result<Claim> claim_of(Bytes header) noexcept {
  if (header.size() < Envelope::bytes) return fail(Errc::corrupt, "a message without an envelope");
  Claim out;
  out.version = base::Reader(header).u16();
  out.from = base::Reader(header.subspan(4)).u32();
  return out;
}

Result<VerifiedMessage> open(const JobKey& key, const NodeIncarnation& me, const Message& message,
                             std::vector<std::byte>& text) noexcept {
  const auto envelope = claimed(message.header);
  if (!envelope) return fail(envelope.error());
  const Bytes header = message.header.subspan(Envelope::bytes);
  try {
    text.resize(header.size() + message.payload.size());
  } catch (const std::bad_alloc&) {
    return fail(Errc::no_memory);
  }
  std::copy(message.payload.begin(), message.payload.end(),
            std::copy(header.begin(), header.end(), text.begin()));
  const auto context = context_of(me, *envelope, header.size(), message.header.first(tag_at));
  unsigned char none;  // libsodium wants an address where there is no text, too
  auto* const at = text.empty() ? &none : reinterpret_cast<unsigned char*>(text.data());
  if (crypto_aead_xchacha20poly1305_ietf_decrypt_detached(
          at, nullptr, at, text.size(), raw(message.header) + tag_at, raw(context.covered),
          context.covered.size(), raw(context.nonce), key.data()) != 0)
    return fail(Errc::denied, "the tag is not right");
  return VerifiedMessage{*envelope, Bytes(text).first(header.size()), Bytes(text).subspan(header.size())};
}

Result<VerifiedMessage> open_unsealed(const Message& message) noexcept {
  const auto envelope = claimed(message.header);
  if (!envelope) return fail(envelope.error());
  return VerifiedMessage{*envelope, message.header.subspan(Envelope::bytes), message.payload};
}

}  // namespace weft::mesh
