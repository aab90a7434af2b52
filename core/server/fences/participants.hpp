// SPDX-License-Identifier: BSD-3-Clause
// The processes of a fence or of a group's operation, and the signatures by which all servers know their set
// and what is under way.
#pragma once

#include <memory>
#include <string>

#include "collectives/message.hpp"
#include "core/server/jobs/proc_set.hpp"

namespace weft::server {

/// Made once for each set; copies share it, so that an exchange of half a million processes neither copies
/// nor hashes them.
class Participants {
 public:
  /// procs: canonical. operation: of a group, which leaves lost participants out or not; empty: their fences.
  /// Cost: a hash of all of them.
  explicit Participants(Procs procs, std::string operation = {}, bool goes_on_smaller = false);

  operator const Procs&() const noexcept { return shared_->procs; }
  const Procs& procs() const noexcept { return shared_->procs; }
  const std::string& operation() const noexcept { return shared_->operation; }
  bool goes_on_smaller() const noexcept { return shared_->goes_on_smaller; }
  /// The signature of the collectives. Fences of the same set, and operations of other groups on it, have
  /// others.
  const collectives::Signature& signature() const noexcept { return shared_->signature; }
  /// The signature of the set alone, whatever it does.
  const collectives::Signature& set() const noexcept { return shared_->set; }

 private:
  struct Shared {
    Procs procs;
    std::string operation;
    bool goes_on_smaller;
    collectives::Signature signature, set;
  };
  std::shared_ptr<const Shared> shared_;
};

}  // namespace weft::server
