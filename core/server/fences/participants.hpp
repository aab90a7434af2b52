// SPDX-License-Identifier: BSD-3-Clause
// The processes of a fence or of a group's operation, and the signatures by which all servers know their set
// and what is under way.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "collectives/message.hpp"
#include "core/server/fences/fence_part.hpp"
#include "core/server/jobs/proc_set.hpp"
#include "core/server/operations/operation_name.hpp"

namespace weft::server {

/// Made once for each set; copies share it, so that an exchange of half a million processes neither copies
/// nor hashes them.
class Participants {
 public:
  /// procs: canonical. operation: none but their fences where it is left out. after_loss: what this node asks
  /// for where another one is lost. Cost: a hash of all of them.
  /// begun_as: the attempt among all of them, where this is one without the members of lost nodes.
  explicit Participants(Procs procs, OperationName operation = {},
                        collectives::AfterLoss after_loss = collectives::AfterLoss::ends,
                        std::optional<FenceName> begun_as = {});

  operator const Procs&() const noexcept { return shared_->procs; }
  const Procs& procs() const noexcept { return shared_->procs; }
  const OperationName& operation() const noexcept { return shared_->operation; }
  collectives::AfterLoss after_loss() const noexcept { return shared_->after_loss; }
  const std::optional<FenceName>& begun_as() const noexcept { return shared_->begun_as; }
  /// Of the collectives: operations of other groups on the same set, and its fences, are others.
  const collectives::Signature& signature() const noexcept { return shared_->signature; }
  /// The signature of the set alone, whatever it does.
  const collectives::Signature& set() const noexcept { return shared_->set; }

 private:
  struct Shared {
    Procs procs;
    OperationName operation;
    collectives::AfterLoss after_loss;
    collectives::Signature signature, set;
    std::optional<FenceName> begun_as;
  };
  std::shared_ptr<const Shared> shared_;
};

}  // namespace weft::server
