// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/io/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tools/jobs/output_file.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"

namespace weft::weftrun {
namespace {

using job::Rank;
using messages::Stop;
namespace exit_status = messages::exit_status;

bool same_file(int a, int b) {
  struct stat one {};
  struct stat other {};
  return ::fstat(a, &one) == 0 && ::fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

const char* stream_name(channel::Stream stream) noexcept {
  return stream == channel::Stream::out ? "standard output" : "standard error";
}

process::Fd create(const std::string& path) {
  process::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666));
  if (!file) throw Stop(exit_status::own_failure, messages::bad_output_directory(path, errno));
  return file;
}

}  // namespace

Output::Output(asio::io_context& loop, const std::string& directory, OutputTags tags, Events events)
    : directory_(directory), tags_(tags), events_(std::move(events)) {
  if (!directory_.empty()) {
    std::error_code error;
    std::filesystem::create_directories(directory_, error);
    if (error)
      throw Stop(exit_status::own_failure, messages::bad_output_directory(directory_, error.value()));
  }
  const auto make = [&](int fd, channel::Stream stream) {
    return std::make_unique<Sink>(loop, fd,
                                  Sink::Events{[this] { check_drained(); },
                                               [this, stream](int error) {
                                                 if (error == EPIPE)
                                                   events_.reader_lost(stream);
                                                 else
                                                   events_.write_failed(stream_name(stream), error);
                                                 check_drained();
                                               }});
  };
  out_ = make(STDOUT_FILENO, channel::Stream::out);
  if (!same_file(STDOUT_FILENO, STDERR_FILENO)) separate_error_ = make(STDERR_FILENO, channel::Stream::error);
  error_ = separate_error_ ? separate_error_.get() : out_.get();
}

Output::Ends Output::connect(Rank rank) {
  if (!directory_.empty()) return open_files(rank);
  process::Pipe out = process::make_pipe(false, true);
  process::Pipe error = process::make_pipe(false, true);
  out_->attach(std::move(out.read), rank, tags_);
  error_->attach(std::move(error.read), rank, tags_);
  return {std::move(out.write), std::move(error.write)};
}

void Output::make_files(Rank rank) const {
  if (!directory_.empty()) open_files(rank);
}

void Output::connect_remote(Rank rank) {
  if (!directory_.empty()) return;
  out_->attach_remote(rank, channel::Stream::out, tags_);
  error_->attach_remote(rank, channel::Stream::error, tags_);
}

void Output::write(Rank rank, channel::Stream stream, std::string bytes, std::function<void()> done) {
  if (directory_.empty())
    return (stream == channel::Stream::out ? *out_ : *error_)
        .write(rank, stream, std::move(bytes), std::move(done));
  append_to_file(rank, stream, bytes);
  done();
}

void Output::close_remote(Rank rank) {
  if (!directory_.empty()) return;
  out_->close_remote(rank, channel::Stream::out);
  error_->close_remote(rank, channel::Stream::error);
}

/// Opened for each piece: two descriptors a rank would be more than a process may have.
void Output::append_to_file(Rank rank, channel::Stream stream, const std::string& bytes) {
  if (bytes.empty() || has_failed_) return;
  const process::Fd file(::open(file_of(rank, stream).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  for (std::size_t written = 0; written < bytes.size();) {
    const auto length = ::write(file.get(), bytes.data() + written, bytes.size() - written);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) {
      has_failed_ = true;
      return events_.write_failed(file_of(rank, stream), errno);
    }
    written += static_cast<std::size_t>(length);
  }
}

void Output::check_room(Rank rank) {
  if (directory_.empty() || has_failed_) return;
  const auto file = file_of(rank, channel::Stream::out);
  struct statvfs room {};
  if (::statvfs(file.c_str(), &room) != 0) return;
  const auto left = ::geteuid() == 0 ? room.f_bfree : room.f_bavail;  // the rest is kept for root
  if (room.f_blocks == 0 || left != 0) return;
  has_failed_ = true;
  events_.write_failed(file, ENOSPC);
}

Output::Ends Output::open_files(Rank rank) const {
  return {create(file_of(rank, channel::Stream::out)), create(file_of(rank, channel::Stream::error))};
}

std::string Output::file_of(Rank rank, channel::Stream stream) const {
  return jobs::output_file(directory_, rank, stream == channel::Stream::error);
}

void Output::print(std::string line) {
  error_->print(std::move(line));
}

void Output::print_after(Rank rank, std::string line, WrittenBytes written) {
  error_->print_after(rank, std::move(line), written);
}

bool Output::is_drained() const noexcept {
  return out_->is_drained() && (!separate_error_ || separate_error_->is_drained());
}

void Output::drop_all() {
  out_->drop_all();
  if (separate_error_) separate_error_->drop_all();
}

void Output::check_drained() {
  if (is_drained()) events_.drained();
}

}  // namespace weft::weftrun
