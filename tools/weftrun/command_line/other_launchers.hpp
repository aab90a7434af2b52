// SPDX-License-Identifier: BSD-3-Clause
// Words of the command lines of other launchers (Open MPI's mpirun, Hydra's mpiexec, Slurm's srun) that mean
// nothing to weftrun, and what its users write instead.
#pragma once

#include <string_view>

namespace weft::weftrun {

/// option: a word of the command line that is no option of weftrun, with its dashes. What to write in its
/// place, or that there is nothing like it, as a clause without a full stop. Empty: a word of no launcher that
/// is known here.
std::string_view instead_of_option(std::string_view option);

/// The same for a value of --map-by, --bind-to or --rank-by.
std::string_view instead_of_placement(std::string_view value);

}  // namespace weft::weftrun
