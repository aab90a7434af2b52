// SPDX-License-Identifier: BSD-3-Clause
// What clients asked to have removed when their processes have ended (PMIX_REGISTER_CLEANUP, PMIX_REGISTER_CLEANUP_DIR).
//
// Paths are walked with openat and O_NOFOLLOW from their parent, and only what the client's own user owns is
// removed: a link that was planted meanwhile is removed itself, never followed.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "pmix_common.h"
#include "weft/result.hpp"

namespace weft::server {

struct CleanupOrder {
  std::vector<std::string> files;
  std::vector<std::string> directories;
  std::vector<std::string> ignored;  ///< absolute paths that stay
  bool recursive = false;
  bool only_empty = false;
  bool leave_top = false;

  /// Errors: invalid (a path that is not absolute, or a value that is no string).
  static Result<CleanupOrder> parse(const pmix_info_t* infos, std::size_t count);
  bool empty() const noexcept { return files.empty() && directories.empty(); }
  /// Removes; what is not there or not `owner`'s is left alone without a word.
  void carry_out(uid_t owner) const;
};

class CleanupBook {
 public:
  void add(const pmix_proc_t& proc, CleanupOrder order);
  /// The process is gone: its orders are carried out and forgotten.
  void carry_out(const pmix_proc_t& proc, uid_t owner);

 private:
  std::map<std::pair<std::string, std::uint32_t>, std::vector<CleanupOrder>> orders_;
};

}  // namespace weft::server
