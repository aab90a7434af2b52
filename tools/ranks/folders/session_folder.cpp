// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ranks/folders/session_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "tools/ranks/folders/folder_path.hpp"
#include "tools/ranks/folders/remove_tree.hpp"

namespace weft::ranks {

std::string session_folder_path(const std::string& session, std::uint32_t node) {
  const char* const given = std::getenv("TMPDIR");
  std::string_view parent = given != nullptr && given[0] == '/' ? given : "/tmp";
  while (!parent.empty() && parent.back() == '/') parent.remove_suffix(1);
  return folder_path(std::string(parent), session, node);
}

int can_make_session_folder(const std::string& path) {
  const auto parent = path.substr(0, path.rfind('/') + 1);
  return ::faccessat(AT_FDCWD, parent.c_str(), W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

SessionFolder::SessionFolder(std::string path) : path_(std::move(path)) {}

SessionFolder::~SessionFolder() {
  remove_tree(path_);
}

}  // namespace weft::ranks
