// SPDX-License-Identifier: BSD-3-Clause
// A thread of the library in a program that is another's.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace weft::base {

/// Starts a thread that takes no signal: they are for the program's own threads. The caller's mask is as before, also where no
/// thread can be started. name: at most 15 bytes. Throws std::system_error.
template <class Run>
std::thread start_thread(const char* name, Run&& run) {
  struct Mask {
    Mask() noexcept {
      sigset_t all;
      sigfillset(&all);
      ::pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~Mask() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    sigset_t before;
  };
  const Mask mask;
  std::thread thread(std::forward<Run>(run));
  ::pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace weft::base
