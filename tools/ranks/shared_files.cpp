// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ranks/shared_files.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"

namespace weft::ranks {

using messages::Stop;
namespace exit_status = messages::exit_status;

std::string shared_files_path(const std::string& session, std::uint32_t node) {
  std::uint64_t chance = 0;  // any user may make a folder there: one whose name can be guessed is in the way
  while (::getrandom(&chance, sizeof chance, 0) != static_cast<ssize_t>(sizeof chance)) continue;
  return fmt::format("/dev/shm/{}.{}.{:016x}", session, node, chance);
}

void remove_shared_files(const std::string& path) noexcept {
  std::error_code ignored;  // of a clean-up at the end: there is nothing to do about it
  std::filesystem::remove_all(path, ignored);
}

SharedFiles::SharedFiles(std::string path) : path_(std::move(path)) {
  if (::mkdir(path_.c_str(), S_IRWXU) != 0)
    throw Stop(exit_status::own_failure, messages::no_shared_files(path_, errno));
}

void SharedFiles::add_to(Variables& variables) const {
  // Between processes, for windows that MPI_Win_allocate_shared makes, and for those of MPI_Win_allocate.
  for (const std::string_view owner : {"btl_vader", "osc_sm", "osc_rdma"}) {
    const std::string name = fmt::format("OMPI_MCA_{}_backing_directory=", owner);
    const auto is_it = [&](const std::string& variable) { return variable.rfind(name, 0) == 0; };
    if (std::none_of(variables.begin(), variables.end(), is_it)) variables.push_back(name + path_);
  }
}

}  // namespace weft::ranks
