// SPDX-License-Identifier: BSD-3-Clause
// The lines of weftrun itself among the output of the ranks.
#pragma once

#include <optional>
#include <string>

#include "tools/io/output.hpp"
#include "tools/jobs/orders.hpp"

namespace weft::weftrun {

using jobs::AboutRank;

class Console {
 public:
  /// output: outlives this object.
  Console(io::Output& output, bool quiet, bool verbose) : output_(output), quiet_(quiet), verbose_(verbose) {}

  void print(const std::string& line) { output_.print("weftrun: " + line); }
  /// How the job goes: not with --quiet. about: the line comes after all that the rank has written.
  void print_result(const std::string& line, const std::optional<AboutRank>& about = std::nullopt) {
    if (quiet_) return;
    about ? output_.print_after(about->rank, "weftrun: " + line, about->written) : print(line);
  }
  void print_detail(const std::string& text) {
    if (verbose_) print(text);
  }
  /// A line that names its writer already.
  void pass_on(const std::string& line) { output_.print(line); }

 private:
  io::Output& output_;
  bool quiet_, verbose_;
};

}  // namespace weft::weftrun
