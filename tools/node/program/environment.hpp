// SPDX-License-Identifier: BSD-3-Clause
// The environment of the ranks: weftrun's own, without the variables of another launcher; with what the PMIx
// server changes in it (the launch information, -x among it, and where the server is); with those from which
// Open MPI knows that it was launched.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/job/mapping.hpp"
#include "tools/job/rank.hpp"

namespace weft::node {

using Variables = std::vector<std::string>;  ///< each "NAME=VALUE"

/// True for a variable that describes another job (weftrun started inside mpirun, srun or weftrun). Such
/// variables would make the ranks talk to that job's server.
bool belongs_to_another_job(const char* variable) noexcept;

/// Removes those from weftrun's own environment too: its libpmix is about to become a server.
void forget_other_jobs();

/// The directory of the libpmix that weftrun itself has loaded, so that the ranks load the same; empty when
/// the dynamic linker searches it anyway (then naming it could only hide a program's own
/// libraries).
std::string library_directory();

/// The file of the libpmix that this process itself has loaded, without links; empty: not known.
std::string library_file();

/// weftrun's environment without what describes another job.
Variables without_other_jobs(const Variables& inherited);

/// The variables that the ranks of one program get beyond `environment`, which is theirs as the PMIx server
/// left it; a variable that stands there as well is to be replaced.
Variables additions_to(const Variables& environment, const std::string& library_path, bool oversubscribed);

/// --cpus-per-rank: what makes a program of OpenMP use the processors of its rank, so many threads, as far as
/// `environment` does not say. Places only where the rank is bound: threads of ranks that are not would all
/// go to the first processors of their node.
Variables openmp_variables(const Variables& environment, std::uint32_t threads, job::BindTo bind);

/// The identity variables that scripts written for mpirun read (OMPI_COMM_WORLD_RANK and the like).
struct RankIdentity {
  job::Rank rank;
  std::uint32_t size;        ///< of the job
  std::uint32_t local_rank;  ///< among the job's ranks on this node
  std::uint32_t local_size;
};
Variables rank_environment(const RankIdentity& identity);

/// Empty: not set.
std::string value_of(const Variables& variables, std::string_view name);

/// Sets or replaces; `assignment` is "NAME=VALUE".
void set_variable(Variables& variables, const std::string& assignment);

/// An envp of pointers into `shared` and `own`; where both set a name, `own` wins. Both must outlive the
/// result.
std::vector<char*> make_envp(const Variables& shared, const Variables& own);

/// "PWD=..." for a process that starts in `directory`, as a shell there has it: absolute, without "." and
/// "..".
/// from: where a relative one is seen from.
std::string working_directory_variable(const std::string& directory, const std::string& from);

}  // namespace weft::node
