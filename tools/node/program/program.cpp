// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/program/program.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "tools/libraries/command_look.hpp"
#include "tools/libraries/program_look.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"

namespace weft::node {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

enum class FileState { runnable, not_runnable, absent };

/// reason: filled in for not_runnable.
FileState state_of(const std::string& path, std::string& reason) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return FileState::absent;
    reason = std::strerror(errno);
    return FileState::not_runnable;
  }
  if (S_ISDIR(status.st_mode))
    reason = "it is a directory";
  else if (!S_ISREG(status.st_mode))
    reason = "it is not a regular file";
  else if (::access(path.c_str(), X_OK) != 0)
    reason = std::strerror(errno);
  else
    return FileState::runnable;
  return FileState::not_runnable;
}

void check_directory(const std::string& directory) {
  struct stat status {};
  int error = 0;
  if (::stat(directory.c_str(), &status) != 0)
    error = errno;
  else if (!S_ISDIR(status.st_mode))
    error = ENOTDIR;
  else if (::access(directory.c_str(), X_OK) != 0)
    error = errno;
  if (error != 0) throw Stop(exit_status::own_failure, messages::bad_directory(directory, error));
}

std::string_view search_path(const Variables& environment) {
  for (const auto& variable : environment) {
    if (variable.compare(0, 5, "PATH=") == 0) return std::string_view(variable).substr(5);
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

/// `path` as seen from weftrun, for a rank that will run in `directory`.
std::string seen_from_here(const std::string& path, const std::string& directory) {
  return directory.empty() || path.front() == '/' ? path : directory + "/" + path;
}

std::string search(const std::string& name, std::string_view path, const std::string& directory) {
  std::string reason, first_reason;
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find(':', begin), path.size());
    std::string candidate(path.substr(begin, end - begin));
    candidate =
        (candidate.empty() ? "." : candidate) + "/" + name;  // an empty entry is the current directory
    const FileState state = state_of(seen_from_here(candidate, directory), reason);
    if (state == FileState::runnable) return candidate;
    if (state == FileState::not_runnable && first_reason.empty()) first_reason = reason;
    begin = end + 1;
  }
  if (!first_reason.empty()) {
    throw Stop(exit_status::not_executable, messages::program_not_executable(name, first_reason));
  }
  throw Stop(exit_status::not_found, messages::program_not_found(name, {}, true));
}

}  // namespace

std::string find_program(const job::App& app, const Variables& environment, bool is_spawned) {
  if (!app.directory.empty()) check_directory(app.directory);
  const std::string& name = app.argv.front();
  if (name.find('/') == std::string::npos) {
    std::string path = app.path.empty() ? std::string() : app.path + ":";
    path += search_path(environment);
    if (is_spawned) path += ":.";
    return search(name, std::string_view(path), app.directory);
  }
  std::string reason;
  switch (state_of(seen_from_here(name, app.directory), reason)) {
    case FileState::runnable:
      return name;
    case FileState::not_runnable:
      throw Stop(exit_status::not_executable, messages::program_not_executable(name, reason));
    case FileState::absent:
      break;
  }
  const std::string from = app.directory.empty() ? "the current directory" : app.directory;
  throw Stop(exit_status::not_found, messages::program_not_found(name, from, false));
}

bool may_lose_library(const job::App& app, const std::string& path, const job::Interface& interface,
                      const Variables& environment) {
  if (!interface.mpi.empty() || !interface.pmix.empty()) {
    struct stat status {};
    return ::stat(seen_from_here(path, app.directory).c_str(), &status) == 0 &&
           (status.st_mode & (S_ISUID | S_ISGID)) != 0;
  }
  const libraries::LoaderSettings settings{value_of(environment, "LD_LIBRARY_PATH"),
                                           app.directory.empty() ? "." : app.directory};
  return !libraries::user_of_pmix(app.argv, value_of(environment, "PATH"), settings).empty();
}

std::string unusable_interpreter(const std::string& path, const std::string& directory, int error) {
  constexpr std::size_t most_bytes_read_by_the_kernel = 256;
  if (error != ENOENT && error != EACCES) return {};
  std::ifstream file(seen_from_here(path, directory), std::ios::binary);
  std::string line(most_bytes_read_by_the_kernel, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  if (line.compare(0, 2, "#!") != 0) return {};
  line = line.substr(0, line.find('\n'));
  const auto begin = line.find_first_not_of(" \t", 2);
  if (begin == std::string::npos) return {};
  const auto interpreter = line.substr(begin, line.find_first_of(" \t", begin) - begin);
  return ::access(seen_from_here(interpreter, directory).c_str(), X_OK) == 0 ? std::string() : interpreter;
}

job::Interface interface_of(const std::string& path, const std::string& directory,
                            const Variables& environment, job::Pmi pmi) {
  auto found = libraries::look_at(
      path, {value_of(environment, "LD_LIBRARY_PATH"), directory.empty() ? "." : directory});
  found.has_weftpmi = pmi == job::Pmi::always || (pmi == job::Pmi::automatic && found.is_wire);
  std::error_code error;
  const auto own = library_file();
  if (!found.pmix.empty() && !own.empty() && std::filesystem::canonical(found.pmix, error) != own && !error)
    found.server_pmix = own;
  return found;
}

Command command_for(const job::App& app, std::string path, const job::Interface& interface) {
  Command command{std::move(path), app.argv};
  if (!interface.has_weftpmi) return command;
  std::error_code error;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
  command.path = (own.parent_path() / "weftpmi").string();
  if (::access(command.path.c_str(), X_OK) != 0)
    throw Stop(exit_status::own_failure, messages::no_weftpmi(command.path, app.argv.front(), errno));
  command.argv.insert(command.argv.begin(), "weftpmi");
  return command;
}

}  // namespace weft::node
