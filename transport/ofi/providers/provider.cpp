// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ofi/providers/provider.hpp"

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

/// Best first. A provider that is not listed here or not a default is used only if it is named: shm reaches
/// only this node, sockets is meant for development only. Rows of providers that no machine was at hand for
/// follow the provider's manual page.
struct KnownProvider {
  std::string_view name;
  bool is_default;
  bool rma;
  bool detects_loss;
};
// clang-format off
constexpr KnownProvider known[] = {
    {"cxi", true, true, false},
    {"efa", true, false, false},  // reads may be emulated and then need the target's progress
    {"opx", true, false, false},
    {"psm3", true, false, false},
    {"psm2", true, false, false},
    {"verbs;ofi_rxm", true, true, false},
    {"tcp", true, false, true},  // reliable datagrams without ofi_rxm: libfabric 1.18 and later
    {"net", true, false, true},  // tcp of 1.16 and 1.17
    {"tcp;ofi_rxm", true, false, true},
    {"shm", false, true, false},  // the reader copies from the memory of the other process
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

/// 0: other nodes can reach the address; the larger, the less likely.
int reach_of(const fi_info& info) noexcept {
  const auto address = address_of(info);
  if (address.ss_family == AF_INET)
    return (ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24) == 127 ? 3 : 0;
  if (address.ss_family != AF_INET6) return 0;
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  if (IN6_IS_ADDR_LOOPBACK(&v6)) return 3;
  return IN6_IS_ADDR_LINKLOCAL(&v6) ? 2 : 0;  // valid only with the scope number of this node
}

/// The NUMA node of the card, from its PCI address or its name.
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

/// Compared member by member; the smaller is better.
struct Preference {
  std::size_t rank;
  int reach;
  unsigned distance;
  auto operator<=>(const Preference&) const = default;
};

Info hints_for(const std::string& provider, const std::string& domain) {
  Info hints(fi_allocinfo());
  if (!hints) return hints;
  hints->caps = FI_MSG | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_REMOTE_READ;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT | FI_MR_RAW;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;  // only one thread uses the domain
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;  // a slow receiver slows its senders down
  // fi_freeinfo() frees these strings with free().
  if (!provider.empty()) hints->fabric_attr->prov_name = ::strdup(provider.c_str());
  if (!domain.empty()) hints->domain_attr->name = ::strdup(domain.c_str());
  return hints;
}

/// The provider with buffers that take several messages, if it supports that.
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

Result<Provider> choose(const Options& options, std::string& why_not) {
  const auto networks = transport::Networks::parse(options.networks, why_not);
  if (!networks) return fail(Errc::invalid, why_not.c_str());
  const auto slash = options.options.find('/');
  const std::string name(options.options.substr(0, slash));
  std::string domain(slash == std::string_view::npos ? "" : options.options.substr(slash + 1));
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
  Preference best_preference{};
  std::vector<std::string> excluded;
  for (const fi_info* at = found; at != nullptr; at = at->next) {
    const auto rank = rank_of(*at);
    if (name.empty() && (rank == unknown || !known[rank].is_default)) continue;
    const auto network = network_of(*at, interfaces);
    if (!networks->accepts(network)) {
      auto text = transport::to_text(network);
      if (std::find(excluded.begin(), excluded.end(), text) == excluded.end())
        excluded.push_back(std::move(text));
      continue;
    }
    const Preference preference{rank, reach_of(*at),
                                options.locality.distance(here, node_of(*at, network, options.locality))};
    if (best != nullptr && best_preference <= preference) continue;
    best = at;
    best_preference = preference;
  }
  if (best == nullptr && excluded.empty())
    return fail(Errc::not_found, "no libfabric provider here that reaches other nodes");
  if (best == nullptr) {
    why_not = "WEFT_NET=" + std::string(options.networks) + " matches none of";
    for (const auto& text : excluded) why_not += (&text == excluded.data() ? " " : ", ") + text;
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
