// SPDX-License-Identifier: BSD-3-Clause
// The lines of weftrun itself among the output of the ranks.
#pragma once

#include <string>

#include "tools/io/output.hpp"
#include "tools/io/terminal.hpp"
#include "tools/jobs/orders.hpp"

namespace weft::weftrun {

class Console {
 public:
  /// terminal: outlives this object.
  Console(io::Terminal& terminal, bool quiet, bool verbose)
      : terminal_(terminal), quiet_(quiet), verbose_(verbose) {}

  void print(const std::string& line) { terminal_.print("weftrun: " + line); }
  /// How a job goes: not with --quiet.
  void print_result(const std::string& line) {
    if (!quiet_) print(line);
  }
  /// The same, after all that the rank has written. output: of the rank's job.
  void print_result(const std::string& line, const jobs::AboutRank& about, io::Output& output) {
    if (!quiet_) output.print_after(about.rank, "weftrun: " + line, about.written);
  }
  void print_detail(const std::string& text) {
    if (verbose_) print(text);
  }
  /// A line that names its writer already.
  void pass_on(const std::string& line) { terminal_.print(line); }
  bool is_verbose() const noexcept { return verbose_; }

 private:
  io::Terminal& terminal_;
  bool quiet_, verbose_;
};

}  // namespace weft::weftrun
