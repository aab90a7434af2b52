// SPDX-License-Identifier: BSD-3-Clause
// How the job ends: its exit status, and why it is that.
#pragma once

#include <cstddef>
#include <string>

namespace weft::jobs {

class Outcome {
 public:
  int exit_code() const noexcept { return exit_code_; }
  /// There is a reason for the job's end, and the user has read it.
  bool has_reason() const noexcept { return has_reason_; }

  /// A reason for the job's end. The first decides the exit status, over all failures. True: this is the
  /// first.
  bool set_reason(int exit_code);
  /// A failure after which the job continues. The first decides the exit status. what: "rank 3", "node b".
  void record_failure(int exit_code, const std::string& what);
  /// The exit status of a PMIx_Abort that ends some ranks only, unless there is a reason.
  void set_status(int exit_code);

  /// The exit status, whatever it was to be.
  void override_status(int exit_code) { exit_code_ = exit_code, has_reason_ = true; }

  /// A line about the failures, when the job has come to its end after them; empty: there is none, or a
  /// reason.
  std::string summary() const;

 private:
  int exit_code_ = 0;
  bool has_reason_ = false;
  std::size_t failures_ = 0;
  std::string first_failure_;
};

}  // namespace weft::jobs
