// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace weft::base {

/// All signals are blocked for the calling thread, and those that it starts, as long as this lives.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// A thread of the library: signals are for the threads of the program. name: 15 characters at most. Throws
/// std::system_error where the system has no thread left.
template <class Work>
std::thread start_thread(const char* name, Work&& work) {
  const SignalsBlocked blocked;
  std::thread thread(std::forward<Work>(work));
  ::pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace weft::base
