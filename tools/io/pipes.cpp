// SPDX-License-Identifier: BSD-3-Clause
#include "tools/io/pipes.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

namespace weft::io {
namespace {

using job::Rank;
using job::Stream;

constexpr std::size_t least_chunk = 4096;
constexpr std::size_t most_window = 1024 * 1024;  // more brings nothing: the reader is the brake then

}  // namespace

Pipes::Credit Pipes::credit_of(std::size_t nodes, std::size_t ranks) noexcept {
  const auto share = [](std::size_t of) { return most_credit / std::max<std::size_t>(of, 1); };
  const auto chunk = std::clamp(share(2 * ranks), least_chunk, chunk_bytes);
  return {std::clamp(share(nodes), chunk, most_window), chunk};
}

Pipes::Pipes(asio::io_context& loop, std::string nspace, Sink& sink, std::function<void()> drained)
    : loop_(loop), nspace_(std::move(nspace)), sink_(sink), drained_(std::move(drained)) {}

/// What is in flight may come back later.
Pipes::~Pipes() {
  for (const auto& [key, source] : sources_) source->pipe.close();
}

process::Fd Pipes::connect(Rank rank, Stream stream) {
  process::Pipe pipe = uses_terminals_ ? process::make_terminal() : process::make_pipe(false, true);
  auto source =
      std::make_shared<Source>(Source{asio::posix::stream_descriptor(loop_), {nspace_, rank, stream}});
  source->pipe.assign(pipe.read.release());
  sources_.emplace(std::pair(rank, stream), source);
  await(source);
  return std::move(pipe.write);
}

job::WrittenBytes Pipes::written_bytes(Rank rank) const {
  return {written_bytes(rank, Stream::out), written_bytes(rank, Stream::error)};
}

std::uint64_t Pipes::written_bytes(Rank rank, Stream stream) const {
  const auto at = sources_.find({rank, stream});
  if (at == sources_.end()) return 0;
  int waiting = 0;
  const bool is_known = ::ioctl(at->second->pipe.native_handle(), FIONREAD, &waiting) == 0;
  return at->second->taken_bytes + static_cast<std::uint64_t>(is_known ? waiting : 0);
}

bool Pipes::has_credit(const Source& source) const noexcept {
  return source.chunks_in_flight == 0 || in_flight_ + credit_.chunk <= credit_.bytes;
}

void Pipes::await(const SourcePtr& source) {
  if (source->is_waiting || source->has_ended || !source->pipe.is_open() || !has_credit(*source)) return;
  source->is_waiting = true;
  source->pipe.async_wait(asio::posix::stream_descriptor::wait_read,
                          [this, source](const asio::error_code& error) {
                            source->is_waiting = false;
                            if (!error && source->pipe.is_open()) read_some(source);
                          });
}

void Pipes::read_some(const SourcePtr& source) {
  if (!has_credit(*source))
    return;  // another pipe has it; this one goes on when a chunk of its own is written
  std::array<char, chunk_bytes> chunk;
  const auto length = ::read(source->pipe.native_handle(), chunk.data(), credit_.chunk);
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) return await(source);
  // A terminal without a writer is an error (EIO): its end.
  std::string bytes(chunk.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  source->has_ended = bytes.empty();
  send(source, std::move(bytes));
  await(source);
}

/// No bytes: the end, which is written last. A flow that is closed counts no more, and the reply may come
/// when this object has ended.
void Pipes::send(const SourcePtr& source, std::string bytes) {
  const auto size = bytes.size();
  source->taken_bytes += size;
  ++source->chunks_in_flight;
  source->bytes_in_flight += size;
  in_flight_ += size;
  sink_.write(source->flow, std::move(bytes), [this, source, size](bool takes_more) {
    if (!source->pipe.is_open()) return;
    --source->chunks_in_flight;
    source->bytes_in_flight -= size;
    in_flight_ -= size;
    if (!takes_more) return close(source->flow.stream);
    if (source->has_ended && source->chunks_in_flight == 0) return remove(source);
    await(source);
  });
}

void Pipes::remove(const SourcePtr& source) {
  source->pipe.close();
  in_flight_ -= source->bytes_in_flight;
  sources_.erase({source->flow.rank, source->flow.stream});
  if (sources_.empty() && drained_) drained_();
}

void Pipes::close(Stream stream) {
  std::vector<SourcePtr> sources;
  for (const auto& [key, source] : sources_)
    if (key.second == stream) sources.push_back(source);
  for (const auto& source : sources) remove(source);
}

void Pipes::close_all() {
  close(Stream::out);
  close(Stream::error);
}

}  // namespace weft::io
