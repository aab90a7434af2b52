// SPDX-License-Identifier: BSD-3-Clause
// Which provider, and on which device: one fi_info with all that the endpoint is opened from.
#pragma once

#include <string>
#include <string_view>

#include "transport/base/locality.hpp"
#include "transport/base/networks.hpp"
#include "transport/ofi/handles.hpp"

namespace weft::ofi {

struct Provider {
  Info info;
  bool rma = false;  ///< fi_read costs the target no processor time, and ends whatever the target does
  bool detects_loss = false;  ///< an operation ends when its peer is gone
};

struct Wish {
  /// `provider`, `provider/domain` or `/domain`, as fi_info names them: "verbs;ofi_rxm/mlx5_0". Without a domain
  /// FI_DOMAIN counts, if it is set. Without a provider the first of the list in provider.cpp that is here; FI_PROVIDER
  /// narrows that down, as in every program that uses libfabric.
  std::string_view options;
  std::string_view networks;     ///< as WEFT_NET has them, see transport/base/networks.hpp
  transport::Locality locality;  ///< of equals the nearest card
};

/// Errors: invalid (networks), not_found, os. `what` may point into why_not, which then tells more.
Result<Provider> choose(const Wish& wish, std::string& why_not);

/// All that one of libfabric's offers is called here, for networks.
transport::Network network_of(const fi_info& info, const std::vector<transport::Network>& interfaces);

}  // namespace weft::ofi
