// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/wire.hpp"

namespace weft::ucx {
namespace {

constexpr std::uint32_t address_magic = 0x31414355;  // "UCA1"
constexpr std::uint32_t key_magic = 0x314b4355;      // "UCK1"

struct Front {
  std::uint32_t magic, check;
};
struct KeyFront {
  std::uint64_t region, base, length;
};

/// FNV-1a, folded. It finds what was cut or mixed up, not what was forged.
std::uint32_t checksum(Bytes bytes) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte b : bytes) hash = (hash ^ static_cast<std::uint64_t>(b)) * 0x100000001b3;
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

template <class T>
std::vector<std::byte> with_front(const T& front, Bytes rest) {
  std::vector<std::byte> out(sizeof front + rest.size());
  std::memcpy(out.data(), &front, sizeof front);
  if (!rest.empty()) std::memcpy(out.data() + sizeof front, rest.data(), rest.size());
  return out;
}

std::vector<std::byte> seal(std::uint32_t magic, Bytes body) {
  return with_front(Front{magic, checksum(body)}, body);
}

std::optional<Bytes> unseal(std::uint32_t magic, Bytes packed) noexcept {
  Front front{};
  if (!take(packed, front) || front.magic != magic || front.check != checksum(packed)) return std::nullopt;
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
  return seal(key_magic, with_front(KeyFront{key.region, key.base, key.length}, key.remote_key));
}

std::optional<RegionKey> unpack_key(Bytes packed) noexcept {
  auto body = unseal(key_magic, packed);
  KeyFront front{};
  if (!body || !take(*body, front)) return std::nullopt;
  return RegionKey{front.region, front.base, front.length, *body};
}

}  // namespace weft::ucx
