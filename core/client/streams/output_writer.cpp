// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/streams/output_writer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log_format.hpp"
#include "core/link/messages.hpp"

namespace weft::client {
namespace {

/// As far as the descriptor takes bytes.
void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto length = ::write(fd, bytes.data(), bytes.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0 && errno == EAGAIN) {
      pollfd wait{fd, POLLOUT, 0};
      (void)::poll(&wait, 1, -1);
      continue;
    }
    if (length <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(length));
  }
}

/// The folders of a file; one that cannot be made is told by the file that cannot.
void make_folders(const std::string& path) {
  for (auto at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
    (void)::mkdir(path.substr(0, at).c_str(), 0777);
}

}  // namespace

void OutputWriter::take(link::Output output) {
  if (handler_ && form_.is_plain()) return handler_(std::move(output));
  const std::lock_guard lock(mutex_);
  auto& stream = stream_of(output);
  if (!output.bytes.empty()) {
    add(stream, {reinterpret_cast<const char*>(output.bytes.data()), output.bytes.size()});
    if (stream.buffered.size() >= std::max<std::size_t>(form_.buffered_bytes, 1)) put_out(stream);
    return;
  }
  if (!stream.line.empty()) end_line(stream);
  put_out(stream);
  streams_.erase({std::string(link::nspace_of(output.source)), output.source.rank, output.channel});
  output.channel = form_.channel_of(output.channel);
  if (handler_ && !(form_.has_files() && form_.file_only)) handler_(std::move(output));
}

void OutputWriter::finish() {
  const std::lock_guard lock(mutex_);
  for (auto& [key, stream] : streams_) {
    if (!stream.line.empty()) end_line(stream);
    put_out(stream);
  }
}

OutputWriter::Stream& OutputWriter::stream_of(const link::Output& output) {
  const auto [at, is_new] =
      streams_.try_emplace({std::string(link::nspace_of(output.source)), output.source.rank, output.channel});
  auto& head = at->second.head;
  if (is_new) head.handle = output.handle, head.source = output.source, head.channel = output.channel;
  return at->second;
}

void OutputWriter::add(Stream& stream, std::string_view bytes) {
  if (!form_.has_lines()) return static_cast<void>(stream.buffered += bytes);
  while (!bytes.empty()) {
    const auto newline = bytes.find('\n');
    const auto length = std::min({newline, bytes.size(), longest_line - stream.line.size()});
    stream.line += bytes.substr(0, length);
    const bool is_whole = length == newline;
    if (is_whole || stream.line.size() == longest_line) end_line(stream);
    bytes.remove_prefix(length + (is_whole ? 1 : 0));
  }
}

void OutputWriter::end_line(Stream& stream) {
  stream.buffered += form_.line(stream.head.source, stream.head.channel, std::exchange(stream.line, {}));
}

void OutputWriter::put_out(Stream& stream) {
  const auto bytes = std::exchange(stream.buffered, {});
  if (bytes.empty()) return;
  if (form_.has_files()) {
    open_file(stream);
    write_all(stream.file.get(), bytes);
    if (form_.file_only) return;
  }
  hand_over(stream, bytes);
}

void OutputWriter::hand_over(const Stream& stream, std::string_view bytes) {
  const auto channel = form_.channel_of(stream.head.channel);
  if (!handler_)
    return write_all((channel & PMIX_FWD_STDOUT_CHANNEL) != 0 ? STDOUT_FILENO : STDERR_FILENO, bytes);
  const auto all = as_bytes(bytes);
  handler_({stream.head.handle, stream.head.source, channel, {all.begin(), all.end()}, {}});
}

/// Merged streams share a file.
void OutputWriter::open_file(Stream& stream) {
  if (std::exchange(stream.has_file, true)) return;
  const auto path = form_.path(stream.head.source, stream.head.channel);
  make_folders(path);
  stream.file = base::Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!stream.file) base::warn(base::LogPart::events, "{} cannot be opened: {}", path, std::strerror(errno));
}

}  // namespace weft::client
