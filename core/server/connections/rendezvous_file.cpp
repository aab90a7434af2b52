// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/connections/rendezvous_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/fd.hpp"

namespace weft::server {

Result<RendezvousFile> RendezvousFile::write(const std::string& name, const std::string& uri) {
  std::error_code error;
  const auto path = std::filesystem::absolute(name, error).string();  // the host may go elsewhere
  if (error) return fail(Errc::os, "rendezvous file", error.value());
  const auto draft = path + "." + std::to_string(::getpid());
  const base::Fd fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return fail(Errc::os, "rendezvous file", errno);
  const auto line = uri + "\n";
  struct stat info {};
  const bool is_written = ::write(fd.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
                          ::fstat(fd.get(), &info) == 0 && ::rename(draft.c_str(), path.c_str()) == 0;
  if (!is_written) {
    const int why = errno;
    ::unlink(draft.c_str());
    return fail(Errc::os, "rendezvous file", why);
  }
  RendezvousFile out;
  out.path_ = path;
  out.device_ = info.st_dev;
  out.inode_ = info.st_ino;
  out.owner_ = ::getpid();
  return out;
}

RendezvousFile::RendezvousFile(RendezvousFile&& other) noexcept {
  *this = std::move(other);
}

RendezvousFile& RendezvousFile::operator=(RendezvousFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  std::swap(owner_, other.owner_);
  return *this;
}

RendezvousFile::~RendezvousFile() {
  if (path_.empty() || owner_ != ::getpid()) return;
  struct stat now {};
  if (::lstat(path_.c_str(), &now) == 0 && now.st_dev == device_ && now.st_ino == inode_)
    ::unlink(path_.c_str());
}

}  // namespace weft::server
