// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/launcher/records/trace_file.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/process/fd.hpp"

namespace weft::weftrun {
namespace {

/// A new file beside its place, which is removed unless it is put there.
class NewFile {
 public:
  explicit NewFile(const std::string& place)
      : name_(place + ".XXXXXX"), file_(::mkostemp(name_.data(), O_CLOEXEC)), error_(file_ ? 0 : errno) {}
  ~NewFile() {
    if (file_) ::unlink(name_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  int error() const noexcept { return error_; }
  int write(std::string_view text) {
    for (std::size_t written = 0; error_ == 0 && written < text.size();) {
      const auto length = ::write(file_.get(), text.data() + written, text.size() - written);
      if (length >= 0)
        written += static_cast<std::size_t>(length);
      else if (errno != EINTR)
        error_ = errno;
    }
    return error_;
  }
  int put(const std::string& place) {
    if (error_ == 0 && ::rename(name_.c_str(), place.c_str()) != 0) error_ = errno;
    if (error_ == 0) file_.reset();
    return error_;
  }

 private:
  std::string name_;
  process::Fd file_;
  int error_;
};

/// Empty: a file can be put there. A device or a pipe would be replaced by a file, and a link by what it does
/// not lead to.
std::string why_not(const std::string& path) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) return errno == ENOENT ? std::string() : std::strerror(errno);
  if (S_ISREG(there.st_mode)) return {};
  return S_ISDIR(there.st_mode) ? "it is a folder" : "it is there, and is no regular file";
}

std::string text_of(int error) {
  return error == 0 ? std::string() : std::strerror(error);
}

}  // namespace

TraceFile::TraceFile(const std::string& path) {
  std::error_code unknown;
  const auto whole = std::filesystem::absolute(path, unknown);
  path_ = unknown ? path : whole.string();
  auto why = path_.ends_with('/') ? "it is a folder" : why_not(path_);
  if (why.empty()) why = text_of(NewFile(path_).error());
  if (!why.empty())
    throw messages::Stop(messages::exit_status::own_failure, messages::bad_trace_file(path, why));
}

std::string TraceFile::write(std::string_view text) const {
  if (auto why = why_not(path_); !why.empty()) return why;
  NewFile file(path_);
  if (file.write(text) == 0) file.put(path_);
  return text_of(file.error());
}

}  // namespace weft::weftrun
