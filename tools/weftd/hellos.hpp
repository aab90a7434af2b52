// SPDX-License-Identifier: BSD-3-Clause
// Hellos of this daemon and of those below it in the tree of agents, on their way to the launcher: to the
// server that has started this daemon, one message at a time. What comes meanwhile goes together with the
// next one.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/channel/server_channel.hpp"

namespace weft::weftd {

class Hellos {
 public:
  using Daemons = std::vector<channel::report::Hello::Daemon>;
  /// channel: outlives this object. above: the server that has started this daemon.
  Hellos(channel::ServerChannel& channel, std::uint32_t launcher, std::uint32_t above)
      : channel_(channel), launcher_(launcher), above_(above) {}

  /// Its contact is known here, if there is one; else all go to the launcher.
  void begin(bool is_reached) {
    if (!is_reached) above_ = launcher_;
    is_under_way_ = false;
    send();
  }
  void add(Daemons daemons) {
    for (auto& daemon : daemons) waiting_.push_back(std::move(daemon));
    send();
  }

 private:
  void send() {
    if (waiting_.empty() || std::exchange(is_under_way_, true)) return;
    const channel::report::Hello hello{std::exchange(waiting_, {})};
    channel_.send({above_}, hello, [this, hello](bool has_arrived) {
      is_under_way_ = false;
      if (has_arrived || above_ == launcher_) return send();
      above_ = launcher_;  // the daemon above is lost; the launcher tells what becomes of this one
      add(hello.daemons);
    });
  }

  channel::ServerChannel& channel_;
  const std::uint32_t launcher_;
  std::uint32_t above_;
  Daemons waiting_;
  bool is_under_way_ = true;  ///< a message, or the way itself
};

}  // namespace weft::weftd
