// SPDX-License-Identifier: BSD-3-Clause
// Which program of MPI or PMIx a command starts by way of others: env, sh, a script, taskset. A guess from
// words, good enough to say what to look at when its ranks have failed.
#pragma once

#include <string>
#include <vector>

#include "tools/libraries/program_look.hpp"

namespace weft::libraries {

/// argv: as the user wrote it. search_path: as PATH. The first of its words, or of the words of scripts that
/// it names, that is a program which needs a library of MPI or PMIx, or a script that names one; empty: none
/// is seen. Reads files of a bounded number and length.
std::string user_of_pmix(const std::vector<std::string>& argv, const std::string& search_path,
                         const LoaderSettings& settings);

}  // namespace weft::libraries
