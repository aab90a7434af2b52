// SPDX-License-Identifier: BSD-3-Clause
// Which provider, and on which device: one fi_info with all that the endpoint is opened from.
#pragma once

#include <string_view>

#include "transport/ofi/handles.hpp"

namespace weft::ofi {

struct Provider {
  Info info;
  bool rma = false;  ///< fi_read costs the target no processor time, and ends whatever the target does
  bool detects_loss = false;  ///< an operation ends when its peer is gone
};

/// options: `provider`, `provider/domain` or `/domain`, as fi_info names them: "verbs;ofi_rxm/mlx5_0". Without a domain
/// FI_DOMAIN counts, if it is set. Without a provider the first of the list in provider.cpp that is here; FI_PROVIDER
/// narrows that down, as in every program that uses libfabric. Errors: not_found, os.
Result<Provider> choose(std::string_view options);

}  // namespace weft::ofi
