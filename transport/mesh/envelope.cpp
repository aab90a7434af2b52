// SPDX-License-Identifier: BSD-3-Clause
#include "transport/mesh/envelope.hpp"

#include <sodium.h>

#include <cstdlib>
#include <cstring>

namespace weft::mesh {
namespace {

static_assert(JobKey::bytes >= crypto_generichash_KEYBYTES_MIN &&
              JobKey::bytes <= crypto_generichash_KEYBYTES_MAX);
static_assert(Envelope::mac_bytes >= crypto_generichash_BYTES_MIN);

constexpr std::size_t mac_at = Envelope::bytes - Envelope::mac_bytes;

const unsigned char* raw(Bytes bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

/// What a message claims, before its MAC is verified.
Result<Envelope> claimed(Bytes header) noexcept {
  if (header.size() < Envelope::bytes) return fail(Errc::corrupt, "a message without an envelope");
  base::Reader in(header.first(mac_at));
  if (in.scalar<std::uint8_t>() != Envelope::wire_version)
    return fail(Errc::corrupt, "an envelope of another version");
  Envelope envelope;
  in(envelope);
  return envelope;
}

void mac_of(const JobKey& key, const NodeIncarnation& to, Bytes fields, Bytes header, Bytes payload,
            unsigned char (&out)[Envelope::mac_bytes]) noexcept {
  crypto_generichash_state state;
  crypto_generichash_init(&state, key.data(), JobKey::bytes, sizeof out);
  // Where the header ends is under the MAC as well: bytes cannot wander between header and payload.
  const std::uint64_t fixed[] = {to.node, to.incarnation, header.size()};
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(fixed), sizeof fixed);
  crypto_generichash_update(&state, raw(fields), fields.size());
  if (!header.empty()) crypto_generichash_update(&state, raw(header), header.size());
  if (!payload.empty()) crypto_generichash_update(&state, raw(payload), payload.size());
  crypto_generichash_final(&state, out, sizeof out);
}

/// Once a process; without it libsodium may not be used.
void need_sodium() noexcept {
  if (::sodium_init() < 0) std::abort();  // no source of random numbers: there is nothing to be secret with
}

}  // namespace

Result<JobKey> JobKey::from(Bytes raw_key) {
  need_sodium();
  if (raw_key.size() != bytes) return fail(Errc::invalid, "a job key has 32 bytes");
  JobKey key;
  std::memcpy(key.raw_.data(), raw_key.data(), bytes);
  return key;
}

JobKey JobKey::random() {
  need_sodium();
  JobKey key;
  ::randombytes_buf(key.raw_.data(), bytes);
  return key;
}

JobKey::~JobKey() {
  ::sodium_memzero(raw_.data(), bytes);
}

void seal(const JobKey& key, const NodeIncarnation& to, const Envelope& envelope, Bytes header, Bytes payload,
          std::span<std::byte, Envelope::bytes> out) noexcept {
  base::write_fixed(out.data(), Envelope::wire_version, envelope);
  unsigned char mac[Envelope::mac_bytes];
  mac_of(key, to, out.first(mac_at), header, payload, mac);
  std::memcpy(out.data() + mac_at, mac, sizeof mac);
}

Result<NodeNumber> claimed_sender(Bytes header) noexcept {
  const auto envelope = claimed(header);
  if (!envelope) return fail(envelope.error());
  return envelope->from.node;
}

Result<VerifiedMessage> open(const JobKey& key, const NodeIncarnation& me, const Message& message) noexcept {
  const auto envelope = claimed(message.header);
  if (!envelope) return fail(envelope.error());
  const Bytes header = message.header.subspan(Envelope::bytes);
  unsigned char mac[Envelope::mac_bytes];
  mac_of(key, me, message.header.first(mac_at), header, message.payload, mac);
  if (::sodium_memcmp(mac, raw(message.header) + mac_at, sizeof mac) != 0)
    return fail(Errc::denied, "the MAC is not right");
  return VerifiedMessage{*envelope, header};
}

}  // namespace weft::mesh
