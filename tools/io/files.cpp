// SPDX-License-Identifier: BSD-3-Clause
#include "tools/io/files.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "tools/jobs/output_file.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"

namespace weft::io {
namespace {

using job::Rank;
using job::Stream;
using jobs::output_file;
using messages::Stop;
namespace exit_status = messages::exit_status;

process::Fd create(const std::string& path) {
  process::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666));
  if (!file) throw Stop(exit_status::own_failure, messages::bad_output_directory(path, errno));
  return file;
}

}  // namespace

Files::Files(std::string directory, Failed failed)
    : directory_(std::move(directory)), failed_(std::move(failed)) {
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error) throw Stop(exit_status::own_failure, messages::bad_output_directory(directory_, error.value()));
}

Files::Ends Files::open(Rank rank) const {
  return {create(output_file(directory_, rank, Stream::out)),
          create(output_file(directory_, rank, Stream::error))};
}

void Files::write(const Flow& flow, std::string bytes, Written written) {
  if (!bytes.empty() && !has_failed_) append(output_file(directory_, flow.rank, flow.stream), bytes);
  written(true);
}

/// Opened for each piece: two descriptors a rank would be more than a process may have.
void Files::append(const std::string& file, const std::string& bytes) {
  const process::Fd opened(::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  for (std::size_t written = 0; written < bytes.size();) {
    const auto length = ::write(opened.get(), bytes.data() + written, bytes.size() - written);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return fail(file, errno);
    written += static_cast<std::size_t>(length);
  }
}

void Files::check_room(Rank rank) {
  const auto file = output_file(directory_, rank, Stream::out);
  struct statvfs room {};
  if (has_failed_ || ::statvfs(file.c_str(), &room) != 0) return;
  const auto left = ::geteuid() == 0 ? room.f_bfree : room.f_bavail;  // the rest is kept for root
  if (room.f_blocks != 0 && left == 0) fail(file, ENOSPC);
}

void Files::fail(const std::string& file, int error) {
  has_failed_ = true;
  failed_(file, error);
}

}  // namespace weft::io
