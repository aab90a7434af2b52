// SPDX-License-Identifier: BSD-3-Clause
#include "tools/libraries/program_look.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <deque>
#include <optional>
#include <set>
#include <string_view>

#include "base/fd.hpp"
#include "tools/libraries/elf.hpp"

namespace weft::libraries {
namespace {

constexpr std::size_t most_files = 128;
// Every program has some of them, and they need nothing but each other.
constexpr std::array<std::string_view, 9> of_the_system = {"libc.so",   "libm.so",  "libpthread.so",
                                                           "libdl.so",  "librt.so", "libgcc_s",
                                                           "libstdc++", "ld-linux", "linux-vdso.so"};

bool begins(std::string_view name, std::string_view with) {
  return name.substr(0, with.size()) == with;
}

/// The name of MPICH's library, and that of the ABI which MPICH and its relatives share.
bool is_mpich(std::string_view name) {
  return begins(name, "libmpich.so") || begins(name, "libmpi.so.12");
}
bool is_mpi(std::string_view name) {
  return is_mpich(name) || begins(name, "libmpi.so") || begins(name, "liboshmem.so");
}
bool is_pmi(std::string_view name) {
  return begins(name, "libpmi.so") || begins(name, "libpmi2.so");
}
bool is_pmix(std::string_view name) {
  return begins(name, "libpmix.so");
}

/// Opened without waiting for the other end of a pipe of that name; only a plain file is read.
std::optional<Needs> needs_of(const std::string& path) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return read_needs([&](std::uint64_t offset, std::size_t length) {
    std::vector<std::byte> bytes(length);
    const auto got = offset > static_cast<std::uint64_t>(INT64_MAX)
                         ? -1
                         : ::pread(file.get(), bytes.data(), length, static_cast<off_t>(offset));
    bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return bytes;
  });
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// The folders of a list as the loader reads it.
std::vector<std::string> folders_in(const std::string& list, const std::string& origin) {
  std::vector<std::string> folders;
  for (std::size_t begin = 0; begin < list.size();) {
    const auto end = std::min(list.find(':', begin), list.size());
    std::string folder = list.substr(begin, end - begin);
    for (const std::string_view word : {"${ORIGIN}", "$ORIGIN"})
      if (begins(folder, word)) folder = origin + folder.substr(word.size());
    if (!folder.empty()) folders.push_back(std::move(folder));
    begin = end + 1;
  }
  return folders;
}

class Walk {
 public:
  explicit Walk(const LoaderSettings& settings) : settings_(settings) {}

  job::Interface from(const std::string& program) {
    open_.push_back(program);
    for (std::size_t files = 0; !open_.empty() && files < most_files; ++files) {
      const auto path = open_.front();
      open_.pop_front();
      const auto needs = needs_of(path);
      if (!needs) continue;
      if (path == program && needs->runpath.empty()) rpath_ = folders_in(needs->rpath, folder_of(path));
      for (const auto& name : needs->names) take(name, *needs, path);
    }
    found_.is_wire = is_mpich(found_.mpi) && !has_pmi_ && found_.pmix.empty();
    return found_;
  }

 private:
  void take(const std::string& name, const Needs& needs, const std::string& needed_by) {
    const bool is_system = std::any_of(of_the_system.begin(), of_the_system.end(),
                                       [&](std::string_view word) { return begins(name, word); });
    if (is_system || !seen_.insert(name).second) return;
    const auto file = std::string_view(name).substr(name.rfind('/') + 1);  // npos + 1 is 0
    if (is_mpi(file) && found_.mpi.empty()) found_.mpi = file;
    has_pmi_ = has_pmi_ || is_pmi(file);
    auto path = file_of(name, needs, folder_of(needed_by));
    if (is_pmix(file)) found_.pmix = path.empty() ? name : path;
    if (!path.empty()) open_.push_back(std::move(path));
  }

  std::string file_of(const std::string& name, const Needs& needs, const std::string& origin) const {
    if (name.find('/') != std::string::npos) return name;
    std::vector<std::string> folders;
    const auto add = [&](std::vector<std::string> more) {
      for (auto& folder : more) folders.push_back(std::move(folder));
    };
    if (needs.runpath.empty()) {
      add(folders_in(needs.rpath, origin));
      add(rpath_);
    }
    add(folders_in(settings_.library_path, origin));
    add(folders_in(needs.runpath, origin));
    for (const auto folder : usual_directories) folders.emplace_back(folder);
    for (const auto& folder : folders) {
      const auto path = (folder.front() == '/' ? folder : settings_.directory + "/" + folder) + "/" + name;
      if (::access(path.c_str(), R_OK) == 0) return path;
    }
    return {};
  }

  const LoaderSettings& settings_;
  job::Interface found_;
  bool has_pmi_ = false;
  std::vector<std::string> rpath_;  // of the program: its libraries are looked for there, too
  std::deque<std::string> open_;
  std::set<std::string> seen_;
};

}  // namespace

job::Interface look_at(const std::string& program, const LoaderSettings& settings) {
  const bool is_relative = !program.empty() && program.front() != '/';
  return Walk(settings).from(is_relative ? settings.directory + "/" + program : program);
}

}  // namespace weft::libraries
