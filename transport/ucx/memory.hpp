// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ucp/api/ucp.h>

#include "transport/ucx/peer.hpp"

namespace weft::ucx {

class UcxRegion final : public MemoryRegion {
 public:
  /// Errors: no_memory, os.
  static Result<std::unique_ptr<UcxRegion>> make(UcxEndpoint& owner, std::span<std::byte> memory);
  ~UcxRegion() override;
  Bytes packed_key() const noexcept override { return key_; }
  std::span<std::byte> memory() const noexcept { return memory_; }

 private:
  UcxRegion(UcxEndpoint& owner, std::span<std::byte> memory) : owner_(owner), memory_(memory) {}
  Result<void> map(std::vector<std::byte>& remote_key);

  UcxEndpoint& owner_;
  std::span<std::byte> memory_;
  ucp_mem_h handle_ = nullptr;  ///< NULL: not mapped, peers read it by get requests
  std::uint64_t number_ = 0;
  std::vector<std::byte> key_;
};

class UcxKey final : public RemoteKey {
 public:
  UcxKey(UcxPeer& of, const RegionKey& key, ucp_rkey_h unpacked)
      : peer(of), region(key.region), base(key.base), length(key.length), remote(unpacked) {}
  ~UcxKey() override {
    if (remote != nullptr) ucp_rkey_destroy(remote);
  }
  UcxPeer& peer;
  const std::uint64_t region, base, length;
  const ucp_rkey_h remote;  ///< NULL: read by get requests
};

}  // namespace weft::ucx
