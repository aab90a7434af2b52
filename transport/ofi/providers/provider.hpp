// SPDX-License-Identifier: BSD-3-Clause
// Chooses a provider and a device: one fi_info that describes everything the endpoint is opened from.
#pragma once

#include <string>
#include <string_view>

#include "transport/base/locality.hpp"
#include "transport/base/networks.hpp"
#include "transport/ofi/handles.hpp"

namespace weft::ofi {

struct Provider {
  Info info;
  bool rma = false;  ///< fi_read() costs the target no processor time and completes whatever the target does
  bool detects_loss = false;  ///< an operation ends when its peer has died
};

struct Options {
  /// `provider`, `provider/domain` or `/domain`, with the names that fi_info prints: "verbs;ofi_rxm/mlx5_0".
  /// Without a domain, FI_DOMAIN counts if it is set. Without a provider, the first one of the list in
  /// provider.cpp that is present; the environment variable FI_PROVIDER restricts that choice, as in every
  /// program that uses libfabric.
  std::string_view options;
  std::string_view networks;     ///< the value of WEFT_NET, see transport/base/networks.hpp
  transport::Locality locality;  ///< where the machine's cards are: of equal candidates the nearest is chosen
};

/// Errors: invalid (networks), not_found, os. `what` may point into why_not, which then names the reason.
Result<Provider> choose(const Options& options, std::string& why_not);

/// All names of the device that an fi_info describes, with their addresses, to be matched against WEFT_NET.
transport::Network network_of(const fi_info& info, const std::vector<transport::Network>& interfaces);

}  // namespace weft::ofi
