// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/launch/user_parameter.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/fd.hpp"

namespace weft::server {
namespace {

constexpr off_t longest_file = 1 << 20;

std::string read_file(const std::string& path) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  if (status.st_uid != ::geteuid() || status.st_size > longest_file) return {};
  std::string out(static_cast<std::size_t>(status.st_size), '\0');
  const auto got = ::read(file.get(), out.data(), out.size());
  out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const auto front = text.find_first_not_of(blanks);
  if (front == text.npos) return {};
  return text.substr(front, text.find_last_not_of(blanks) - front + 1);
}

/// The last line that names it holds; a line that begins with # is a comment.
std::string value_in(std::string_view file, std::string_view name) {
  std::string out;
  while (!file.empty()) {
    const auto line = trimmed(file.substr(0, file.find('\n')));
    file.remove_prefix(
        std::min(file.size(), file.find('\n') == file.npos ? file.size() : file.find('\n') + 1));
    const auto equals = line.find('=');
    if (line.substr(0, 1) == "#" || equals == line.npos) continue;
    if (trimmed(line.substr(0, equals)) == name) out = trimmed(line.substr(equals + 1));
  }
  return out;
}

}  // namespace

std::string user_parameter(std::string_view name) {
  const auto variable = "PMIX_MCA_" + std::string(name);
  if (const char* const set = ::secure_getenv(variable.c_str())) return set;
  const char* const home = ::secure_getenv("HOME");
  return home == nullptr || home[0] != '/'
             ? std::string()
             : value_in(read_file(std::string(home) + "/.pmix/mca-params.conf"), name);
}

}  // namespace weft::server
