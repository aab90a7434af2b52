// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/folders/shared_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace weft::node {

Variables shared_files_variables(const std::string& folder, const Variables& environment) {
  Variables additions;
  // Open MPI hands its variables on to what MPI_Comm_spawn starts, on other nodes too: a folder of another
  // job's is no wish of the user.
  constexpr std::string_view of_a_job = "/dev/shm/weft-";
  // Between processes, for windows that MPI_Win_allocate_shared makes, and for those of MPI_Win_allocate.
  for (const std::string_view owner : {"btl_vader", "osc_sm", "osc_rdma"}) {
    const std::string name = fmt::format("OMPI_MCA_{}_backing_directory=", owner);
    const auto is_users = [&](const std::string& variable) {
      return variable.rfind(name, 0) == 0 && variable.compare(name.size(), of_a_job.size(), of_a_job) != 0;
    };
    if (std::none_of(environment.begin(), environment.end(), is_users)) additions.push_back(name + folder);
  }
  return additions;
}

}  // namespace weft::node
