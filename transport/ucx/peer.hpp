// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "transport/ucx/completion.hpp"

namespace weft::ucx {

class UcxPeer final : public Peer {
 public:
  explicit UcxPeer(Connection& connection) : connection_(connection) { connection.peer = this; }
  ~UcxPeer() override;
  Connection& connection() const noexcept { return connection_; }

 private:
  Connection& connection_;
};

}  // namespace weft::ucx
