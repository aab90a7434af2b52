// SPDX-License-Identifier: BSD-3-Clause
// A file with the server's URI, for tools that are told its path. The file goes with this object.
#pragma once

#include <sys/types.h>

#include <string>

#include "weft/result.hpp"

namespace weft::server {

class RendezvousFile {
 public:
  RendezvousFile() = default;
  /// For its user alone to read. A reader never sees a part of it; what was there under that name is
  /// replaced. Errors: os.
  static Result<RendezvousFile> write(const std::string& name, const std::string& uri);
  RendezvousFile(RendezvousFile&& other) noexcept;
  RendezvousFile& operator=(RendezvousFile&& other) noexcept;
  /// Removes it, unless another file has its name by now.
  ~RendezvousFile();

 private:
  std::string path_;  ///< empty: there is none
  dev_t device_ = 0;
  ino_t inode_ = 0;
  pid_t owner_ = 0;  ///< not a child that it forked
};

}  // namespace weft::server
