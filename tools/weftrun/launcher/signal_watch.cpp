// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/launcher/signal_watch.hpp"

#include <csignal>
#include <utility>

namespace weft::weftrun {
namespace {

bool is_ignored(int signal) noexcept {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

SignalWatch::SignalWatch(asio::io_context& loop, Events events)
    : events_(std::move(events)), end_signals_(loop), relayed_signals_(loop) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (!is_ignored(signal)) end_signals_.add(signal);
  for (const int signal : {SIGUSR1, SIGUSR2, SIGURG, SIGTSTP, SIGCONT, SIGQUIT})
    if (!is_ignored(signal)) relayed_signals_.add(signal);
  await_end_signal();
  await_relayed_signal();
}

void SignalWatch::await_end_signal() {
  end_signals_.async_wait([this](const asio::error_code& error, int signal) {
    if (error) return;
    await_end_signal();
    events_.end(signal);
  });
}

void SignalWatch::await_relayed_signal() {
  relayed_signals_.async_wait([this](const asio::error_code& error, int signal) {
    if (error) return;
    await_relayed_signal();
    events_.relay(signal);
  });
}

}  // namespace weft::weftrun
