// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

namespace weft::base {

/// The descriptors that are open now, ascending; empty: /proc cannot be read.
std::vector<int> open_descriptors();

/// Around a call into a library that opens descriptors without O_CLOEXEC: programs that this process starts
/// would hold the library's sockets, and their peers would never see them closed.
class ClosedOnExec {
 public:
  ClosedOnExec() : before_(open_descriptors()) {}
  /// Descriptors that were opened since then are not inherited. A descriptor that another thread opened
  /// meanwhile for a program that it starts is handed over all the same where it becomes a standard stream,
  /// for dup2() undoes this.
  ~ClosedOnExec();
  ClosedOnExec(const ClosedOnExec&) = delete;
  ClosedOnExec& operator=(const ClosedOnExec&) = delete;

 private:
  std::vector<int> before_;
};

}  // namespace weft::base
