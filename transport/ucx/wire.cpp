// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/wire.hpp"

namespace weft::ucx {
namespace {

constexpr std::uint32_t address_magic = 0x31414355;  // "UCA1"
constexpr std::uint32_t key_magic = 0x314b4355;      // "UCK1"

/// FNV-1a, folded. Detects truncated and mixed-up bytes; it is no defence against forgery.
std::uint32_t checksum(Bytes bytes) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte b : bytes) hash = (hash ^ static_cast<std::uint64_t>(b)) * 0x100000001b3;
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

std::vector<std::byte> seal(std::uint32_t magic, Bytes body) {
  base::Writer out;
  out(magic, checksum(body));
  out.raw(body);
  return std::move(out).take();
}

std::optional<Bytes> unseal(std::uint32_t magic, Bytes packed) noexcept {
  base::Reader in(packed);
  const auto claimed = in.u32(), check = in.u32();
  const Bytes body = in.rest();
  if (!in.ok() || claimed != magic || check != checksum(body)) return std::nullopt;
  return body;
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
  base::Writer body;
  body(key.region, key.base, key.length);
  body.raw(key.remote_key);
  return seal(key_magic, body.view());
}

std::optional<RegionKey> unpack_key(Bytes packed) noexcept {
  const auto body = unseal(key_magic, packed);
  if (!body) return std::nullopt;
  base::Reader in(*body);
  RegionKey key{};
  in(key.region, key.base, key.length);
  key.remote_key = in.rest();
  if (!in.ok()) return std::nullopt;
  return key;
}

}  // namespace weft::ucx
