// SPDX-License-Identifier: BSD-3-Clause
// Addresses of endpoints, and the connections to them.
#pragma once

#include <rdma/fi_domain.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "transport/ofi/completion.hpp"

namespace weft::ofi {

class OfiEndpoint;

/// An entry of the address vector. The vector must not hold an address twice, so all Peers with that address
/// share the entry. The entry stays until the last of them is destroyed and the library has completed the
/// last Transfer.
struct Connection {
  std::string address;  ///< address in the provider's format
  fi_addr_t to = FI_ADDR_NOTAVAIL;
  std::uint64_t incarnation =
      0;  ///< of the endpoint at that address; another number is another endpoint that took over the port
  bool lost = false;
  bool is_probed = false;
  std::uint32_t peers = 0, transfers = 0;
  std::uint32_t posted = 0;   ///< transfers that the library works on
  std::size_t reading = 0;    ///< bytes of reads in flight that pass through buffers
  Transfer* first = nullptr;  ///< backlog: transfers that the library has not accepted yet
  Transfer* last = nullptr;
};

class OfiPeer final : public Peer {
 public:
  OfiPeer(OfiEndpoint& endpoint, Connection& connection, std::uint64_t incarnation)
      : endpoint_(endpoint), connection_(connection), incarnation_(incarnation) {}
  ~OfiPeer() override;
  Connection& connection() const noexcept { return connection_; }
  std::uint64_t incarnation() const noexcept { return incarnation_; }
  bool is_lost() const noexcept { return connection_.lost || connection_.incarnation != incarnation_; }

 private:
  OfiEndpoint& endpoint_;
  Connection& connection_;
  std::uint64_t incarnation_;
};

/// The provider's address of an endpoint, and a random number that no other endpoint has.
struct EndpointAddress {
  std::string bytes;
  std::uint64_t incarnation = 0;
};

/// kind: identifies the protocol; both sides must have the same.
Address pack(const EndpointAddress& address, std::uint64_t kind);
Result<EndpointAddress> unpack(const Address& packed, std::uint64_t kind);
std::uint64_t kind_of(const fi_info& info) noexcept;

class Connections {
 public:
  void begin(fid_av& vector) noexcept { vector_ = &vector; }
  /// Finds or adds the connection, and counts one more peer on it.
  Result<Connection*> add_peer(const EndpointAddress& address);
  /// To be called after a peer or a transfer of the connection was released.
  void remove_if_unused(Connection& connection) noexcept;

 private:
  fid_av* vector_ = nullptr;
  std::unordered_map<std::string, std::unique_ptr<Connection>> connections_;
};

}  // namespace weft::ofi
