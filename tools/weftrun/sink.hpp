// SPDX-License-Identifier: BSD-3-Clause
// One of weftrun's own standard streams, and what all ranks write that flows into it: pipes of ranks of this node, and
// chunks that daemons send of theirs.
//
// Memory is bounded: one buffer a sink, and one chunk a stream of another node. A pipe is read, and a chunk answered, only
// when the buffer has been written out completely, so a slow reader of weftrun's output stops the ranks that write,
// as it would without weftrun.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tools/channel/protocol.hpp"
#include "tools/job/rank.hpp"
#include "tools/process/fd.hpp"
#include "tools/weftrun/line_tagger.hpp"

namespace weft::weftrun {

/// How many bytes a rank of another node has written on each stream.
struct Said {
  std::uint64_t out = 0, error = 0;
};

class Sink {
 public:
  struct Events {
    std::function<void()> drained;        ///< no source is open and everything is written; may come again
    std::function<void(int error)> lost;  ///< a write failed: EPIPE when the reader has gone. Comes once
  };

  /// fd: stays open and its flags stay as they are.
  Sink(asio::io_context& loop, int fd, Events events);

  /// Everything read from `pipe` (non-blocking) until its end; with `tagged` line by line.
  void attach(process::Fd pipe, job::Rank rank, bool tagged);

  /// The same of a rank of another node, whose bytes come by take().
  void attach_remote(job::Rank rank, channel::Stream stream, bool tagged);
  /// The next bytes of that rank; none: the end. taken: when they are written, or never can be.
  void take(job::Rank rank, channel::Stream stream, std::string chunk, std::function<void()> taken);
  /// Nothing more comes of it.
  void lose_remote(job::Rank rank, channel::Stream stream);

  /// A line of weftrun's own, on a line of its own, before anything not yet read.
  void say(std::string line);

  /// The same about a rank that has ended: after what that rank has still written. said: how much that is in all, of a rank of another node.
  void say_after(job::Rank rank, std::string line, Said said = {});

  /// Closes all pipes; what is not written yet is dropped.
  void abandon();

  bool is_drained() const noexcept;

 private:
  struct Chunk {
    std::string bytes;
    std::function<void()> taken;
  };
  struct Source {
    asio::posix::stream_descriptor pipe;
    job::Rank rank;
    LineTagger tagger;
    bool tagged;
    bool is_remote = false;
    channel::Stream stream = channel::Stream::out;  // of a remote one
    std::deque<Chunk>
        chunks{};  // of a remote one; its sender waits for taken(), so there is one, and perhaps the end
    std::uint64_t taken_bytes = 0;  // of a remote one, since its start
    bool is_open = true;
  };
  using SourcePtr = std::shared_ptr<Source>;  // shared with its waiting handler, which may run after close()

  struct Line {
    std::string text;
    std::vector<SourcePtr> after;  // to be read to their present end first
    std::size_t patience_bytes;    // but no more than this: somebody else may still write there
    Said said{};                   // of remote ones: up to this position
  };

  enum class Before { came, awaited, nothing };

  void await(const SourcePtr& source);
  void pump();
  bool flush();
  bool refill();
  Before read_before(Line& line);
  std::ptrdiff_t read_some(const SourcePtr& source);
  bool take_chunk(const SourcePtr& source);
  void append(const SourcePtr& source, std::string_view bytes);
  void close(const SourcePtr& source);
  void answer();
  void lose(int error);

  asio::posix::stream_descriptor writer_;  // on a descriptor of our own
  bool may_block_;  // the stream could not be reopened: write small pieces when poll agrees
  Events events_;
  std::unordered_set<SourcePtr> sources_;
  std::map<std::pair<job::Rank, channel::Stream>, SourcePtr> remote_;
  std::vector<std::function<void()>> taken_;  // of the chunks in the buffer
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
