// SPDX-License-Identifier: BSD-3-Clause
// The processes of a fence, and the signature by which all servers know their set.
#pragma once

#include <memory>

#include "collectives/message.hpp"
#include "core/server/jobs/proc_set.hpp"

namespace weft::server {

/// Made once for each set; copies share it, so that an exchange of half a million processes neither copies nor hashes them.
class Participants {
 public:
  /// procs: canonical. Cost: a hash of all of them.
  explicit Participants(Procs procs);

  operator const Procs&() const noexcept { return shared_->procs; }
  const Procs& procs() const noexcept { return shared_->procs; }
  const collectives::Signature& signature() const noexcept { return shared_->signature; }

 private:
  struct Shared {
    Procs procs;
    collectives::Signature signature;
  };
  std::shared_ptr<const Shared> shared_;
};

}  // namespace weft::server
