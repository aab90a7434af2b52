// SPDX-License-Identifier: BSD-3-Clause
// Wraps a transport and makes it worse within the contract: code that is correct on this is correct on any
// fabric at its worst. The same plan and the same calls give the same faults.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/transport.hpp"

namespace weft::faulty {

struct Plan {
  std::uint64_t seed = 1;
  unsigned burst_percent = 0;  ///< percentage of operations that fail with `again`...
  unsigned burst_length = 8;   ///< ...this many times in a row
  unsigned delay_percent = 0;  ///< percentage of completions and messages that are delayed...
  unsigned delay_rounds = 4;   ///< ...for up to this many progress() calls
  unsigned failed_reaches =
      0;  ///< calls of reach() of an endpoint that fail first, as without a free descriptor
  Errc reach_fails_with = Errc::os;  ///< peer_lost: nothing listens at the address
  std::uint64_t lose_peer_at = 0;    ///< each peer is lost at its operation of this number; 0: none is
};

/// The endpoints of `inner`, each with the faults of the plan. `inner` must outlive it.
class FaultyTransport final : public Transport {
 public:
  FaultyTransport(Transport& inner, const Plan& plan) : inner_(inner), plan_(plan) {}
  Result<std::unique_ptr<Endpoint>> open(const Opening& opening) override;

 private:
  Transport& inner_;
  Plan plan_;
  std::uint64_t opened_ = 0;  // gives each endpoint faults of its own
};

}  // namespace weft::faulty
