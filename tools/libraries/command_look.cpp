// SPDX-License-Identifier: BSD-3-Clause
#include "tools/libraries/command_look.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/fd.hpp"

namespace weft::libraries {
namespace {

constexpr std::size_t most_named_files = 64, most_words = 4096, most_bytes = 65536;
constexpr std::string_view between_words = " \t\r\n\"'`;&|()<>={}$,";
/// The module that a script of Python loads.
constexpr std::string_view python_binding = "mpi4py";

/// The beginning of a plain file; empty for anything else.
std::string beginning_of(const std::string& path) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  std::string text(most_bytes, '\0');
  const auto length = ::read(file.get(), text.data(), text.size());
  text.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
  return text;
}

class Look {
 public:
  Look(const std::string& search_path, const LoaderSettings& settings)
      : search_path_(search_path), settings_(settings) {}

  std::string in_text(std::string_view text, int depth) {
    if (text.find(python_binding) != std::string_view::npos) return std::string(python_binding);
    for (std::size_t begin = 0; begin < text.size() && words_ < most_words;) {
      const auto end = std::min(text.find_first_of(between_words, begin), text.size());
      if (auto found = in_word(std::string(text.substr(begin, end - begin)), depth); !found.empty())
        return found;
      begin = end + 1;
    }
    return {};
  }

 private:
  /// A script names other scripts, but rarely in a chain of more than a few.
  static constexpr int deepest = 3;

  std::string in_word(const std::string& word, int depth) {
    if (word.empty() || ++words_ > most_words || !seen_.insert(word).second) return {};
    const auto path = file_of(word);
    if (path.empty() || ++files_ > most_named_files) return {};
    const auto text = beginning_of(path);
    if (text.compare(0, 4,
                     "\x7f"
                     "ELF") == 0) {
      const auto needs = look_at(path, settings_);
      return needs.mpi.empty() && needs.pmix.empty() ? std::string() : word;
    }
    const bool is_text = std::find(text.begin(), text.end(), '\0') == text.end();
    if (!is_text || depth == deepest) return {};
    return in_text(text, depth + 1).empty() ? std::string() : word;
  }

  std::string file_of(const std::string& word) const {
    struct stat status {};
    const auto is_file = [&](const std::string& path) {
      return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
    };
    const std::string from_here = word.front() == '/' ? word : settings_.directory + "/" + word;
    if (is_file(from_here)) return from_here;  // also the script that an interpreter is given
    for (std::size_t begin = 0; word.find('/') == std::string::npos && begin < search_path_.size();) {
      const auto end = std::min(search_path_.find(':', begin), search_path_.size());
      const auto path = search_path_.substr(begin, end - begin) + "/" + word;
      if (is_file(path)) return path;
      begin = end + 1;
    }
    return {};
  }

  const std::string& search_path_;
  const LoaderSettings& settings_;
  std::set<std::string> seen_;
  std::size_t words_ = 0, files_ = 0;
};

}  // namespace

std::string user_of_pmix(const std::vector<std::string>& argv, const std::string& search_path,
                         const LoaderSettings& settings) {
  Look look(search_path, settings);
  for (const auto& word : argv)
    if (auto found = look.in_text(word, 0); !found.empty()) return found;
  return {};
}

}  // namespace weft::libraries
