// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ofi/peer.hpp"

#include <rdma/fi_endpoint.h>

#include <cstring>

#include "transport/ofi/endpoint.hpp"

namespace weft::ofi {
namespace {

constexpr std::uint32_t address_magic = 0x3149464f;  // "OFI1"
struct PackedAddress {
  std::uint32_t magic = address_magic;
  std::uint32_t length = 0;  ///< of the provider's bytes, which follow
  std::uint64_t kind = 0;
  std::uint64_t owner = 0;
};

}  // namespace

OfiPeer::~OfiPeer() {
  endpoint_.forget(*this);
}

Address pack(const OwnedAddress& address, std::uint64_t kind) {
  PackedAddress head;
  head.length = static_cast<std::uint32_t>(address.bytes.size());
  head.kind = kind;
  head.owner = address.owner;
  Address out;
  out.bytes.resize(sizeof head + address.bytes.size());
  std::memcpy(out.bytes.data(), &head, sizeof head);
  std::memcpy(out.bytes.data() + sizeof head, address.bytes.data(), address.bytes.size());
  return out;
}

Result<OwnedAddress> unpack(const Address& packed, std::uint64_t kind) {
  PackedAddress head;
  if (packed.bytes.size() < sizeof head || packed.bytes.size() > Address::max_bytes)
    return fail(Errc::corrupt, "not a libfabric address");
  std::memcpy(&head, packed.bytes.data(), sizeof head);
  if (head.magic != address_magic || head.length == 0 || head.length != packed.bytes.size() - sizeof head)
    return fail(Errc::corrupt, "not a libfabric address");
  if (head.kind != kind) return fail(Errc::corrupt, "the address of another libfabric provider");
  const auto* bytes = reinterpret_cast<const char*>(packed.bytes.data() + sizeof head);
  return OwnedAddress{std::string(bytes, head.length), head.owner};
}

std::uint64_t kind_of(const fi_info& info) noexcept {
  // FNV-1a of what both sides must have in common. The name counts too: a provider may call its protocol unspecified.
  std::uint64_t hash = 14695981039346656037u;
  const auto add = [&hash](const void* data, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
      hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * std::uint64_t{1099511628211u};
  };
  add(info.fabric_attr->prov_name, std::strlen(info.fabric_attr->prov_name));
  add(&info.addr_format, sizeof info.addr_format);
  add(&info.ep_attr->protocol, sizeof info.ep_attr->protocol);
  return hash;
}

Result<Route*> Routes::enter(const OwnedAddress& address) {
  auto at = routes_.find(address.bytes);
  if (at == routes_.end()) {
    at = routes_.emplace(address.bytes, std::make_unique<Route>()).first;
    Route& route = *at->second;
    route.address = address.bytes;
    route.owner = address.owner;
    // Some providers read an address as the C string that it is there; std::string has the 0 behind it.
    const int inserted = fi_av_insert(vector_, route.address.c_str(), 1, &route.to, 0, nullptr);
    if (inserted != 1) {
      routes_.erase(at);
      return failed("fi_av_insert", inserted < 0 ? inserted : -FI_EINVAL);
    }
  }
  Route& route = *at->second;
  if (route.owner != address.owner) {
    route.owner = address.owner;
    route.lost = false;
  }
  ++route.peers;
  return &route;
}

void Routes::release_if_unused(Route& route) noexcept {
  if (route.peers != 0 || route.carriers != 0) return;
  fi_av_remove(vector_, &route.to, 1, 0);
  routes_.erase(routes_.find(route.address));
}

}  // namespace weft::ofi
