// SPDX-License-Identifier: BSD-3-Clause
// Where the output of other processes goes that this one pulls (PMIx_IOF_pull). Any thread; sinks run on the
// connection's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "core/link/requests.hpp"

namespace weft::client {

class Outputs {
 public:
  using Sink = std::function<void(const link::Output&)>;
  /// The handle by which the server names what it sends.
  std::uint64_t add(Sink sink);
  /// False: there is none.
  bool remove(std::uint64_t handle);
  void deliver(const link::Output& output);

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<const Sink>> sinks_;
  std::uint64_t next_ = 0;
};

}  // namespace weft::client
