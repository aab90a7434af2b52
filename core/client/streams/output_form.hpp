// SPDX-License-Identifier: BSD-3-Clause
// The form in which this process wants output that it pulls. Source: PMIx Standard, chapter "Tools and
// Debuggers", IO forwarding attributes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/data/types/value.hpp"

namespace weft::client {

struct OutputForm {
  bool tag = false;                ///< PMIX_IOF_TAG_OUTPUT and its longer kin: "[nspace,rank]<stdout>: "
  bool rank = false;               ///< PMIX_IOF_RANK_OUTPUT: "[rank] "
  bool time = false;               ///< PMIX_IOF_TIMESTAMP_OUTPUT: when the line was whole here
  bool xml = false;                ///< PMIX_IOF_XML_OUTPUT
  bool merges = false;             ///< PMIX_IOF_MERGE_STDERR_STDOUT
  std::size_t buffered_bytes = 0;  ///< PMIX_IOF_BUFFERING_SIZE: fewer wait for more, but for the end
  std::string file;                ///< PMIX_IOF_OUTPUT_TO_FILE
  std::string directory;           ///< PMIX_IOF_OUTPUT_TO_DIRECTORY
  bool is_pattern = false;         ///< PMIX_IOF_FILE_PATTERN: %n and %r in `file`
  bool file_only = false;          ///< PMIX_IOF_FILE_ONLY

  /// Error: invalid (a value of another type, two places for files, a place that is too long).
  static Result<OutputForm> of(const data::Infos& directives);

  bool has_lines() const noexcept { return tag || rank || time || xml; }
  bool is_plain() const noexcept { return !has_lines() && !has_files() && !merges && buffered_bytes == 0; }
  bool has_files() const noexcept { return !file.empty() || !directory.empty(); }
  /// As merged, where the form merges.
  pmix_iof_channel_t channel_of(pmix_iof_channel_t channel) const noexcept {
    return merges ? static_cast<pmix_iof_channel_t>(PMIX_FWD_STDOUT_CHANNEL) : channel;
  }
  /// text: a line without its end. The line in this form, with an end.
  std::string line(const pmix_proc_t& source, pmix_iof_channel_t channel, std::string_view text) const;
  /// The file of a stream; REQUIRES: has_files().
  std::string path(const pmix_proc_t& source, pmix_iof_channel_t channel) const;
};

}  // namespace weft::client
