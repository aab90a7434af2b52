// SPDX-License-Identifier: BSD-3-Clause
// The tree is made flat: a folder that is not empty is moved to the top, under a name of ours, before it is
// looked into. Depth therefore costs no descriptor and no stack, and no name is a path. The kernel refuses to
// move what is mounted (EBUSY), which tells a mount from a folder.
#include "tools/node/folders/remove_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "tools/node/folders/folder_path.hpp"
#include "tools/process/fd.hpp"

namespace weft::node {
namespace {

constexpr int folder_flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

struct Closer {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};
using Listing = std::unique_ptr<DIR, Closer>;

/// A folder whose mode keeps its owner out is opened to the owner.
void let_owner_in(int parent, const char* name) {
  const process::Fd folder(::openat(parent, name, O_PATH | folder_flags));
  if (folder) (void)::chmod(fmt::format("/proc/self/fd/{}", folder.get()).c_str(), S_IRWXU);
}

Listing list(int parent, const char* name) {
  int folder = ::openat(parent, name, O_RDONLY | folder_flags);
  if (folder < 0 && errno == EACCES) {
    let_owner_in(parent, name);
    folder = ::openat(parent, name, O_RDONLY | folder_flags);
  }
  DIR* const listing = folder < 0 ? nullptr : ::fdopendir(folder);
  if (listing == nullptr && folder >= 0) ::close(folder);
  return Listing(listing);
}

class Remover {
 public:
  explicit Remover(Listing top) : top_(std::move(top)), prefix_(fmt::format(".{}.", unguessable())) {}

  void run() {
    // A folder that was moved to the top is a new entry there, so the pass is repeated as long as one removes
    // or moves something.
    do {
      has_progressed_ = false;
      empty(top_.get());
    } while (has_progressed_);
  }

 private:
  int top() const noexcept { return ::dirfd(top_.get()); }

  void empty(DIR* listing) {
    const int folder = ::dirfd(listing);
    (void)::fchmod(folder, S_IRWXU);  // it could be read, but perhaps not be changed
    ::rewinddir(listing);
    while (const dirent* entry = ::readdir(listing)) {
      const std::string name(entry->d_name);
      if (name == "." || name == "..") continue;
      const bool is_removed = (entry->d_type != DT_DIR && ::unlinkat(folder, name.c_str(), 0) == 0) ||
                              ::unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0;
      if (is_removed)
        has_progressed_ = true;
      else if (errno == ENOTEMPTY || errno == EEXIST)
        folder == top() ? empty_top_folder(name) : (void)move_up(folder, name);
    }
  }

  void empty_top_folder(const std::string& name) {
    const bool is_ours = name.compare(0, prefix_.size(), prefix_) == 0;
    const auto moved = is_ours ? name : move_up(top(), name);
    if (moved.empty()) return;
    if (const auto listing = list(top(), moved.c_str())) empty(listing.get());
    has_progressed_ |= ::unlinkat(top(), moved.c_str(), AT_REMOVEDIR) == 0;
  }

  /// The new name at the top; empty if the folder cannot be moved.
  std::string move_up(int parent, const std::string& name) {
    auto fresh = fmt::format("{}{}", prefix_, next_++);
    if (::renameat(parent, name.c_str(), top(), fresh.c_str()) != 0) {
      // The mode of a folder may forbid to move it to another. Under a new name beside its old one it is
      // known to be no mount.
      if (errno != EACCES || ::renameat(parent, name.c_str(), parent, fresh.c_str()) != 0) return {};
      let_owner_in(parent, fresh.c_str());
      if (::renameat(parent, fresh.c_str(), top(), fresh.c_str()) != 0) return {};
    }
    has_progressed_ |= parent != top();  // one level less
    return fresh;
  }

  Listing top_;
  std::string prefix_;  ///< of names that the tree had none of
  std::uint64_t next_ = 0;
  bool has_progressed_ = false;
};

/// False as well where the kernel (before 5.8) does not say.
bool is_mount(const std::string& path) {
  struct statx status {};
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
  return ::statx(AT_FDCWD, path.c_str(), flags, STATX_TYPE, &status) == 0 &&
         (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

}  // namespace

void remove_tree(const std::string& path) noexcept try {
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT || is_mount(path)) return;
  auto top = list(AT_FDCWD, path.c_str());
  struct stat status {};
  if (!top || ::fstat(::dirfd(top.get()), &status) != 0 || status.st_uid != ::geteuid()) return;
  Remover(std::move(top)).run();
  (void)::rmdir(path.c_str());
} catch (...) {
  return;  // no memory for a name: the folder stays, and there is nothing to do about it
}

}  // namespace weft::node
