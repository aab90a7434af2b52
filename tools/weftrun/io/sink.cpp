// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/io/sink.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

namespace weft::weftrun {
namespace {

using job::Rank;

constexpr std::size_t chunk_bytes = 64 * 1024;        // as much as a pipe holds by default
constexpr std::size_t most_left_bytes = 1024 * 1024;  // as much as a pipe holds at most

/// Regular files keep their descriptor, for a second opening would have an offset of its own; writing to them
/// does not wait for a reader. Pipes and terminals are opened again to be non-blocking for this process
/// alone.
process::Fd own_descriptor(int fd, bool& may_block) {
  struct stat status {};
  const bool waits_for_reader =
      ::fstat(fd, &status) == 0 &&
      (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode) || S_ISSOCK(status.st_mode));
  may_block = false;
  if (waits_for_reader && !S_ISSOCK(status.st_mode)) {
    process::Fd reopened = process::reopen_nonblocking(fd, O_WRONLY);
    if (reopened) return reopened;
  }
  may_block = waits_for_reader;
  return process::Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
}

bool can_take(int fd) {
  struct pollfd ask {
    fd, POLLOUT, 0
  };
  return ::poll(&ask, 1, 0) == 1;
}

/// Never blocks: poll says that a pipe has room for PIPE_BUF bytes.
ssize_t write_some(int fd, const char* bytes, std::size_t length, bool may_block) {
  if (!may_block) return ::write(fd, bytes, length);
  if (!can_take(fd)) {
    errno = EAGAIN;
    return -1;
  }
  const ssize_t sent = ::send(fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0 || errno != ENOTSOCK) return sent;
  return ::write(fd, bytes, std::min<std::size_t>(length, PIPE_BUF));
}

}  // namespace

Sink::Sink(asio::io_context& loop, int fd, Events events)
    : writer_(loop), may_block_(false), events_(std::move(events)) {
  process::Fd own = own_descriptor(fd, may_block_);
  if (own)
    writer_.assign(own.release());
  else
    has_failed_ = true;
}

void Sink::attach(process::Fd pipe, Rank rank, OutputTags tags) {
  if (has_failed_) return;  // closes the pipe: its writer gets SIGPIPE
  auto source = std::make_shared<Source>(Source{asio::posix::stream_descriptor(writer_.get_executor()), rank,
                                                LineTagger(rank, tags), tags.any()});
  source->pipe.assign(pipe.release());
  sources_.insert(source);
  await(source);
}

void Sink::attach_remote(Rank rank, channel::Stream stream, OutputTags tags) {
  if (has_failed_) return;
  auto source = std::make_shared<Source>(Source{asio::posix::stream_descriptor(writer_.get_executor()), rank,
                                                LineTagger(rank, tags), tags.any(), true, stream});
  sources_.insert(source);
  remote_.emplace(std::pair(rank, stream), std::move(source));
}

void Sink::write(Rank rank, channel::Stream stream, std::string chunk, std::function<void()> done) {
  const auto at = remote_.find({rank, stream});
  if (at == remote_.end()) return done();  // it has no reader: the bytes are dropped
  const SourcePtr source = at->second;
  source->chunks.push_back({std::move(chunk), std::move(done)});
  readable_.push_back(source);
  pump();
}

void Sink::close_remote(Rank rank, channel::Stream stream) {
  write(rank, stream, {}, [] {});
}

void Sink::await(const SourcePtr& source) {
  source->pipe.async_wait(asio::posix::stream_descriptor::wait_read,
                          [this, source](const asio::error_code& error) {
                            if (error || !source->is_open) return;
                            readable_.push_back(source);
                            pump();
                          });
}

void Sink::print(std::string line) {
  if (has_failed_) return;
  lines_.push_back({std::move(line), {}, 0});
  pump();
}

void Sink::print_after(Rank rank, std::string line, WrittenBytes written) {
  if (has_failed_) return;
  Line& last = lines_.emplace_back(Line{std::move(line), {}, most_left_bytes, written});
  for (const auto& source : sources_) {
    if (source->rank == rank) last.after.push_back(source);
  }
  pump();
}

/// Runs until all that can be read is written, or the reader of our stream has to catch up.
void Sink::pump() {
  if (is_pumping_ || awaits_reader_ || has_failed_) return;
  is_pumping_ = true;
  while (flush() && refill()) {
  }
  is_pumping_ = false;
  if (is_drained() && events_.drained) events_.drained();
}

/// True when the buffer is empty.
bool Sink::flush() {
  while (written_ < buffer_.size()) {
    const auto sent =
        write_some(writer_.native_handle(), buffer_.data() + written_, buffer_.size() - written_, may_block_);
    if (sent >= 0) {
      written_ += static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN) {
      awaits_reader_ = true;
      writer_.async_wait(asio::posix::stream_descriptor::wait_write, [this](const asio::error_code& error) {
        if (error) return;
        awaits_reader_ = false;
        pump();
      });
      return false;
    } else if (errno != EINTR) {
      fail(errno);
      return false;
    }
  }
  if (!buffer_.empty()) at_line_start_ = buffer_.back() == '\n';
  buffer_.clear();
  written_ = 0;
  acknowledge();
  return true;
}

/// The buffer is written, or dropped: the senders of its chunks may go on.
void Sink::acknowledge() {
  for (const auto& done : std::exchange(unacknowledged_, {})) done();
}

/// False if there is nothing to do.
bool Sink::refill() {
  if (!lines_.empty()) {
    const Preceding before = read_preceding(lines_.front());
    if (before == Preceding::was_read) return true;
    if (before == Preceding::none) {
      if (!at_line_start_) buffer_ = "\n";
      buffer_ += lines_.front().text;
      buffer_ += '\n';
      lines_.pop_front();
      return true;
    }
  }
  if (readable_.empty()) return false;
  const SourcePtr source = readable_.front();
  readable_.pop_front();
  if (!source->is_open) return true;
  if (source->is_remote) {
    take_chunk(source);
    return true;
  }
  read_some(source);
  if (source->is_open) await(source);
  return true;
}

/// Reads from the sources that the line comes after. The wait for a pipe goes on: it finds nothing and waits
/// again.
Sink::Preceding Sink::read_preceding(Line& line) {
  Preceding rest = Preceding::none;
  for (const auto& source : line.after) {
    if (!source->is_open) continue;
    if (source->is_remote) {
      if (source->taken_bytes >=
          (source->stream == channel::Stream::out ? line.written.out : line.written.error))
        continue;
      if (take_chunk(source)) return Preceding::was_read;
      rest = Preceding::awaited;
      continue;
    }
    if (line.budget_bytes == 0) continue;
    const auto length = read_some(source);
    if (length <= 0 && buffer_.empty()) continue;
    line.budget_bytes -=
        std::min(line.budget_bytes, static_cast<std::size_t>(std::max<std::ptrdiff_t>(length, 0)));
    return Preceding::was_read;
  }
  return rest;
}

/// Returns the result of read(); closes the source at its end.
std::ptrdiff_t Sink::read_some(const SourcePtr& source) {
  std::array<char, chunk_bytes> bytes;
  const auto length = ::read(source->pipe.native_handle(), bytes.data(), bytes.size());
  if (length > 0) {
    append(source, std::string_view(bytes.data(), static_cast<std::size_t>(length)));
  } else if (length == 0 || (errno != EAGAIN && errno != EINTR)) {
    close(source);
  }
  return length;
}

/// False if there is none.
bool Sink::take_chunk(const SourcePtr& source) {
  if (source->chunks.empty()) return false;
  const Chunk chunk = std::move(source->chunks.front());
  source->chunks.pop_front();
  source->taken_bytes += chunk.bytes.size();
  unacknowledged_.push_back(chunk.done);
  if (chunk.bytes.empty())
    close(source);
  else
    append(source, chunk.bytes);
  return true;
}

void Sink::append(const SourcePtr& source, std::string_view bytes) {
  if (source->tagged)
    source->tagger.take(bytes, buffer_);
  else
    buffer_ += bytes;
}

void Sink::close(const SourcePtr& source) {
  source->tagger.finish(buffer_);
  source->is_open = false;
  asio::error_code ignored;
  source->pipe.close(ignored);
  if (source->is_remote) remote_.erase({source->rank, source->stream});
  sources_.erase(source);
}

void Sink::drop_all() {
  readable_.clear();
  remote_.clear();
  for (const auto& source : sources_) {
    source->is_open = false;
    source->pipe.close();
    for (auto& chunk : source->chunks) unacknowledged_.push_back(std::move(chunk.done));
  }
  sources_.clear();
  lines_.clear();
  buffer_.clear();
  written_ = 0;
  acknowledge();
  if (awaits_reader_) {
    asio::error_code ignored;
    writer_.cancel(ignored);
    awaits_reader_ = false;
  }
}

void Sink::fail(int error) {
  has_failed_ = true;
  drop_all();
  if (events_.failed) events_.failed(error);
}

bool Sink::is_drained() const noexcept {
  return has_failed_ || (sources_.empty() && lines_.empty() && written_ == buffer_.size());
}

}  // namespace weft::weftrun
