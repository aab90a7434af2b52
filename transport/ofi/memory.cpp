// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ofi/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "base/wire.hpp"
#include "transport/ofi/endpoint.hpp"

namespace weft::ofi {
namespace {

constexpr std::uint32_t key_magic = 0x314b464f;  // "OFK1"
struct PackedKey {
  std::uint32_t magic = key_magic;
  std::uint32_t raw_bytes = 0;  ///< bytes of a raw key, which follow; 0: `key` is the key
  std::uint64_t base = 0;       ///< the remote address of offset 0: an address of the exposing process, or 0
  std::uint64_t raw_base = 0;   ///< part of the raw key
  std::uint64_t length = 0;
  std::uint64_t key = 0;
};
template <class Archive>
constexpr void fields(Archive& archive, PackedKey& m) {
  archive(m.magic, m.raw_bytes, m.base, m.raw_base, m.length, m.key);
}

/// Random, so that only holders of the packed key can name the region.
std::uint64_t random_key(std::size_t key_size) {
  static thread_local std::random_device source;
  const std::uint64_t bits = std::uint64_t{source()} << 32 | source();
  return key_size >= sizeof bits ? bits : bits & ((std::uint64_t{1} << 8 * key_size) - 1);
}

/// FI_MR_ALLOCATED requires pages behind the memory. Changes no byte, even if other processes write to it
/// meanwhile.
void populate(std::span<std::byte> memory) noexcept {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(memory.data()) / page * page;
  const auto length = reinterpret_cast<std::uintptr_t>(memory.data()) + memory.size() - first;
  // Linux before 5.14 rejects this; the registration then brings the pages in, because drivers of cards pin
  // them.
  static_cast<void>(::madvise(reinterpret_cast<void*>(first), length, MADV_POPULATE_WRITE));
}

}  // namespace

Result<Handle<fid_mr>> Registrar::add(std::span<std::byte> memory, std::uint64_t access) const {
  if (asks_for(FI_MR_ALLOCATED)) populate(memory);
  fid_mr* region = nullptr;
  int code = 0;
  for (int attempt = 0; attempt < 16; ++attempt) {
    const auto key = asks_for(FI_MR_PROV_KEY) ? 0 : random_key(key_size_);
    code = fi_mr_reg(domain_, memory.data(), memory.size(), access, 0, key, 0, &region, nullptr);
    if (code != -FI_ENOKEY) break;  // the key is taken already
  }
  if (code != 0) return failed("fi_mr_reg", code);
  Handle<fid_mr> out(region);
  if (asks_for(FI_MR_ENDPOINT)) {
    if ((code = fi_mr_bind(region, &endpoint_->fid, 0)) != 0) return failed("fi_mr_bind", code);
    if ((code = fi_mr_enable(region)) != 0) return failed("fi_mr_enable", code);
  }
  return out;
}

Result<std::unique_ptr<MemoryRegion>> OfiRegion::make(OfiEndpoint& owner, const Registrar& registrar,
                                                      std::span<std::byte> memory) {
  if (memory.empty()) return fail(Errc::invalid, "no memory to expose");
  std::unique_ptr<OfiRegion> region(new OfiRegion(owner, memory));
  auto registered = registrar.add(memory, FI_REMOTE_READ | FI_READ);
  if (!registered) return fail(registered.error());
  region->registered_ = std::move(*registered);
  if (registrar.asks_for(FI_MR_LOCAL)) region->descriptor_ = fi_mr_desc(region->registered_.get());
  if (const auto packed = region->pack(registrar); !packed) return fail(packed.error());
  return region;
}

Result<void> OfiRegion::pack(const Registrar& registrar) {
  PackedKey packed;
  packed.length = memory_.size();
  if (registrar.asks_for(FI_MR_VIRT_ADDR)) packed.base = reinterpret_cast<std::uintptr_t>(memory_.data());
  std::uint8_t raw[max_key_bytes - base::fixed_bytes<PackedKey>];
  if (registrar.asks_for(FI_MR_RAW)) {
    std::size_t size = sizeof raw;
    const int code = fi_mr_raw_attr(registered_.get(), &packed.raw_base, raw, &size, 0);
    if (code != 0) return failed("fi_mr_raw_attr", code);
    packed.raw_bytes = static_cast<std::uint32_t>(size);
  } else {
    packed.key = fi_mr_key(registered_.get());
    if (packed.key == FI_KEY_NOTAVAIL) return fail(Errc::os, "fi_mr_key");
  }
  base::Writer out;
  out(packed);
  out.raw(std::as_bytes(std::span(raw, packed.raw_bytes)));
  key_ = std::move(out).take();
  return {};
}

OfiRegion::~OfiRegion() {
  owner_.cancel_operations(*this);
}

Result<std::unique_ptr<RemoteKey>> OfiKey::make(const Registrar& registrar, OfiPeer& peer, Bytes packed) {
  base::Reader in(packed);
  PackedKey of;
  in(of);
  const Bytes raw_key = in.raw(of.raw_bytes);
  if (!in.done() || packed.size() > MemoryRegion::max_key_bytes || of.magic != key_magic ||
      of.base + of.length < of.base || (of.raw_bytes != 0 && !registrar.asks_for(FI_MR_RAW)))
    return fail(Errc::corrupt, "not the key of a libfabric region");
  std::unique_ptr<OfiKey> key(new OfiKey(peer));
  key->base_ = of.base;
  key->length_ = of.length;
  key->key_ = of.key;
  if (of.raw_bytes != 0) {
    std::uint8_t raw[MemoryRegion::max_key_bytes];
    std::memcpy(raw, raw_key.data(), raw_key.size());
    if (fi_mr_map_raw(&registrar.domain(), of.raw_base, raw, of.raw_bytes, &key->key_, 0) != 0)
      return fail(Errc::corrupt, "fi_mr_map_raw");
    key->mapped_.reset(new MappedKey{registrar.domain(), key->key_});
  }
  return key;
}

}  // namespace weft::ofi
