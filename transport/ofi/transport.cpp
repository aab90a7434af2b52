// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ofi/transport.hpp"

#include <cerrno>

#include "base/settings.hpp"
#include "transport/base/locked_memory.hpp"
#include "transport/ofi/endpoint.hpp"
#include "transport/ofi/providers/rxm.hpp"

namespace weft::ofi {
namespace {

bool may_be_verbs(std::string_view options) noexcept {
  return options.empty() || options.front() == '/' || options.find("verbs") != options.npos;
}

/// Says what failed, over which device, in libfabric's words; over ofi_rxm, whose queues are the usual
/// reason, also what to change.
std::string explain(const Error& error, const std::string& device,
                    const std::optional<std::uint32_t>& entries) {
  std::string text = std::string(error.what) + " fails over " + device;
  if (error.sys != 0) text += std::string(" (libfabric: ") + fi_strerror(error.sys) + ")";
  if (error.sys == ENOMEM) return text + transport::locked_memory_hint();
  if (entries && device.starts_with("verbs;ofi_rxm"))
    text +=
        "; a completion queue of this card has at most " + std::to_string(*entries) +
        " entries, and ofi_rxm wants FI_UNIVERSE_SIZE x (FI_OFI_RXM_MSG_TX_SIZE + FI_OFI_RXM_MSG_RX_SIZE): "
        "unset these variables, or make them smaller";
  return text;
}

}  // namespace

Result<std::unique_ptr<Endpoint>> OfiTransport::open(const Opening& opening) {
  std::optional<std::uint32_t> entries;
  if (may_be_verbs(opening.options)) entries = entries_of_devices();
  const RxmEnvironment environment(entries ? std::optional(rxm_sizes(opening.nodes, *entries))
                                           : std::nullopt);
  const auto networks = base::read(base::Variable::net).text;
  auto provider = choose({.options = opening.options, .networks = networks, .locality = {}}, why_not_);
  if (!provider) return fail(provider.error());
  const auto device =
      std::string(provider->info->fabric_attr->prov_name) + "/" + provider->info->domain_attr->name;
  auto endpoint = OfiEndpoint::make(std::move(*provider));
  if (endpoint) return endpoint;
  why_not_ = explain(endpoint.error(), device, entries);
  return fail(endpoint.error().code, why_not_.c_str(), endpoint.error().sys);
}

}  // namespace weft::ofi
