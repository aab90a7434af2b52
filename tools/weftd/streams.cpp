// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftd/streams.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

namespace weft::weftd {
namespace {

using job::Rank;

constexpr std::size_t chunk_bytes = 64 * 1024;  // as much as a pipe holds by default

}  // namespace

Streams::Streams(asio::io_context& loop, std::string nspace, Send send, std::function<void()> drained)
    : loop_(loop), nspace_(std::move(nspace)), send_(std::move(send)), drained_(std::move(drained)) {}

process::Fd Streams::connect(Rank rank, channel::Stream stream) {
  process::Pipe pipe = process::make_pipe(false, true);
  auto source =
      std::make_shared<Source>(Source{asio::posix::stream_descriptor(loop_), {nspace_, rank, stream, {}}});
  source->pipe.assign(pipe.read.release());
  sources_.emplace(std::pair(rank, stream), source);
  await(source);
  return std::move(pipe.write);
}

std::uint64_t Streams::written_bytes(Rank rank, channel::Stream stream) const {
  const auto at = sources_.find({rank, stream});
  if (at == sources_.end()) return 0;
  int waiting = 0;
  const bool is_known = ::ioctl(at->second->pipe.native_handle(), FIONREAD, &waiting) == 0;
  return at->second->taken_bytes + static_cast<std::uint64_t>(is_known ? waiting : 0);
}

void Streams::await(const SourcePtr& source) {
  source->pipe.async_wait(asio::posix::stream_descriptor::wait_read,
                          [this, source](const asio::error_code& error) {
                            if (!error && source->pipe.is_open()) read_some(source);
                          });
}

void Streams::read_some(const SourcePtr& source) {
  std::array<char, chunk_bytes> chunk;
  const auto length = ::read(source->pipe.native_handle(), chunk.data(), chunk.size());
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) return await(source);
  auto& bytes = source->last.bytes;
  bytes.assign(chunk.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  source->taken_bytes += bytes.size();
  const bool is_end = bytes.empty();
  send_(source->last, [this, source, is_end](bool reached) {
    if (!source->pipe.is_open()) return;
    if (!reached) return close_all();
    is_end ? remove(source) : await(source);
  });
}

void Streams::remove(const SourcePtr& source) {
  source->pipe.close();
  sources_.erase({source->last.rank, source->last.stream});
  if (sources_.empty()) drained_();
}

void Streams::close(channel::Stream stream) {
  std::vector<SourcePtr> sources;
  for (const auto& [key, source] : sources_)
    if (key.second == stream) sources.push_back(source);
  for (const auto& source : sources) remove(source);
}

void Streams::close_all() {
  close(channel::Stream::out);
  close(channel::Stream::error);
}

}  // namespace weft::weftd
