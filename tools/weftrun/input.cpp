// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/input.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "tools/node/messages.hpp"
#include "tools/node/stop.hpp"

namespace weft::weftrun {
namespace {

constexpr std::size_t chunk_bytes = 64 * 1024;

Fd duplicate(int fd) {
  Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy) throw Stop(exit_status::own_failure, messages::no_descriptors(errno));
  return copy;
}

Fd nothing_to_read() {
  Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null) throw Stop(exit_status::own_failure, messages::no_descriptors(errno));
  return null;
}

/// A wait may end for nothing, and a read would then block where the descriptor could not be opened again.
bool is_readable(int fd) {
  struct pollfd ask {
    fd, POLLIN, 0
  };
  return ::poll(&ask, 1, 0) == 1;
}

}  // namespace

Input::Input(asio::io_context& loop, InputTarget target, std::uint32_t size)
    : target_(target), source_(loop) {
  if (target_.kind == InputTarget::Kind::all && size == 1) target_ = {InputTarget::Kind::one, Rank{0}};
  terminal_ = ::isatty(STDIN_FILENO) == 1;
  copies_ = target_.kind == InputTarget::Kind::all || (target_.kind == InputTarget::Kind::one && terminal_);
  if (!copies_) return;
  // Opened again so that a read never waits; where that is not possible (a socket, a file without permission)
  // epoll says when there is something, and no more than one read follows.
  Fd own = reopen_nonblocking(STDIN_FILENO, O_RDONLY);
  struct stat status {};
  const bool has_offset = ::fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode);
  if (!own || has_offset)
    own = duplicate(STDIN_FILENO);  // a second opening of a file would begin at its start
  source_.assign(own.release());
}

bool Input::is_target(Rank rank) const noexcept {
  if (target_.kind == InputTarget::Kind::one) return target_.rank == rank;
  return target_.kind == InputTarget::Kind::all;
}

Fd Input::connect(Rank rank) {
  if (!is_target(rank)) return nothing_to_read();
  if (!copies_) return duplicate(STDIN_FILENO);
  Pipe pipe = make_pipe(true, false);
  auto reader = std::make_shared<Reader>(Reader{asio::posix::stream_descriptor(source_.get_executor())});
  reader->pipe.assign(pipe.write.release());
  readers_.emplace(rank, std::move(reader));
  return std::move(pipe.read);
}

/// A background process that reads its terminal is stopped by SIGTTIN, and weftrun with all ranks with it.
bool Input::in_foreground() const noexcept {
  return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

void Input::resume() {
  if (copies_ && !reading_ && !ended_ && all_have_all()) await_input();
}

void Input::await_input() {
  if (readers_.empty()) return close();
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
  std::array<char, chunk_bytes> bytes;
  const auto length = ::read(source_.native_handle(), bytes.data(), bytes.size());
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) return await_input();
  if (length <= 0) return close();
  buffer_.assign(bytes.data(), static_cast<std::size_t>(length));
  for (const auto& [rank, reader] : readers_) reader->written = 0;
  write_to_all();
}

void Input::write_to_all() {
  std::vector<std::pair<Rank, ReaderPtr>> all(readers_.begin(),
                                              readers_.end());  // write_to() may remove some
  for (const auto& [rank, reader] : all) {
    if (!reader->waiting) write_to(rank, reader);
  }
  if (all_have_all()) await_input();
}

void Input::write_to(Rank rank, const ReaderPtr& reader) {
  while (reader->written < buffer_.size()) {
    const auto sent = ::write(reader->pipe.native_handle(), buffer_.data() + reader->written,
                              buffer_.size() - reader->written);
    if (sent >= 0) {
      reader->written += static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN) {
      reader->waiting = true;
      reader->pipe.async_wait(asio::posix::stream_descriptor::wait_write,
                              [this, rank, reader](const asio::error_code& error) {
                                reader->waiting = false;
                                if (error || ended_ || !reader->pipe.is_open()) return;
                                write_to(rank, reader);
                                if (!reading_ && all_have_all()) await_input();
                              });
      return;
    } else if (errno != EINTR) {
      return forget(rank);  // it has closed its standard input, or is gone
    }
  }
}

bool Input::all_have_all() const noexcept {
  for (const auto& [rank, reader] : readers_) {
    if (reader->written < buffer_.size()) return false;
  }
  return true;
}

void Input::forget(Rank rank) {
  const auto at = readers_.find(rank);
  if (at == readers_.end()) return;
  at->second->pipe.close();
  readers_.erase(at);
}

void Input::disconnect(Rank rank) {
  if (!copies_ || ended_) return;
  forget(rank);
  if (readers_.empty())
    close();
  else if (!reading_ && all_have_all())
    await_input();
}

void Input::close() {
  if (ended_) return;
  ended_ = true;
  for (const auto& [rank, reader] : readers_) reader->pipe.close();
  readers_.clear();
  asio::error_code ignored;
  source_.close(ignored);
}

}  // namespace weft::weftrun
