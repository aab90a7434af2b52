// SPDX-License-Identifier: BSD-3-Clause
// --tag-output and --timestamp-output: turns the bytes of a stream into whole lines that begin with
// "[rank] ", or "[job.rank] " of a job that a process has asked for, with the local time at which the line
// was complete, or with both: "2026-01-31T12:00:00.123 [rank] ".
#pragma once

#include <string>
#include <string_view>

#include "tools/io/output_tags.hpp"
#include "tools/job/rank.hpp"

namespace weft::io {

class LineTagger {
 public:
  /// A longer line is put out in pieces, all but the first tagged "[rank]+ " (or the time and "+ "): memory
  /// stays bounded.
  static constexpr std::size_t longest_line = 64 * 1024;

  LineTagger(job::Rank rank, OutputTags tags);

  /// Appends to `out` what is complete after `bytes`; keeps the rest.
  void take(std::string_view bytes, std::string& out);

  /// At the end of the stream: the unfinished line, with the newline that it lacks.
  void finish(std::string& out);

 private:
  void emit(std::string& out, std::string_view rest);

  std::string tag_;  // without the time
  bool has_time_;
  std::string unfinished_;
  bool continues_ = false;  // the line's first piece has been put out
};

}  // namespace weft::io
