// SPDX-License-Identifier: BSD-3-Clause
// A folder for the shared memory of one virtual node's ranks. Open MPI 4 names its files by machine, user,
// job and local rank (docs/design/openmpi.md): in one folder, those of several virtual nodes would be the
// same files.
#pragma once

#include <string>

#include "tools/ranks/program/environment.hpp"

namespace weft::ranks {

/// A new path for a virtual node's folder, which is not there yet. session: the launch's name.
std::string shared_files_path(const std::string& session, std::uint32_t node);

class SharedFiles {
 public:
  /// Makes the folder, for this user only. Throws Stop (own_failure) if that fails, or if the path exists.
  explicit SharedFiles(std::string path);
  ~SharedFiles();
  SharedFiles(const SharedFiles&) = delete;
  SharedFiles& operator=(const SharedFiles&) = delete;

  /// The variables that make Open MPI use it, without those that the user has set in `environment`.
  Variables additions_to(const Variables& environment) const;

 private:
  std::string path_;
};

}  // namespace weft::ranks
