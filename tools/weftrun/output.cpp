// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tools/node/messages.hpp"
#include "tools/node/stop.hpp"

namespace weft::weftrun {
namespace {

bool same_file(int a, int b) {
  struct stat one {};
  struct stat other {};
  return ::fstat(a, &one) == 0 && ::fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

Fd create(const std::string& path) {
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666));
  if (!file) throw Stop(exit_status::own_failure, messages::bad_output_directory(path, errno));
  return file;
}

}  // namespace

Output::Output(asio::io_context& loop, const std::string& directory, bool tagged, Events events)
    : directory_(directory), tagged_(tagged), events_(std::move(events)) {
  if (!directory_.empty()) {
    std::error_code error;
    std::filesystem::create_directories(directory_, error);
    if (error)
      throw Stop(exit_status::own_failure, messages::bad_output_directory(directory_, error.value()));
  }
  const auto make = [&](int fd, const char* name) {
    return std::make_unique<Sink>(loop, fd,
                                  Sink::Events{[this] { check_drained(); },
                                               [this, name](int error) {
                                                 events_.lost(name, error);
                                                 check_drained();
                                               }});
  };
  out_ = make(STDOUT_FILENO, "standard output");
  if (!same_file(STDOUT_FILENO, STDERR_FILENO)) separate_error_ = make(STDERR_FILENO, "standard error");
  error_ = separate_error_ ? separate_error_.get() : out_.get();
}

Output::Ends Output::connect(Rank rank) {
  if (!directory_.empty()) return open_files(rank);
  Pipe out = make_pipe(false, true);
  Pipe error = make_pipe(false, true);
  out_->attach(std::move(out.read), rank, tagged_);
  error_->attach(std::move(error.read), rank, tagged_);
  return {std::move(out.write), std::move(error.write)};
}

Output::Ends Output::open_files(Rank rank) const {
  return {create(fmt::format("{}/rank.{}.out", directory_, number(rank))), create(error_file(rank))};
}

std::string Output::error_file(Rank rank) const {
  return directory_.empty() ? std::string() : fmt::format("{}/rank.{}.err", directory_, number(rank));
}

void Output::say(std::string line) {
  error_->say(std::move(line));
}

void Output::say_after(Rank rank, std::string line) {
  error_->say_after(rank, std::move(line));
}

bool Output::is_drained() const noexcept {
  return out_->is_drained() && (!separate_error_ || separate_error_->is_drained());
}

void Output::abandon() {
  out_->abandon();
  if (separate_error_) separate_error_->abandon();
}

void Output::check_drained() {
  if (is_drained()) events_.drained();
}

}  // namespace weft::weftrun
