// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/folders/node_folders.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/node/folders/folder_path.hpp"
#include "tools/node/folders/remove_tree.hpp"

namespace weft::node {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

std::string folder_for_temporary_files() {
  const char* const given = std::getenv("TMPDIR");
  std::string_view out = given != nullptr && given[0] == '/' ? given : "/tmp";
  while (!out.empty() && out.back() == '/') out.remove_suffix(1);
  return std::string(out);
}

void make(const std::string& path) {
  if (::mkdir(path.c_str(), S_IRWXU) != 0)
    throw Stop(exit_status::own_failure, messages::no_shared_files(path, errno));
}

}  // namespace

NodeFolders::NodeFolders(const std::string& launch, std::uint32_t node)
    : shared_files_(folder_path("/dev/shm", launch, node)),
      session_(folder_path(folder_for_temporary_files(), launch, node)) {}

int NodeFolders::can_make_session() const {
  const auto parent = session_.substr(0, session_.rfind('/') + 1);
  return ::faccessat(AT_FDCWD, parent.c_str(), W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

std::string NodeFolders::make_shared_files(const std::string& name) {
  if (!has_shared_files_) make(shared_files_);
  has_shared_files_ = true;
  auto out = shared_files_ + "/" + name;
  make(out);
  return out;
}

void NodeFolders::remove() const noexcept {
  remove_tree(shared_files_);
  remove_tree(session_);
}

}  // namespace weft::node
