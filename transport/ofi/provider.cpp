// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ofi/provider.hpp"

#include <netinet/in.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <string.h>  // strdup

#include <algorithm>
#include <compare>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace weft::ofi {
namespace {

/// Best first; a provider that is not listed is used only if it is named. shm and sockets are of that kind: the one
/// ends at the node, the other is there for development only. What a row claims without a machine to see it on, it
/// claims from the provider's manual page.
struct Known {
  std::string_view name;
  bool by_itself;
  bool rma;
  bool detects_loss;
};
// clang-format off
constexpr Known known[] = {
    {"cxi", true, true, false},
    {"efa", true, false, false},  // reads may be emulated, with the target's help
    {"opx", true, false, false},
    {"psm3", true, false, false},
    {"psm2", true, false, false},
    {"verbs;ofi_rxm", true, true, false},
    {"tcp", true, false, true},  // reliable datagrams without ofi_rxm: libfabric 1.18 and later
    {"net", true, false, true},  // tcp of 1.16 and 1.17
    {"tcp;ofi_rxm", true, false, true},
    {"shm", false, true, false},  // the reader copies from the other process by itself
};
// clang-format on
constexpr std::size_t unknown = std::size(known);

std::size_t rank_of(const fi_info& info) noexcept {
  const std::string_view name = info.fabric_attr->prov_name;
  std::size_t rank = 0;
  while (rank < unknown && known[rank].name != name) ++rank;
  return rank;
}

sockaddr_storage address_of(const fi_info& info) noexcept {
  sockaddr_storage out{};
  const bool is_ip = info.addr_format == FI_SOCKADDR || info.addr_format == FI_SOCKADDR_IN ||
                     info.addr_format == FI_SOCKADDR_IN6;
  if (is_ip && info.src_addr != nullptr && info.src_addrlen >= sizeof(sockaddr_in))
    std::memcpy(&out, info.src_addr, std::min(info.src_addrlen, sizeof out));
  return out;
}

/// 0: other nodes can reach it; more: less likely.
int reach_of(const fi_info& info) noexcept {
  const auto address = address_of(info);
  if (address.ss_family == AF_INET)
    return (ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24) == 127 ? 3 : 0;
  if (address.ss_family != AF_INET6) return 0;
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  if (IN6_IS_ADDR_LOOPBACK(&v6)) return 3;
  return IN6_IS_ADDR_LINKLOCAL(&v6) ? 2 : 0;  // its scope is a number of this node only
}

/// The NUMA node of its card, by its place on the bus or by its name.
int node_of(const fi_info& info, const transport::Network& network, const transport::Locality& locality) {
  if (info.nic != nullptr && info.nic->bus_attr != nullptr && info.nic->bus_attr->bus_type == FI_BUS_PCI) {
    const auto& pci = info.nic->bus_attr->attr.pci;
    char text[32];
    std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", pci.domain_id, pci.bus_id, pci.device_id,
                  pci.function_id);
    if (const int node = locality.node_of_pci(text); node != locality.unknown) return node;
  }
  for (const auto& name : network.names)
    if (const int node = locality.node_of_device(name); node != locality.unknown) return node;
  return locality.unknown;
}

/// Compared from left to right, the smaller one is better.
struct Merit {
  std::size_t rank;
  int reach;
  unsigned distance;
  auto operator<=>(const Merit&) const = default;
};

Info hints_for(const std::string& provider, const std::string& domain) {
  Info hints(fi_allocinfo());
  if (!hints) return hints;
  hints->caps = FI_MSG | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_REMOTE_READ;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT | FI_MR_RAW;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;  // one thread has all of it
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;  // a receiver that is late slows its senders down
  // fi_freeinfo() gives them back to malloc.
  if (!provider.empty()) hints->fabric_attr->prov_name = ::strdup(provider.c_str());
  if (!domain.empty()) hints->domain_attr->name = ::strdup(domain.c_str());
  return hints;
}

/// The same once more with buffers that take several messages, if the provider has that.
Info with_multi_receive(Info plain) {
  Info hints(fi_dupinfo(plain.get()));
  if (!hints) return plain;
  hints->caps |= FI_MULTI_RECV;
  hints->rx_attr->caps = 0;
  fi_info* found = nullptr;
  if (fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints.get(), &found) != 0) return plain;
  Info owner(found);
  for (fi_info* at = found; at != nullptr; at = at->next) {
    const bool same =
        std::strcmp(at->fabric_attr->prov_name, plain->fabric_attr->prov_name) == 0 &&
        std::strcmp(at->domain_attr->name, plain->domain_attr->name) == 0 &&
        at->addr_format == plain->addr_format && at->src_addrlen == plain->src_addrlen &&
        (at->src_addrlen == 0 || std::memcmp(at->src_addr, plain->src_addr, at->src_addrlen) == 0);
    if (same && (at->caps & FI_MULTI_RECV) != 0) return Info(fi_dupinfo(at));
  }
  return plain;
}

}  // namespace

transport::Network network_of(const fi_info& info, const std::vector<transport::Network>& interfaces) {
  transport::Network out;
  const auto name = [&out](const char* text) {
    if (text != nullptr && std::find(out.names.begin(), out.names.end(), text) == out.names.end())
      out.names.emplace_back(text);
  };
  name(info.domain_attr->name);
  if (info.nic != nullptr && info.nic->device_attr != nullptr) name(info.nic->device_attr->name);
  const auto address = address_of(info);
  if (address.ss_family == AF_UNSPEC) return out;
  out.addresses.push_back(address);
  const auto text = transport::to_text(address);
  for (const auto& interface : interfaces)
    for (const auto& one : interface.addresses)
      if (transport::to_text(one) == text) name(interface.names.front().c_str());
  return out;
}

Result<Provider> choose(const Wish& wish, std::string& why_not) {
  const auto networks = transport::Networks::parse(wish.networks, why_not);
  if (!networks) return fail(Errc::invalid, why_not.c_str());
  const auto slash = wish.options.find('/');
  const std::string name(wish.options.substr(0, slash));
  std::string domain(slash == std::string_view::npos ? "" : wish.options.substr(slash + 1));
  if (const char* wanted = std::getenv("FI_DOMAIN"); domain.empty() && wanted != nullptr) domain = wanted;

  const Info hints = hints_for(name, domain);
  if (!hints) return fail(Errc::no_memory);
  fi_info* found = nullptr;
  const int code = fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints.get(), &found);
  if (code == -FI_ENODATA) return fail(Errc::not_found, "no such libfabric provider or domain here");
  if (code != 0) return failed("fi_getinfo", code);
  const Info all(found);

  const auto interfaces = transport::interfaces();
  const int here = transport::own_numa_node();
  const fi_info* best = nullptr;
  Merit most{};
  std::vector<std::string> not_taken;
  for (const fi_info* at = found; at != nullptr; at = at->next) {
    const auto rank = rank_of(*at);
    if (name.empty() && (rank == unknown || !known[rank].by_itself)) continue;
    const auto network = network_of(*at, interfaces);
    if (!networks->take(network)) {
      auto text = transport::to_text(network);
      if (std::find(not_taken.begin(), not_taken.end(), text) == not_taken.end())
        not_taken.push_back(std::move(text));
      continue;
    }
    const Merit merit{rank, reach_of(*at),
                      wish.locality.distance(here, node_of(*at, network, wish.locality))};
    if (best != nullptr && most <= merit) continue;
    best = at;
    most = merit;
  }
  if (best == nullptr && not_taken.empty())
    return fail(Errc::not_found, "no libfabric provider here that reaches other nodes");
  if (best == nullptr) {
    why_not = "WEFT_NET=" + std::string(wish.networks) + " matches none of";
    for (const auto& text : not_taken) why_not += (&text == not_taken.data() ? " " : ", ") + text;
    return fail(Errc::not_found, why_not.c_str());
  }
  Provider out;
  out.info = Info(fi_dupinfo(best));
  if (!out.info) return fail(Errc::no_memory);
  out.info = with_multi_receive(std::move(out.info));
  if (const auto rank = rank_of(*out.info); rank != unknown) {
    out.rma = known[rank].rma;
    out.detects_loss = known[rank].detects_loss;
  }
  return out;
}

}  // namespace weft::ofi
