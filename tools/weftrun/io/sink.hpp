// SPDX-License-Identifier: BSD-3-Clause
// One of weftrun's own standard streams, and all that ranks write to it: through pipes of ranks of this node,
// and in chunks that daemons send.
//
// Memory is bounded: one buffer a sink, and one chunk for each stream of another node. A pipe is read, and a
// chunk acknowledged, only when the buffer has been written completely, so a slow reader of weftrun's output
// stops the ranks that write, as it would without weftrun.
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
#include "tools/job/events.hpp"
#include "tools/process/fd.hpp"
#include "tools/weftrun/io/line_tagger.hpp"

namespace weft::weftrun {

using job::WrittenBytes;

class Sink {
 public:
  struct Events {
    std::function<void()> drained;  ///< no source is open and everything is written; may be called again
    std::function<void(int error)> failed;  ///< a write failed: EPIPE when the reader has gone. Comes once
  };

  /// fd: stays open and its flags stay as they are.
  Sink(asio::io_context& loop, int fd, Events events);

  /// Forwards `pipe` (non-blocking) to its end; with tags line by line.
  void attach(process::Fd pipe, job::Rank rank, OutputTags tags);

  /// Attaches a stream of a rank of another node, whose bytes come by write().
  void attach_remote(job::Rank rank, channel::Stream stream, OutputTags tags);
  /// The next bytes of that rank; no bytes: the end. done: when they are written, or never can be.
  void write(job::Rank rank, channel::Stream stream, std::string chunk, std::function<void()> done);
  /// Ends that stream.
  void close_remote(job::Rank rank, channel::Stream stream);

  /// Prints a line of weftrun's own, on a line of its own, before anything not yet read.
  void print(std::string line);

  /// Prints a line about a rank that has ended, after all that the rank has written. written: how much that
  /// is, for a rank of another node.
  void print_after(job::Rank rank, std::string line, WrittenBytes written = {});

  /// Closes all pipes and drops what is not written yet.
  void drop_all();

  bool is_drained() const noexcept;

 private:
  struct Chunk {
    std::string bytes;
    std::function<void()> done;
  };
  struct Source {
    asio::posix::stream_descriptor pipe;
    job::Rank rank;
    LineTagger tagger;
    bool tagged;
    bool is_remote = false;
    channel::Stream stream = channel::Stream::out;  // of a remote one
    std::deque<Chunk>
        chunks{};  // of a remote one; its sender waits for done(), so there is one, and perhaps the end
    std::uint64_t taken_bytes = 0;  // of a remote one, since its start
    bool is_open = true;
  };
  using SourcePtr = std::shared_ptr<Source>;  // shared with its waiting handler, which may run after close()

  struct Line {
    std::string text;
    std::vector<SourcePtr> after;  // to be read to their present end before it
    std::size_t budget_bytes;      // but no more than this: other processes may still write there
    WrittenBytes written{};        // of remote ones: up to this position
  };

  enum class Preceding { was_read, awaited, none };

  void await(const SourcePtr& source);
  void pump();
  bool flush();
  bool refill();
  Preceding read_preceding(Line& line);
  std::ptrdiff_t read_some(const SourcePtr& source);
  bool take_chunk(const SourcePtr& source);
  void append(const SourcePtr& source, std::string_view bytes);
  void close(const SourcePtr& source);
  void acknowledge();
  void fail(int error);

  asio::posix::stream_descriptor writer_;  // on a descriptor of our own
  bool may_block_;  // the stream could not be reopened: write small pieces when poll agrees
  Events events_;
  std::unordered_set<SourcePtr> sources_;
  std::map<std::pair<job::Rank, channel::Stream>, SourcePtr> remote_;
  std::vector<std::function<void()>> unacknowledged_;  // of the chunks in the buffer
  std::deque<SourcePtr>
      readable_;  // in the order in which they became readable, so that every rank gets its turn
  std::deque<Line> lines_;
  std::string buffer_;
  std::size_t written_ = 0;
  bool awaits_reader_ = false;
  bool has_failed_ = false;
  bool is_pumping_ = false;
  bool at_line_start_ = true;
};

}  // namespace weft::weftrun
