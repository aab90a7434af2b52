// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "weft/transport.hpp"

namespace weft::ofi {

/// options: see choose() in provider.hpp. WEFT_NET in the environment restricts the networks.
class OfiTransport final : public Transport {
 public:
  /// `what` of an error stays valid until the next call or the end of this object.
  Result<std::unique_ptr<Endpoint>> open(const Opening& opening) override;

 private:
  std::string why_not_;
};

}  // namespace weft::ofi
