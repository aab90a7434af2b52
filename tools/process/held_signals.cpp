// SPDX-License-Identifier: BSD-3-Clause
#include "tools/process/held_signals.hpp"

#include <cstdlib>
#include <utility>

namespace weft::process {

void keep_crashes_deadly() noexcept {
  ::setenv("IPATH_NO_BACKTRACE", "1", 0);
}

HeldSignals::HeldSignals() noexcept {
  for (int signal = 1; signal <= last; ++signal)
    ::sigaction(signal, nullptr, &before_[static_cast<std::size_t>(signal)]);
  sigset_t held;
  ::sigemptyset(&held);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&held, signal);
  ::pthread_sigmask(SIG_BLOCK, &held, &mask_);
}

void HeldSignals::restore_dispositions() noexcept {
  for (int signal = 1; signal <= last; ++signal)
    if (signal != SIGKILL && signal != SIGSTOP)
      ::sigaction(signal, &before_[static_cast<std::size_t>(signal)], nullptr);
}

void HeldSignals::release() noexcept {
  if (std::exchange(is_held_, false)) ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
}

}  // namespace weft::process
