// SPDX-License-Identifier: BSD-3-Clause
#include "tools/libraries/open_watch.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "tools/libraries/program_look.hpp"

namespace weft::libraries {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_folders = 256;

void add_list(std::vector<std::string>& folders, const std::string& list) {
  for (std::size_t begin = 0; begin < list.size();) {
    const auto end = std::min(list.find(':', begin), list.size());
    if (end > begin) folders.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
}

/// Adds the folders that the system's administrator has added to the loader's.
void add_configured(std::vector<std::string>& folders) {
  std::error_code error;
  for (fs::directory_iterator at("/etc/ld.so.conf.d", error), end; !error && at != end; at.increment(error)) {
    std::ifstream file(at->path());
    for (std::string line; folders.size() < most_folders && std::getline(file, line);)
      if (!line.empty() && line.front() == '/') folders.push_back(line);
  }
}

/// /opt/x/lib for /opt/x/bin.
void add_beside(std::vector<std::string>& folders, const std::string& search_path) {
  std::vector<std::string> programs;
  add_list(programs, search_path);
  for (const auto& folder : programs) {
    const fs::path prefix = fs::path(folder).parent_path();
    for (const char* name : {"lib", "lib64"}) folders.push_back((prefix / name).string());
  }
}

}  // namespace

std::vector<std::string> other_pmix_files(const std::string& own, const std::string& library_path,
                                          const std::string& search_path) {
  std::vector<std::string> folders, files;
  add_list(folders, library_path);
  for (const auto folder : usual_directories) folders.emplace_back(folder);
  add_configured(folders);
  add_beside(folders, search_path);
  folders.resize(std::min(folders.size(), most_folders));
  for (const auto& folder : folders) {
    std::error_code error;
    auto file = fs::canonical(folder + "/libpmix.so.2", error).string();
    if (!error && file != own && std::find(files.begin(), files.end(), file) == files.end())
      files.push_back(std::move(file));
  }
  return files;
}

OpenWatch::OpenWatch(std::vector<std::string> files) : files_(std::move(files)) {
  if (files_.empty()) return;
  notices_ = base::Fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  for (const auto& file : files_)
    watches_.push_back(notices_ ? ::inotify_add_watch(notices_.get(), file.c_str(), IN_OPEN | IN_ONESHOT)
                                : -1);
}

std::string OpenWatch::opened() {
  alignas(inotify_event) std::array<char, 4096> bytes;
  while (opened_.empty() && notices_) {
    const auto length = ::read(notices_.get(), bytes.data(), bytes.size());
    if (length <= 0) break;
    for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(length);) {
      inotify_event notice;
      std::memcpy(&notice, bytes.data() + at, sizeof notice);
      at += sizeof notice + notice.len;
      const auto watch = std::find(watches_.begin(), watches_.end(), notice.wd);
      const bool is_open = (notice.mask & IN_OPEN) != 0 && watch != watches_.end();
      if (is_open && opened_.empty()) opened_ = files_[static_cast<std::size_t>(watch - watches_.begin())];
    }
  }
  return opened_;
}

}  // namespace weft::libraries
