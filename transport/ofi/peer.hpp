// SPDX-License-Identifier: BSD-3-Clause
// Addresses, and where they lead.
#pragma once

#include <rdma/fi_domain.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "transport/ofi/completion.hpp"

namespace weft::ofi {

class OfiEndpoint;

/// One entry of the address vector, which must not hold an address twice: all Peers with that address share it. It
/// stays until the last of them is gone and the library is done with the last Carrier.
struct Route {
  std::string address;  ///< the provider's bytes
  fi_addr_t to = FI_ADDR_NOTAVAIL;
  std::uint64_t owner = 0;  ///< who answered there last; another one is another endpoint on the same port
  bool lost = false;
  bool is_probed = false;
  std::uint32_t peers = 0, carriers = 0;
  std::uint32_t posted = 0;  ///< carriers that the library has
  std::size_t reading = 0;   ///< bytes that bounce, on their way
  Carrier* first = nullptr;  ///< backlog: what the library did not want yet
  Carrier* last = nullptr;
};

class OfiPeer final : public Peer {
 public:
  OfiPeer(OfiEndpoint& endpoint, Route& route, std::uint64_t owner)
      : endpoint_(endpoint), route_(route), owner_(owner) {}
  ~OfiPeer() override;
  Route& route() const noexcept { return route_; }
  std::uint64_t owner() const noexcept { return owner_; }
  bool is_lost() const noexcept { return route_.lost || route_.owner != owner_; }

 private:
  OfiEndpoint& endpoint_;
  Route& route_;
  std::uint64_t owner_;
};

/// The provider's address of an endpoint, and a number that no other endpoint has.
struct OwnedAddress {
  std::string bytes;
  std::uint64_t owner = 0;
};

/// kind: what both sides must have in common.
Address pack(const OwnedAddress& address, std::uint64_t kind);
Result<OwnedAddress> unpack(const Address& packed, std::uint64_t kind);
std::uint64_t kind_of(const fi_info& info) noexcept;

class Routes {
 public:
  void begin(fid_av& vector) noexcept { vector_ = &vector; }
  /// Adds one to its peers.
  Result<Route*> enter(const OwnedAddress& address);
  /// After a peer or a carrier of it is gone.
  void release_if_unused(Route& route) noexcept;

 private:
  fid_av* vector_ = nullptr;
  std::unordered_map<std::string, std::unique_ptr<Route>> routes_;
};

}  // namespace weft::ofi
