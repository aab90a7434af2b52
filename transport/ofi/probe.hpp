// SPDX-License-Identifier: BSD-3-Clause
// Is anybody there? For providers over TCP, which do not say.
//
// Observed with libfabric 1.17 (net, tcp;ofi_rxm): a connection that is refused is tried again and again, and what
// posts to it gets FI_EAGAIN for ever; and a message that was sent before its peer died completed well. So where an
// answer is overdue we connect to the peer's port ourselves, and ask the kernel. Only its clear no is a loss: a peer
// that is merely stopped still has a kernel that answers for it.
#pragma once

#include <vector>

#include "transport/ofi/peer.hpp"

namespace weft::ofi {

class Probes {
 public:
  Probes() = default;
  Probes(const Probes&) = delete;
  Probes& operator=(const Probes&) = delete;
  ~Probes();

  static bool fits(const fi_info& info) noexcept;
  /// Counts as a carrier of the route until check() is done with it. Nothing happens if one is under way.
  void start(Route& route) noexcept;
  bool is_idle() const noexcept { return all_.empty(); }
  struct Verdict {
    Route* route = nullptr;
    int error = 0;  ///< 0: somebody listens, or nobody knows
  };
  /// Those that are over, one a call; route NULL: no more.
  Verdict check() noexcept;

 private:
  struct Probe {
    Route* route;
    int socket;  ///< -1: over, with `error`
    int error;
  };
  std::vector<Probe> all_;
};

}  // namespace weft::ofi
