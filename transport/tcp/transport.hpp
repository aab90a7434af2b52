// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "weft/transport.hpp"

namespace weft::tcp {

class TcpTransport final : public Transport {
 public:
  /// options: networks, as WEFT_NET has them; empty: WEFT_NET.
  Result<std::unique_ptr<Endpoint>> open(const Opening& opening) override;

 private:
  std::string why_not_;
};

}  // namespace weft::tcp
