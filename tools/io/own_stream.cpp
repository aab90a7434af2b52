// SPDX-License-Identifier: BSD-3-Clause
#include "tools/io/own_stream.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "tools/process/fd.hpp"

namespace weft::io {
namespace {

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

OwnStream::OwnStream(asio::io_context& loop, int fd, Events events)
    : writer_(loop), events_(std::move(events)) {
  process::Fd own = own_descriptor(fd, may_block_);
  if (own)
    writer_.assign(own.release());
  else
    has_failed_ = true;
}

void OwnStream::open(const Flow& flow, OutputTags tags) {
  if (!has_failed_) flows_.try_emplace(flow, Open{LineTagger(flow.rank, tags), tags.any()});
}

void OwnStream::write(const Flow& flow, std::string bytes, Written written) {
  const auto at = flows_.find(flow);
  if (at == flows_.end()) return written(false);
  at->second.chunks.push_back({std::move(bytes), std::move(written)});
  order_.push_back(flow);
  pump();
}

void OwnStream::print(std::string line) {
  print_after({}, std::move(line));
}

void OwnStream::print_after(const std::vector<Position>& positions, std::string line) {
  if (has_failed_) return;
  lines_.push_back({std::move(line), positions});
  pump();
}

/// Runs until all that has come is written, or the reader of the stream has to catch up.
void OwnStream::pump() {
  if (is_pumping_ || awaits_reader_ || has_failed_) return;
  is_pumping_ = true;
  while (flush() && refill()) {
  }
  is_pumping_ = false;
  if (!awaits_reader_ && lines_.empty()) events_.written();
}

/// True when the buffer is empty.
bool OwnStream::flush() {
  while (done_bytes_ < buffer_.size()) {
    const auto sent = write_some(writer_.native_handle(), buffer_.data() + done_bytes_,
                                 buffer_.size() - done_bytes_, may_block_);
    if (sent >= 0) {
      done_bytes_ += static_cast<std::size_t>(sent);
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
  done_bytes_ = 0;
  acknowledge();
  return true;
}

/// The buffer is written: the senders of its chunks may go on.
void OwnStream::acknowledge() {
  for (const auto& written : std::exchange(unacknowledged_, {})) written(true);
}

/// False if there is nothing to do.
bool OwnStream::refill() {
  if (!lines_.empty()) {
    if (take_preceding(lines_.front())) return true;
    const auto& after = lines_.front().after;
    if (std::none_of(after.begin(), after.end(), [this](const auto& each) { return is_behind(each); })) {
      if (!at_line_start_) buffer_ = "\n";
      buffer_ += lines_.front().text;
      buffer_ += '\n';
      lines_.pop_front();
      return true;
    }
  }
  while (!order_.empty()) {
    const auto at = flows_.find(order_.front());
    order_.pop_front();
    if (at == flows_.end() || at->second.chunks.empty()) continue;  // taken before a line
    take_chunk(at);
    return true;
  }
  return false;
}

/// The flow is not there yet.
bool OwnStream::is_behind(const Position& position) const {
  const auto at = flows_.find(position.flow);
  return at != flows_.end() && at->second.taken_bytes < position.bytes;
}

/// A chunk that the line comes after. False: none of them waits.
bool OwnStream::take_preceding(const Line& line) {
  for (const auto& position : line.after) {
    const auto at = flows_.find(position.flow);
    if (at == flows_.end() || at->second.chunks.empty() || !is_behind(position)) continue;
    take_chunk(at);
    return true;
  }
  return false;
}

void OwnStream::take_chunk(Flows::iterator at) {
  auto& flow = at->second;
  Chunk chunk = std::move(flow.chunks.front());
  flow.chunks.pop_front();
  flow.taken_bytes += chunk.bytes.size();
  unacknowledged_.push_back(std::move(chunk.written));
  if (chunk.bytes.empty()) {
    flow.tagger.finish(buffer_);
    flows_.erase(at);
  } else if (flow.is_tagged) {
    flow.tagger.take(chunk.bytes, buffer_);
  } else {
    buffer_ = std::move(chunk.bytes);
  }
}

void OwnStream::drop(const std::string& nspace) {
  std::vector<Written> dropped;
  for (auto at = flows_.lower_bound({nspace}); at != flows_.end() && at->first.nspace == nspace;) {
    for (auto& chunk : at->second.chunks) dropped.push_back(std::move(chunk.written));
    at = flows_.erase(at);
  }
  for (const auto& written : dropped) written(false);
  if (!flows_.empty()) return pump();
  // Nothing is left that its reader is waited for.
  lines_.clear();
  buffer_.clear();
  done_bytes_ = 0;
  acknowledge();
  if (!std::exchange(awaits_reader_, false)) return;
  asio::error_code ignored;
  writer_.cancel(ignored);
}

void OwnStream::fail(int error) {
  has_failed_ = true;
  auto dropped = std::exchange(unacknowledged_, {});
  for (auto& [flow, open] : std::exchange(flows_, {}))
    for (auto& chunk : open.chunks) dropped.push_back(std::move(chunk.written));
  order_.clear();
  lines_.clear();
  buffer_.clear();
  done_bytes_ = 0;
  for (const auto& written : dropped) written(false);
  if (events_.failed) events_.failed(error);
}

void OwnStream::give_up() {
  if (!has_failed_) fail(EPIPE);
}

bool OwnStream::has_of(const std::string& nspace) const {
  const auto at = flows_.lower_bound({nspace});
  return at != flows_.end() && at->first.nspace == nspace;
}

bool OwnStream::is_drained(const std::string& nspace) const {
  return has_failed_ || (!has_of(nspace) && lines_.empty() && done_bytes_ == buffer_.size());
}

}  // namespace weft::io
