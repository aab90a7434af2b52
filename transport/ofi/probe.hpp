// SPDX-License-Identifier: BSD-3-Clause
// Probes whether a silent peer is alive, for providers over TCP, which do not report it.
//
// Observed with libfabric 1.17 (net, tcp;ofi_rxm): the provider retries a refused connection again and again
// while every post to it fails with FI_EAGAIN for ever; and a message that was sent before its peer died
// completes with success. Where an answer is overdue, the endpoint therefore connects itself to the peer's
// port. Only a definite refusal from the kernel counts as a loss: a peer that is merely stopped has a kernel
// that still accepts.
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
  /// Counts as a transfer of the connection until check() has returned its outcome. Does nothing while a
  /// probe of that connection is in flight.
  void start(Connection& connection) noexcept;
  bool is_idle() const noexcept { return all_.empty(); }
  struct Outcome {
    Connection* connection = nullptr;
    int error = 0;  ///< 0: the port accepts, or the outcome is unknown
  };
  /// Returns one completed probe a call; connection NULL: no more.
  Outcome check() noexcept;

 private:
  struct Probe {
    Connection* connection;
    int socket;  ///< -1: completed, with `error`
    int error;
  };
  std::vector<Probe> all_;
};

}  // namespace weft::ofi
