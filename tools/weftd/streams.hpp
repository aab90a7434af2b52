// SPDX-License-Identifier: BSD-3-Clause
// Standard output and error of a job's ranks on this node, on their way to the launcher.
//
// Memory is bounded: of each pipe one chunk is in flight, and the next is read when weftrun has written it. A
// slow reader of weftrun's output stops the ranks that write.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tools/channel/protocol.hpp"
#include "tools/process/fd.hpp"

namespace weft::weftd {

class Streams {
 public:
  /// done: true: the launcher has written it; false: the launcher cannot be reached.
  using Send = std::function<void(const channel::report::Output&, std::function<void(bool)> done)>;
  /// drained: every stream has ended and is written, or the launcher cannot be reached.
  Streams(asio::io_context& loop, std::string nspace, Send send, std::function<void()> drained);

  /// The write end of a pipe, for the rank; close it here once the rank has started. Throws Stop
  /// (own_failure).
  process::Fd connect(job::Rank rank, channel::Stream stream);
  /// How many bytes the rank has written so far.
  std::uint64_t written_bytes(job::Rank rank, channel::Stream stream) const;
  /// Closes this stream of all ranks: a rank that writes to it gets SIGPIPE.
  void close(channel::Stream stream);
  void close_all();
  bool is_drained() const noexcept { return sources_.empty(); }

 private:
  struct Source {
    asio::posix::stream_descriptor pipe;
    channel::report::Output last;
    std::uint64_t taken_bytes = 0;
  };
  using SourcePtr = std::shared_ptr<Source>;  // shared with its waiting handler

  void await(const SourcePtr& source);
  void read_some(const SourcePtr& source);
  void remove(const SourcePtr& source);

  asio::io_context& loop_;
  const std::string nspace_;
  Send send_;
  std::function<void()> drained_;
  std::map<std::pair<job::Rank, channel::Stream>, SourcePtr> sources_;
};

}  // namespace weft::weftd
