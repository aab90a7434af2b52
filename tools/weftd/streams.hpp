// SPDX-License-Identifier: BSD-3-Clause
// Standard output and error of this node's ranks on their way to the launcher.
//
// Memory is bounded: of each pipe one chunk is under way, and the next is read when it has been written where weftrun
// runs. A slow reader of weftrun's output stops the ranks that write.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "tools/channel/protocol.hpp"
#include "tools/process/fd.hpp"

namespace weft::weftd {

class Streams {
 public:
  /// done: the launcher has written it; false: it cannot be reached.
  using Send = std::function<void(const channel::report::Output&, std::function<void(bool)> done)>;
  /// drained: every stream has come to its end and is written, or nobody is there to do so.
  Streams(asio::io_context& loop, Send send, std::function<void()> drained);

  /// The end that the rank gets; close it here once it has started. Throws Stop (own_failure).
  process::Fd connect(job::Rank rank, channel::Stream stream);
  /// How many bytes it has written so far.
  std::uint64_t said(job::Rank rank, channel::Stream stream) const;
  /// Nobody reads these: whoever writes gets SIGPIPE.
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
  void forget(const SourcePtr& source);

  asio::io_context& loop_;
  Send send_;
  std::function<void()> drained_;
  std::map<std::pair<job::Rank, channel::Stream>, SourcePtr> sources_;
};

}  // namespace weft::weftd
