// SPDX-License-Identifier: BSD-3-Clause
// This process's standard input, read and pushed to other processes until its end (PMIX_IOF_PUSH_STDIN).
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/fd.hpp"

namespace weft::client {

class InputPump {
 public:
  InputPump() = default;
  ~InputPump() { stop(); }
  InputPump(const InputPump&) = delete;
  InputPump& operator=(const InputPump&) = delete;

  /// bytes: none: the end. False: nothing more is to be pushed. Runs on a thread of this object, one call
  /// after the other; a call waits as long as the readers do.
  using Push = std::function<bool(const std::string& bytes)>;
  /// False: it is under way, or the system has no thread or descriptor left.
  bool start(Push push);
  /// Waits for the call that is under way; no further one comes.
  void stop();

 private:
  void run(const Push& push) const;
  bool await_input() const;

  std::mutex mutex_;
  std::thread thread_;
  base::Fd stop_;  ///< an eventfd
};

}  // namespace weft::client
