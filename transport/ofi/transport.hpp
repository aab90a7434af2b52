// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "weft/transport.hpp"

namespace weft::ofi {

/// options: see choose() in provider.hpp.
class OfiTransport final : public Transport {
 public:
  Result<std::unique_ptr<Endpoint>> open(std::string_view options) override;
};

}  // namespace weft::ofi
