// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ranks/folders/shared_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/ranks/folders/folder_path.hpp"
#include "tools/ranks/folders/remove_tree.hpp"

namespace weft::ranks {

using messages::Stop;
namespace exit_status = messages::exit_status;

std::string shared_files_path(const std::string& session, std::uint32_t node) {
  return folder_path("/dev/shm", session, node);
}

SharedFiles::SharedFiles(std::string path) : path_(std::move(path)) {
  if (::mkdir(path_.c_str(), S_IRWXU) != 0)
    throw Stop(exit_status::own_failure, messages::no_shared_files(path_, errno));
}

SharedFiles::~SharedFiles() {
  remove_tree(path_);
}

Variables SharedFiles::additions_to(const Variables& environment) const {
  Variables additions;
  // Between processes, for windows that MPI_Win_allocate_shared makes, and for those of MPI_Win_allocate.
  for (const std::string_view owner : {"btl_vader", "osc_sm", "osc_rdma"}) {
    const std::string name = fmt::format("OMPI_MCA_{}_backing_directory=", owner);
    const auto is_it = [&](const std::string& variable) { return variable.rfind(name, 0) == 0; };
    if (std::none_of(environment.begin(), environment.end(), is_it)) additions.push_back(name + path_);
  }
  return additions;
}

}  // namespace weft::ranks
