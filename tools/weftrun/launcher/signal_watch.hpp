// SPDX-License-Identifier: BSD-3-Clause
// The signals that weftrun obeys and those that it relays to the ranks.
#pragma once

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <functional>

namespace weft::weftrun {

class SignalWatch {
 public:
  struct Events {
    std::function<void(int signal)> end;  ///< SIGINT, SIGTERM, SIGHUP
    /// SIGUSR1, SIGUSR2, SIGURG, SIGTSTP, SIGCONT; and SIGQUIT, with which a user asks where ranks are.
    std::function<void(int signal)> relay;
  };
  /// Signals that are ignored when this is constructed stay ignored: nohup stays in force. The events come on
  /// the loop.
  SignalWatch(asio::io_context& loop, Events events);

 private:
  void await_end_signal();
  void await_relayed_signal();

  Events events_;
  asio::signal_set end_signals_, relayed_signals_;
};

}  // namespace weft::weftrun
