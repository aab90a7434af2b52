// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/wire.hpp"

namespace weft::ucx {
namespace {

constexpr std::uint32_t address_magic = 0x31414355;  // "UCA1"
constexpr std::uint32_t key_magic = 0x314b4355;      // "UCK1"

struct Prefix {
  std::uint32_t magic, check;
};
struct KeyPrefix {
  std::uint64_t region, base, length;
};

/// FNV-1a, folded. Detects truncated and mixed-up bytes; it is no defence against forgery.
std::uint32_t checksum(Bytes bytes) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte b : bytes) hash = (hash ^ static_cast<std::uint64_t>(b)) * 0x100000001b3;
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

template <class T>
std::vector<std::byte> with_prefix(const T& prefix, Bytes rest) {
  std::vector<std::byte> out(sizeof prefix + rest.size());
  std::memcpy(out.data(), &prefix, sizeof prefix);
  if (!rest.empty()) std::memcpy(out.data() + sizeof prefix, rest.data(), rest.size());
  return out;
}

std::vector<std::byte> seal(std::uint32_t magic, Bytes body) {
  return with_prefix(Prefix{magic, checksum(body)}, body);
}

std::optional<Bytes> unseal(std::uint32_t magic, Bytes packed) noexcept {
  Prefix prefix{};
  if (!take(packed, prefix) || prefix.magic != magic || prefix.check != checksum(packed)) return std::nullopt;
  return packed;
}

}  // namespace

std::vector<std::byte> pack_address(Bytes worker_address) {
  return seal(address_magic, worker_address);
}

std::optional<Bytes> unpack_address(Bytes packed) noexcept {
  const auto body = unseal(address_magic, packed);
  return body && !body->empty() ? body : std::nullopt;
}

std::vector<std::byte> pack_key(const RegionKey& key) {
  return seal(key_magic, with_prefix(KeyPrefix{key.region, key.base, key.length}, key.remote_key));
}

std::optional<RegionKey> unpack_key(Bytes packed) noexcept {
  auto body = unseal(key_magic, packed);
  KeyPrefix prefix{};
  if (!body || !take(*body, prefix)) return std::nullopt;
  return RegionKey{prefix.region, prefix.base, prefix.length, *body};
}

}  // namespace weft::ucx
