// SPDX-License-Identifier: BSD-3-Clause
// A folder for the shared memory of a job's ranks on one virtual node. Open MPI 4 names its files by machine,
// user, job and local rank (docs/design/openmpi.md): in one folder, those of several virtual nodes would be
// the same files.
#pragma once

#include <string>

#include "tools/node/program/environment.hpp"

namespace weft::node {

/// The variables that make Open MPI use the folder, without those that the user has set in `environment`.
Variables shared_files_variables(const std::string& folder, const Variables& environment);

}  // namespace weft::node
