// SPDX-License-Identifier: BSD-3-Clause
// Finds the file to execute before anything is started, so that a typing error costs one line and starts
// no process.
#pragma once

#include <string>

#include <vector>

#include "tools/job/app.hpp"
#include "tools/job/interface.hpp"
#include "tools/node/program/environment.hpp"

namespace weft::node {

/// The path for execve: absolute or relative to the directory in which the rank will run. A name without a
/// slash is looked up in the folders of --path, then in the PATH that the rank will have. Throws Stop:
/// not_found, not_executable, own_failure (--wdir).
/// is_spawned: a bare name that no folder of PATH has is looked for in the folder of the rank, too, as MPI
/// programs that spawn expect it.
std::string find_program(const job::App& app, const Variables& environment, bool is_spawned);

/// The interface of the program at `path`, as its libraries tell, and whether weftpmi is to stand in front of
/// it.
/// directory: where it will run.
job::Interface interface_of(const std::string& path, const std::string& directory,
                            const Variables& environment, job::Pmi pmi);

/// Whether LD_LIBRARY_PATH may be lost before the library is loaded: the command starts a program of MPI or
/// PMIx by another one, or the loader does not heed it, for the program becomes another user (setuid).
bool may_lose_library(const job::App& app, const std::string& path, const job::Interface& interface,
                      const Variables& environment);

/// For a program that could not be executed (error: of execve): the interpreter that its first line names, if
/// that is why; else empty.
std::string unusable_interpreter(const std::string& path, const std::string& directory, int error);

/// The command that is executed in place of the program.
struct Command {
  std::string path;
  std::vector<std::string> argv;
};
/// With weftpmi in front where the interface says so. Throws Stop (own_failure) if weftpmi is not beside this
/// program.
Command command_for(const job::App& app, std::string path, const job::Interface& interface);

}  // namespace weft::node
