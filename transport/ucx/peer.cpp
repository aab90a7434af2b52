// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/peer.hpp"

#include "transport/ucx/endpoint.hpp"

namespace weft::ucx {

UcxPeer::~UcxPeer() {
  line_.owner->await_direct_gets(&line_, nullptr);
  line_.owner->cancel_if([this](const transport::Operation& o) { return o.peer == this; });
  line_.peer = nullptr;
  line_.owner->retire(line_);
}

}  // namespace weft::ucx
