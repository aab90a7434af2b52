// SPDX-License-Identifier: BSD-3-Clause
// A server's second socket, as a file in a folder of the user's choice (WEFT_SOCKET_DIR), for processes that
// its first one is hidden from: an abstract name is known in one network namespace, a folder wherever it is
// mounted. The file goes with this object.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.hpp"
#include "weft/result.hpp"

namespace weft::server {

class SocketFile {
 public:
  SocketFile() = default;
  /// Makes it, and `listening`, a socket that does not block. Each process that reaches the folder may
  /// connect: which one is served is decided as at the first socket. Files of this user's servers that were
  /// killed are removed. Errors: invalid (the path is too long), os.
  static Result<SocketFile> listen(const std::string& folder, const std::string& name, base::Fd& listening);
  SocketFile(SocketFile&& other) noexcept;
  SocketFile& operator=(SocketFile&& other) noexcept;
  /// Removes it, unless another file has its name by now.
  ~SocketFile();
  /// Absolute; empty: there is none.
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  pid_t owner_ = 0;  ///< not a child that it forked
};

}  // namespace weft::server
