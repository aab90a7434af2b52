// SPDX-License-Identifier: BSD-3-Clause
// Registered memory, and the key that a peer needs to read it.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transport/ofi/handles.hpp"
#include "weft/transport.hpp"

namespace weft::ofi {

class OfiEndpoint;
class OfiPeer;

/// FI_MR_BASIC, whose name is an error where libfabric 2 warns of it: an older name for three of the bits
/// together.
inline constexpr int mr_basic = 1 << 0;

/// Registers memory as the provider's mr_mode bits require.
class Registrar {
 public:
  Registrar() = default;
  Registrar(fid_domain& domain, fid_ep& endpoint, const fi_info& info) noexcept
      : domain_(&domain),
        endpoint_(&endpoint),
        mode_(mode_of(info)),
        key_size_(info.domain_attr->mr_key_size) {}

  /// access: FI_SEND, FI_READ and so on.
  Result<Handle<fid_mr>> add(std::span<std::byte> memory, std::uint64_t access) const;
  bool asks_for(std::uint64_t bit) const noexcept { return (mode_ & bit) != 0; }
  fid_domain& domain() const noexcept { return *domain_; }

 private:
  static std::uint64_t mode_of(const fi_info& info) noexcept {
    const int mode = info.domain_attr->mr_mode;
    return static_cast<std::uint64_t>(mode == mr_basic ? FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY
                                                       : mode);
  }

  fid_domain* domain_ = nullptr;
  fid_ep* endpoint_ = nullptr;
  std::uint64_t mode_ = 0;
  std::size_t key_size_ = 0;
};

class OfiRegion final : public MemoryRegion {
 public:
  static Result<std::unique_ptr<MemoryRegion>> make(OfiEndpoint& owner, const Registrar& registrar,
                                                    std::span<std::byte> memory);
  ~OfiRegion() override;
  Bytes packed_key() const noexcept override { return key_; }
  std::span<std::byte> memory() const noexcept { return memory_; }
  /// The descriptor that the library requires beside an address in this memory; NULL unless FI_MR_LOCAL.
  void* descriptor() const noexcept { return descriptor_; }

 private:
  OfiRegion(OfiEndpoint& owner, std::span<std::byte> memory) : owner_(owner), memory_(memory) {}
  Result<void> pack(const Registrar& registrar);

  OfiEndpoint& owner_;
  std::span<std::byte> memory_;
  Handle<fid_mr> registered_;
  void* descriptor_ = nullptr;
  std::vector<std::byte> key_;
};

/// FI_MR_RAW: the library's own form of a peer's key. Reads in flight hold it too.
struct MappedKey {
  fid_domain& domain;
  std::uint64_t key;
  ~MappedKey() { fi_mr_unmap_key(&domain, key); }
};

class OfiKey final : public RemoteKey {
 public:
  static Result<std::unique_ptr<RemoteKey>> make(const Registrar& registrar, OfiPeer& peer, Bytes packed);

  OfiPeer& peer() const noexcept { return peer_; }
  std::uint64_t key() const noexcept { return key_; }
  const std::shared_ptr<const MappedKey>& mapped() const noexcept { return mapped_; }
  std::uint64_t address(std::uint64_t offset) const noexcept { return base_ + offset; }
  bool holds(std::uint64_t offset, std::uint64_t length) const noexcept {
    return offset <= length_ && length <= length_ - offset;
  }

 private:
  explicit OfiKey(OfiPeer& peer) : peer_(peer) {}

  OfiPeer& peer_;
  std::uint64_t base_ = 0, length_ = 0, key_ = 0;
  std::shared_ptr<const MappedKey> mapped_;  ///< NULL unless FI_MR_RAW
};

}  // namespace weft::ofi
