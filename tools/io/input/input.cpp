// SPDX-License-Identifier: BSD-3-Clause
#include "tools/io/input/input.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"

namespace weft::io {
namespace {

using job::Rank;
using messages::Stop;
namespace exit_status = messages::exit_status;

constexpr std::size_t input_bytes = 64 * 1024;
/// On their way to one node, and to all of them.
constexpr std::size_t most_ahead = 1024 * 1024, most_ahead_in_all = 24 * 1024 * 1024;

process::Fd duplicate(int fd) {
  process::Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy) throw Stop(exit_status::own_failure, messages::no_descriptors(errno));
  return copy;
}

/// A wait may end for nothing, and a read would then block where the descriptor could not be opened again.
bool is_readable(int fd) {
  struct pollfd ask {
    fd, POLLIN, 0
  };
  return ::poll(&ask, 1, 0) == 1;
}

}  // namespace

Input::Input(asio::io_context& loop, job::InputTarget target, std::uint32_t size, Others others, int source)
    : target_(target), others_(std::move(others)), given_(source), source_(loop), pipes_(loop, [this] {
        close_if_unwanted();
      }) {
  if (target_.kind == job::InputTarget::Kind::all && size == 1)
    target_ = {job::InputTarget::Kind::one, Rank{0}};
  terminal_ = ::isatty(given_) == 1;
  copies_ = target_.kind == job::InputTarget::Kind::all ||
            (target_.kind == job::InputTarget::Kind::one && (terminal_ || !others_.nodes.empty()));
  if (!copies_) return;
  // Opened again so that a read never waits; where that is not possible (a socket, a file without permission)
  // epoll says when there is something, and no more than one read follows.
  process::Fd own = process::reopen_nonblocking(given_, O_RDONLY);
  struct stat status {};
  const bool has_offset = ::fstat(given_, &status) == 0 && S_ISREG(status.st_mode);
  if (!own || has_offset) own = duplicate(given_);  // a second opening of a file would begin at its start
  source_.assign(own.release());
}

Input::Input(asio::io_context& loop, PushedInput& pushed)
    : target_{job::InputTarget::Kind::none},
      pushed_(&pushed),
      ended_(true),
      source_(loop),
      pipes_(loop, std::function<void()>()) {}

process::Fd Input::connect(Rank rank) {
  if (pushed_ != nullptr && pushed_->takes(rank)) return pushed_->connect(rank);
  if (!target_.includes(rank)) return nothing_to_read();
  return copies_ ? pipes_.connect(rank) : duplicate(given_);
}

/// A background process that reads its terminal is stopped by SIGTTIN, and with it what waits for it.
bool Input::in_foreground() const noexcept {
  return ::tcgetpgrp(given_) == ::getpgrp();
}

void Input::resume() {
  if (pushed_ != nullptr) pushed_->open();
  if (copies_) await_input();
}

std::size_t Input::most_unfinished() const noexcept {
  if (others_.nodes.empty()) return 1;
  return std::clamp(most_ahead_in_all / others_.nodes.size(), input_bytes, most_ahead) / input_bytes;
}

void Input::await_input() {
  if (ended_ || reading_ || unfinished_ >= most_unfinished()) return;
  if (pipes_.empty() && others_.nodes.empty()) return close();
  if (terminal_ && !in_foreground()) return;  // until resume()
  reading_ = true;
  source_.async_wait(asio::posix::stream_descriptor::wait_read, [this](const asio::error_code& error) {
    reading_ = false;
    if (ended_ || error == asio::error::operation_aborted) return;
    if (terminal_ && !in_foreground()) return;
    read_more();  // also on an error: epoll does not take regular files, and they are always ready
  });
}

void Input::read_more() {
  if (!is_readable(source_.native_handle())) return await_input();
  std::array<char, input_bytes> bytes;
  const auto length = ::read(source_.native_handle(), bytes.data(), bytes.size());
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) return await_input();
  if (length <= 0) return end();
  std::string chunk(bytes.data(), static_cast<std::size_t>(length));
  ++unfinished_;
  const auto has_taken = [this, left = std::make_shared<std::size_t>(others_.nodes.size() + 1)] {
    if (--*left == 0) taken();
  };
  for (const auto node : others_.nodes) others_.send(node, chunk, has_taken);
  pipes_.write(std::move(chunk), has_taken);
  await_input();
}

void Input::taken() {
  --unfinished_;
  await_input();
}

void Input::disconnect(Rank rank) {
  if (pushed_ != nullptr) pushed_->disconnect(rank);
  if (copies_) pipes_.disconnect(rank);
}

void Input::disconnect_node(std::uint32_t node) {
  others_.nodes.erase(node);
  close_if_unwanted();
}

void Input::close_if_unwanted() {
  if (copies_ && pipes_.empty() && others_.nodes.empty()) close();
}

void Input::close() {
  if (pushed_ != nullptr) pushed_->close();
  pipes_.close();
  end();
}

/// Behind what is on its way.
void Input::end() {
  if (ended_) return;
  ended_ = true;
  pipes_.end();
  for (const auto node : others_.nodes) others_.send(node, {}, [] {});
  others_.nodes.clear();
  asio::error_code ignored;
  source_.close(ignored);
}

}  // namespace weft::io
