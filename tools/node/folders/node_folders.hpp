// SPDX-License-Identifier: BSD-3-Clause
// Where the folders of this node's ranks are, of all jobs: two paths that are known before either is made, so
// that the guard can remove them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::node {

class NodeFolders {
 public:
  /// New paths, at which nothing is. launch: its name.
  NodeFolders(const std::string& launch, std::uint32_t node);

  /// PMIX_TMPDIR: in TMPDIR, or /tmp where that is no absolute path. The library makes it in a rank that asks
  /// for its name (core/client/get/scratch_folders).
  const std::string& session() const noexcept { return session_; }
  /// 0, or the errno that making it would end with, as far as that can be told without making it.
  int can_make_session() const;

  /// Makes a folder of that name for shared memory of a job's ranks, for this user only. Throws Stop
  /// (own_failure) if that fails, or if something is in its place.
  std::string make_shared_files(const std::string& name);

  std::vector<std::string> all() const { return {shared_files_, session_}; }
  /// With all in them.
  void remove() const noexcept;

 private:
  std::string shared_files_, session_;
  bool has_shared_files_ = false;
};

}  // namespace weft::node
