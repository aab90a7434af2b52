// SPDX-License-Identifier: BSD-3-Clause
// Memory that peers may read, by a number that the endpoint gives once.
#pragma once

#include <array>
#include <cstdint>

#include "base/wire.hpp"
#include "transport/tcp/link.hpp"

namespace weft::tcp {

struct PackedKey {
  static constexpr std::uint8_t wire_version = 1;
  EndpointId endpoint{};
  std::uint64_t region = 0;
};
template <class Archive>
constexpr void fields(Archive& archive, PackedKey& m) {
  archive(m.endpoint, m.region);
}

class TcpRegion final : public MemoryRegion {
 public:
  TcpRegion(TcpEndpoint& owner, std::span<std::byte> exposed, const PackedKey& key)
      : memory(exposed), number(key.region), owner_(owner), key_(base::encode(key)) {}
  ~TcpRegion() override;
  Bytes packed_key() const noexcept override { return key_; }
  const std::span<std::byte> memory;
  const std::uint64_t number;

 private:
  TcpEndpoint& owner_;
  std::vector<std::byte> key_;
};

class TcpKey final : public RemoteKey {
 public:
  TcpKey(TcpPeer& owner, std::uint64_t number) noexcept : peer(owner), region(number) {}
  TcpPeer& peer;
  const std::uint64_t region;
};

}  // namespace weft::tcp
