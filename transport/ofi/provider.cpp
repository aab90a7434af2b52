// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ofi/provider.hpp"

#include <netinet/in.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <string.h>  // strdup

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
    {"tcp;ofi_rxm", true, false, true},
    {"net", true, false, true},  // tcp of 1.16 and 1.17; last because of its descriptor, see README.md
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

/// 0: other nodes can reach it; more: less likely.
int distance(const fi_info& info) noexcept {
  const auto* address = static_cast<const sockaddr*>(info.src_addr);
  if (address == nullptr || info.src_addrlen < sizeof(sockaddr_in)) return 0;
  if (address->sa_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, address, sizeof v4);
    return (ntohl(v4.sin_addr.s_addr) >> 24) == 127 ? 3 : 0;
  }
  if (address->sa_family == AF_INET6 && info.src_addrlen >= sizeof(sockaddr_in6)) {
    sockaddr_in6 v6;
    std::memcpy(&v6, address, sizeof v6);
    if (IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr)) return 3;
    return IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr) ? 2 : 0;  // its scope is a number of this node only
  }
  return 0;
}

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
    const bool same = std::strcmp(at->fabric_attr->prov_name, plain->fabric_attr->prov_name) == 0 &&
                      std::strcmp(at->domain_attr->name, plain->domain_attr->name) == 0 &&
                      at->addr_format == plain->addr_format;
    if (same && (at->caps & FI_MULTI_RECV) != 0) return Info(fi_dupinfo(at));
  }
  return plain;
}

}  // namespace

Result<Provider> choose(std::string_view options) {
  const auto slash = options.find('/');
  const std::string name(options.substr(0, slash));
  std::string domain(slash == std::string_view::npos ? "" : options.substr(slash + 1));
  if (const char* wanted = std::getenv("FI_DOMAIN"); domain.empty() && wanted != nullptr) domain = wanted;

  const Info hints = hints_for(name, domain);
  if (!hints) return fail(Errc::no_memory);
  fi_info* found = nullptr;
  const int code = fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints.get(), &found);
  if (code == -FI_ENODATA) return fail(Errc::not_found, "no such libfabric provider or domain here");
  if (code != 0) return failed("fi_getinfo", code);
  const Info all(found);

  const fi_info* best = nullptr;
  for (const fi_info* at = found; at != nullptr; at = at->next) {
    const auto rank = rank_of(*at);
    if (name.empty() && (rank == unknown || !known[rank].by_itself)) continue;
    if (best == nullptr || rank < rank_of(*best) ||
        (rank == rank_of(*best) && distance(*at) < distance(*best)))
      best = at;
  }
  if (best == nullptr) return fail(Errc::not_found, "no libfabric provider here that reaches other nodes");
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
