// SPDX-License-Identifier: BSD-3-Clause
#include "base/descriptors.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

namespace weft::base {

std::vector<int> open_descriptors() {
  std::vector<int> out;
  const std::unique_ptr<DIR, decltype([](DIR* directory) { ::closedir(directory); })> directory(
      ::opendir("/proc/self/fd"));
  while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr) {
    int fd = -1;
    const char* const end = entry->d_name + std::strlen(entry->d_name);
    const auto parsed = std::from_chars(entry->d_name, end, fd);
    if (parsed.ec == std::errc() && parsed.ptr == end && fd != ::dirfd(directory.get())) out.push_back(fd);
  }
  std::sort(out.begin(), out.end());
  return out;
}

ClosedOnExec::~ClosedOnExec() {
  if (before_.empty()) return;  // all would look new
  for (const int fd : open_descriptors()) {
    if (std::binary_search(before_.begin(), before_.end(), fd)) continue;
    if (const int flags = ::fcntl(fd, F_GETFD); flags >= 0) (void)::fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
  }
}

}  // namespace weft::base
