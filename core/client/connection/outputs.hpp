// SPDX-License-Identifier: BSD-3-Clause
// Where the output of other processes goes that this one pulls (PMIx_IOF_pull), and its own standard input
// that it pushes (PMIx_IOF_push). Any thread; sinks run on the connection's.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "core/client/connection/input_pump.hpp"
#include "core/link/requests.hpp"

namespace weft::client {

class Outputs {
 public:
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void take(link::Output output) = 0;
    virtual void finish() = 0;  ///< nothing more comes
  };
  /// The handle by which the server names what it sends.
  std::uint64_t add(std::shared_ptr<Sink> sink);
  /// Its sink is finished. False: there is none.
  bool remove(std::uint64_t handle);
  void deliver(link::Output output);

  InputPump& input() noexcept { return input_; }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Sink>> sinks_;
  std::uint64_t next_ = 0;
  InputPump input_;
};

}  // namespace weft::client
