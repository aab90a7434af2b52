// SPDX-License-Identifier: BSD-3-Clause
// What clients asked to have removed when their processes have ended (PMIX_REGISTER_CLEANUP,
// PMIX_REGISTER_CLEANUP_DIR).
//
// A file system may take any time, or hang: the work is done on a thread of its own. At the end of the server
// it is waited for as long as it gets on.
//
// Paths are walked with openat and O_NOFOLLOW from their parent, and only what the client's own user owns is
// removed: a link that was planted meanwhile is removed itself, never followed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/threads/worker.hpp"
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

  bool operator==(const CleanupOrder&) const = default;

  /// Errors: invalid (a path that is not absolute, or a value that is no string).
  static Result<CleanupOrder> parse(const pmix_info_t* infos, std::size_t count);
  /// A directive of clean-up has that key.
  static bool has(std::string_view key) noexcept;
  bool empty() const noexcept { return files.empty() && directories.empty(); }
  /// The bytes of its paths, as they are kept.
  std::size_t bytes() const noexcept;
  /// Removes; what is not there or not `owner`'s is left alone without a word. Counts each entry that it has
  /// looked at.
  void carry_out(uid_t owner, base::Worker::Steps& steps) const;
};

class CleanupBook {
 public:
  CleanupBook();
  /// Waits for the orders that were begun, and says which have not ended. The orders that have not are left
  /// behind with the thread.
  ~CleanupBook();
  /// Without an entry that was looked at for so long, clean-up hangs; and all together takes no longer than
  /// this.
  static constexpr std::chrono::seconds patience{5}, most{60};

  /// The most bytes of paths that the orders for one process may hold.
  static constexpr std::size_t most_bytes = std::size_t{4} << 20;

  /// A library that is initialized again orders the same again: once is enough.
  /// owner: the user that orders it, whose files alone are removed, also where the process is another user's
  /// in the end. False: the orders for `proc` would be longer than most_bytes; nothing is added.
  bool add(const pmix_proc_t& proc, CleanupOrder order, uid_t owner);
  bool has(const pmix_proc_t& proc) const { return orders_.count({proc.nspace, proc.rank}) != 0; }
  /// Waits for what was begun. False: it hangs, or takes too long.
  bool wait() { return worker_.wait(patience, most); }
  /// The process is gone: its orders are forgotten, and carried out after those of others that went before.
  void carry_out(const pmix_proc_t& proc);

 private:
  struct Kept {
    CleanupOrder order;
    uid_t owner;
  };
  struct Orders {
    std::vector<Kept> kept;
    std::size_t bytes = 0;
  };
  /// The entry that the thread is at; the record may outlive the book.
  struct Current {
    std::mutex mutex;
    std::string text;
  };
  std::map<std::pair<std::string, std::uint32_t>, Orders> orders_;
  std::shared_ptr<Current> current_;
  base::Worker worker_;
};

}  // namespace weft::server
