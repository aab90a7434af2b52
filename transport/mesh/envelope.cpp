// SPDX-License-Identifier: BSD-3-Clause
#include "transport/mesh/envelope.hpp"

#include <sodium.h>

#include <bit>
#include <cstdlib>
#include <cstring>

namespace weft::mesh {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");
static_assert(JobKey::bytes >= crypto_generichash_KEYBYTES_MIN &&
              JobKey::bytes <= crypto_generichash_KEYBYTES_MAX);
static_assert(Envelope::mac_bytes >= crypto_generichash_BYTES_MIN);

constexpr std::size_t mac_at = 24;

const unsigned char* raw(Bytes bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

template <class T>
void put(std::byte* to, T value) noexcept {
  std::memcpy(to, &value, sizeof value);
}
template <class T>
T take(Bytes from, std::size_t at) noexcept {
  T value;
  std::memcpy(&value, from.data() + at, sizeof value);
  return value;
}

void mac_of(const JobKey& key, const Life& to, Bytes fields, Bytes header, Bytes payload,
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

void seal(const JobKey& key, const Life& to, const Envelope& envelope, Bytes header, Bytes payload,
          std::span<std::byte, Envelope::bytes> out) noexcept {
  put(out.data(), Envelope::current_version);
  put(out.data() + 1, envelope.flags);
  put(out.data() + 2, envelope.id);
  put(out.data() + 4, envelope.from.node);
  put(out.data() + 8, envelope.from.incarnation);
  put(out.data() + 16, envelope.sequence);
  unsigned char mac[Envelope::mac_bytes];
  mac_of(key, to, out.first(mac_at), header, payload, mac);
  std::memcpy(out.data() + mac_at, mac, sizeof mac);
}

Result<NodeNumber> claimed_sender(Bytes header) noexcept {
  if (header.size() < Envelope::bytes) return fail(Errc::corrupt, "a message without an envelope");
  if (take<std::uint8_t>(header, 0) != Envelope::current_version)
    return fail(Errc::corrupt, "an envelope of another version");
  return take<NodeNumber>(header, 4);
}

Result<Opened> open(const JobKey& key, const Life& me, const Message& message) noexcept {
  const auto from = claimed_sender(message.header);
  if (!from) return fail(from.error());
  const Bytes header = message.header.subspan(Envelope::bytes);
  unsigned char mac[Envelope::mac_bytes];
  mac_of(key, me, message.header.first(mac_at), header, message.payload, mac);
  if (::sodium_memcmp(mac, raw(message.header) + mac_at, sizeof mac) != 0)
    return fail(Errc::denied, "the MAC is not right");
  return Opened{{.flags = take<std::uint8_t>(message.header, 1),
                 .id = take<std::uint16_t>(message.header, 2),
                 .from = {*from, take<std::uint64_t>(message.header, 8)},
                 .sequence = take<std::uint64_t>(message.header, 16)},
                header};
}

}  // namespace weft::mesh
