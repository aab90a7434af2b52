// SPDX-License-Identifier: BSD-3-Clause
// weftrun --dvm --detach: the service goes to the background when its nodes are there. The process that the
// user has started passes on what the service says until then, and leaves: with 0, or with the status of a
// service that never is ready.
#pragma once

#include <functional>
#include <utility>

#include "tools/process/fd.hpp"

namespace weft::weftrun::service {

/// How the service says that it is ready. Empty: to no process.
class ReadyPipe {
 public:
  ReadyPipe() = default;
  explicit ReadyPipe(process::Fd write) : write_(std::move(write)) {}
  void tell() const;

 private:
  process::Fd write_;
};

/// Returns what serve(pipe) does; in the process that the user has started, as above. While the process has
/// one thread. Throws Stop (own_failure).
int in_background(const std::function<int(const ReadyPipe&)>& serve);

}  // namespace weft::weftrun::service
