// SPDX-License-Identifier: BSD-3-Clause
// The pipes that a job's ranks on this node write to, read into a sink.
//
// Memory is bounded: chunks are in flight as far as the job's credit goes, and one of each pipe in any
// case; the next is read when the sink has written one. So a sink that is not read stops the ranks that
// write.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tools/io/flow.hpp"
#include "tools/job/events.hpp"
#include "tools/process/fd.hpp"

namespace weft::io {

class Pipes {
 public:
  /// sink: outlives this object. drained: every flow has ended and is written, or its sink takes nothing
  /// more. May be empty.
  Pipes(asio::io_context& loop, std::string nspace, Sink& sink, std::function<void()> drained);
  ~Pipes();
  Pipes(const Pipes&) = delete;
  Pipes& operator=(const Pipes&) = delete;

  /// Of all chunks that are in flight here, and of each. Before the first connect().
  struct Credit {
    std::size_t bytes = chunk_bytes, chunk = chunk_bytes;
  };
  static constexpr std::size_t chunk_bytes = 64 * 1024;  ///< as much as a pipe holds by default
  /// So that a launcher holds most_credit of chunks at most, and one of each flow, which take as much again.
  static Credit credit_of(std::size_t nodes, std::size_t ranks) noexcept;
  static constexpr std::size_t most_credit = 24 * 1024 * 1024;
  void set_credit(Credit credit) noexcept { credit_ = credit; }
  /// Pseudo-terminals in the place of pipes. Before the first connect().
  void use_terminals() noexcept { uses_terminals_ = true; }

  /// The write end of a pipe, for the rank; close it here once the rank has started. Throws Stop
  /// (own_failure).
  process::Fd connect(job::Rank rank, job::Stream stream);
  /// How many bytes the rank has written so far; of a stream that has ended and is written: 0.
  job::WrittenBytes written_bytes(job::Rank rank) const;
  /// Closes this stream of all ranks: a rank that writes to it gets SIGPIPE.
  void close(job::Stream stream);
  void close_all();
  bool is_drained() const noexcept { return sources_.empty(); }

 private:
  struct Source {
    asio::posix::stream_descriptor pipe;
    Flow flow;
    std::uint64_t taken_bytes = 0;
    std::size_t chunks_in_flight = 0, bytes_in_flight = 0;
    bool is_waiting = false;  // for bytes
    bool has_ended = false;
  };
  using SourcePtr = std::shared_ptr<Source>;  // shared with its waiting handler

  std::uint64_t written_bytes(job::Rank rank, job::Stream stream) const;
  bool has_credit(const Source& source) const noexcept;
  void await(const SourcePtr& source);
  void read_some(const SourcePtr& source);
  void send(const SourcePtr& source, std::string bytes);
  void remove(const SourcePtr& source);

  asio::io_context& loop_;
  const std::string nspace_;
  Sink& sink_;
  std::function<void()> drained_;
  std::map<std::pair<job::Rank, job::Stream>, SourcePtr> sources_;
  Credit credit_;
  bool uses_terminals_ = false;
  std::size_t in_flight_ = 0;  ///< bytes
};

}  // namespace weft::io
