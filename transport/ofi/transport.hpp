// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "weft/transport.hpp"

namespace weft::ofi {

/// options: see choose() in provider.hpp; WEFT_NET in the environment says which networks it may use.
class OfiTransport final : public Transport {
 public:
  /// An error's `what` holds until the next call, or the end of this.
  Result<std::unique_ptr<Endpoint>> open(std::string_view options) override;

 private:
  std::string why_not_;
};

}  // namespace weft::ofi
