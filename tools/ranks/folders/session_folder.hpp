// SPDX-License-Identifier: BSD-3-Clause
// The scratch folder of this node's ranks, PMIX_TMPDIR. The library makes it in a rank that asks for its name
// (core/client/get/scratch_folders); here it gets its name, and is removed.
#pragma once

#include <cstdint>
#include <string>

namespace weft::ranks {

/// A new path in the folder for temporary files of this process: TMPDIR, or /tmp where that is no absolute
/// path.
std::string session_folder_path(const std::string& session, std::uint32_t node);

/// 0, or the errno that making the folder would end with, as far as that can be told without making it.
int can_make_session_folder(const std::string& path);

class SessionFolder {
 public:
  explicit SessionFolder(std::string path);
  ~SessionFolder();  ///< removes it with all in it, if there is one by now
  SessionFolder(const SessionFolder&) = delete;
  SessionFolder& operator=(const SessionFolder&) = delete;

 private:
  std::string path_;
};

}  // namespace weft::ranks
