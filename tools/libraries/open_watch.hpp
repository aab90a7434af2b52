// SPDX-License-Identifier: BSD-3-Clause
// Whether a file of another PMIx library is opened while ranks run. A rank that loads another library than
// its server's never says so to the server; the kernel does.
#pragma once

#include <string>
#include <vector>

#include "base/fd.hpp"

namespace weft::libraries {

/// Where programs could find a libpmix.so.2 beside `own` (a canonical path): canonical paths, each once. The
/// folders of the loader, of `library_path` (as LD_LIBRARY_PATH), and those beside the folders of
/// `search_path` (as PATH), where environment modules and conda have their libraries. Cost: some 20 system
/// calls.
std::vector<std::string> other_pmix_files(const std::string& own, const std::string& library_path,
                                          const std::string& search_path);

class OpenWatch {
 public:
  /// Watches from now on. Where the system has no room for a watch, nothing is ever seen.
  explicit OpenWatch(std::vector<std::string> files);

  /// The first of the files that a process of this machine has opened since; empty: none.
  std::string opened();

 private:
  std::vector<std::string> files_;
  std::vector<int> watches_;  // of files_, in their order
  base::Fd notices_;
  std::string opened_;
};

}  // namespace weft::libraries
