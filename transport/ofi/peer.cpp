// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ofi/peer.hpp"

#include <rdma/fi_endpoint.h>

#include <cstring>

#include "base/wire.hpp"
#include "transport/ofi/endpoint.hpp"

namespace weft::ofi {
namespace {

constexpr std::uint32_t address_magic = 0x3149464f;  // "OFI1"
struct PackedAddress {
  std::uint32_t magic = address_magic;
  std::uint32_t length = 0;  ///< of the provider's address, which follows
  std::uint64_t kind = 0;
  std::uint64_t incarnation = 0;
};
template <class Archive>
void fields(Archive& archive, PackedAddress& m) {
  archive(m.magic, m.length, m.kind, m.incarnation);
}

}  // namespace

OfiPeer::~OfiPeer() {
  endpoint_.cancel_operations(*this);
}

Address pack(const EndpointAddress& address, std::uint64_t kind) {
  PackedAddress head;
  head.length = static_cast<std::uint32_t>(address.bytes.size());
  head.kind = kind;
  head.incarnation = address.incarnation;
  base::Writer out;
  out(head);
  out.raw(as_bytes(address.bytes));
  return {std::move(out).take()};
}

Result<EndpointAddress> unpack(const Address& packed, std::uint64_t kind) {
  base::Reader in(packed.bytes);
  PackedAddress head;
  in(head);
  const Bytes bytes = in.raw(head.length);
  if (!in.done() || head.magic != address_magic || bytes.empty() || packed.bytes.size() > Address::max_bytes)
    return fail(Errc::corrupt, "not a libfabric address");
  if (head.kind != kind) return fail(Errc::corrupt, "the address of another libfabric provider");
  return EndpointAddress{std::string(as_text(bytes)), head.incarnation};
}

std::uint64_t kind_of(const fi_info& info) noexcept {
  // FNV-1a over what both sides must have in common. The name is part of it: a provider may declare its
  // protocol as unspecified.
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

Result<Connection*> Connections::add_peer(const EndpointAddress& address) {
  auto at = connections_.find(address.bytes);
  if (at == connections_.end()) {
    at = connections_.emplace(address.bytes, std::make_unique<Connection>()).first;
    Connection& connection = *at->second;
    connection.address = address.bytes;
    connection.incarnation = address.incarnation;
    // Some providers read an address as a C string; std::string ends with the 0 that they need.
    const int inserted = fi_av_insert(vector_, connection.address.c_str(), 1, &connection.to, 0, nullptr);
    if (inserted != 1) {
      connections_.erase(at);
      return failed("fi_av_insert", inserted < 0 ? inserted : -FI_EINVAL);
    }
  }
  Connection& connection = *at->second;
  if (connection.incarnation != address.incarnation) {
    connection.incarnation = address.incarnation;
    connection.lost = false;
  }
  ++connection.peers;
  return &connection;
}

void Connections::remove_if_unused(Connection& connection) noexcept {
  if (connection.peers != 0 || connection.transfers != 0) return;
  fi_av_remove(vector_, &connection.to, 1, 0);
  connections_.erase(connections_.find(connection.address));
}

}  // namespace weft::ofi
