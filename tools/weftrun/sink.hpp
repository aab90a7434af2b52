// SPDX-License-Identifier: BSD-3-Clause
// One of weftrun's own standard streams, and the pipes of all ranks that flow into it.
//
// Memory is bounded: one buffer a sink. A pipe is read only when the buffer has been written out completely,
// so a slow reader of weftrun's output stops the ranks that write, as it would without weftrun.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "tools/node/fd.hpp"
#include "tools/node/line_tagger.hpp"
#include "tools/node/rank.hpp"

namespace weft::weftrun {

using namespace node;

class Sink {
 public:
  struct Events {
    std::function<void()> drained;        ///< no source is open and everything is written; may come again
    std::function<void(int error)> lost;  ///< a write failed: EPIPE when the reader has gone. Comes once
  };

  /// fd: stays open and its flags stay as they are.
  Sink(asio::io_context& loop, int fd, Events events);

  /// Everything read from `pipe` (non-blocking) until its end; with `tagged` line by line.
  void attach(Fd pipe, Rank rank, bool tagged);

  /// A line of weftrun's own, on a line of its own, before anything not yet read.
  void say(std::string line);

  /// The same about a rank that has ended: after what that rank has still written.
  void say_after(Rank rank, std::string line);

  /// Closes all pipes; what is not written yet is dropped.
  void abandon();

  bool is_drained() const noexcept;

 private:
  struct Source {
    asio::posix::stream_descriptor pipe;
    Rank rank;
    LineTagger tagger;
    bool tagged;
  };
  using SourcePtr = std::shared_ptr<Source>;  // shared with its waiting handler, which may run after close()

  struct Line {
    std::string text;
    std::vector<SourcePtr> after;  // to be read to their present end first
    std::size_t patience_bytes;    // but no more than this: somebody else may still write there
  };

  void await(const SourcePtr& source);
  void pump();
  bool flush();
  bool refill();
  bool read_before(Line& line);
  std::ptrdiff_t read_some(const SourcePtr& source);
  void lose(int error);

  asio::posix::stream_descriptor writer_;  // on a descriptor of our own
  bool may_block_;  // the stream could not be reopened: write small pieces when poll agrees
  Events events_;
  std::unordered_set<SourcePtr> sources_;
  std::deque<SourcePtr> readable_;  // in the order in which they became so: every rank gets its turn
  std::deque<Line> lines_;
  std::string buffer_;
  std::size_t written_ = 0;
  bool waiting_ = false;  // for the reader of our stream
  bool broken_ = false;
  bool pumping_ = false;
  bool at_line_start_ = true;
};

}  // namespace weft::weftrun
