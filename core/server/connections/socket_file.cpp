// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/connections/socket_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/local_socket.hpp"
#include "core/link/rendezvous.hpp"

namespace weft::server {
namespace {

/// Whether a server of this user has ended without removing the file: no process listens there.
bool is_left_behind(const std::filesystem::path& path) {
  struct stat info {};
  if (!link::is_server_name(path.filename().string()) || ::lstat(path.c_str(), &info) != 0) return false;
  if (!S_ISSOCK(info.st_mode) || info.st_uid != ::geteuid()) return false;
  const auto answer = base::connect_to_file(path.string(), base::Blocking::no);
  return !answer && answer.error().code == Errc::unreachable;
}

void sweep(const std::filesystem::path& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error))
    if (is_left_behind(each->path())) (void)::unlink(each->path().c_str());
}

}  // namespace

Result<SocketFile> SocketFile::listen(const std::string& folder, const std::string& name,
                                      base::Fd& listening) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(folder, error);  // the host may go elsewhere
  if (error) return fail(Errc::os, "WEFT_SOCKET_DIR", error.value());
  sweep(absolute);
  SocketFile out;
  const auto path = (absolute / name).string();
  // The file gets its name when the socket listens: until then another server would take it for a file that a
  // dead server has left.
  const auto draft = path + "~";
  auto socket = base::listen_at_file(draft);
  if (!socket) return fail(socket.error());
  struct stat info {};
  // The mask of the process may have taken the permission of others, which ranks of other users need.
  const bool is_made = ::chmod(draft.c_str(), 0666) == 0 && ::lstat(draft.c_str(), &info) == 0 &&
                       ::rename(draft.c_str(), path.c_str()) == 0;
  if (!is_made) {
    const int why = errno;
    ::unlink(draft.c_str());
    return fail(Errc::os, "WEFT_SOCKET_DIR", why);
  }
  out.path_ = path;
  out.owner_ = ::getpid();
  out.device_ = info.st_dev;
  out.inode_ = info.st_ino;
  listening = std::move(*socket);
  return out;
}

SocketFile::SocketFile(SocketFile&& other) noexcept {
  *this = std::move(other);
}

SocketFile& SocketFile::operator=(SocketFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  std::swap(owner_, other.owner_);
  return *this;
}

SocketFile::~SocketFile() {
  if (path_.empty() || owner_ != ::getpid()) return;
  struct stat now {};
  if (::lstat(path_.c_str(), &now) == 0 && now.st_dev == device_ && now.st_ino == inode_)
    ::unlink(path_.c_str());
}

}  // namespace weft::server
