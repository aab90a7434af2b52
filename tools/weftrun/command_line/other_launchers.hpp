// SPDX-License-Identifier: BSD-3-Clause
// Words of the command lines of other launchers (Open MPI's mpirun, Hydra's mpiexec, Slurm's srun) that mean
// nothing to weftrun, and what its users write instead.
#pragma once

#include <string>
#include <string_view>

namespace weft::weftrun {

/// Says which launcher has an option, and what to write in its place, or that there is nothing like it, as a
/// clause without a full stop: "mpiexec has one; write -N N". option: a word of the command line that is no
/// option of weftrun, with its dashes. Empty: a word of no launcher that is known here.
std::string instead_of_option(std::string_view option);

/// The text to write in place of a value of --map-by, --bind-to, --rank-by or --display, without the
/// launcher.
std::string_view instead_of_placement(std::string_view value);

/// The text to write in place of a parameter that --mca sets for mpirun itself. Empty: an MPI program reads
/// it.
std::string_view instead_of_parameter(std::string_view name);

}  // namespace weft::weftrun
