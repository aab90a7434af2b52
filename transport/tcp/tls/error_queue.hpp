// SPDX-License-Identifier: BSD-3-Clause
// The errors that OpenSSL keeps for this thread.
#pragma once

#include <openssl/err.h>

namespace weft::tcp {

/// The cause of a failure is read from the queue of this thread's errors: what is left there would be taken
/// for the next call's.
struct ErrorQueue {
  ErrorQueue() noexcept { clear(); }
  ~ErrorQueue() { clear(); }
  static void clear() noexcept {
    if (::ERR_peek_error() != 0) ::ERR_clear_error();  // which takes a while also when there is none
  }
};

}  // namespace weft::tcp
