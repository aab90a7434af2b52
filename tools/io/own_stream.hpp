// SPDX-License-Identifier: BSD-3-Clause
// A standard stream of this process, or of another that has handed it over, in which flows of any number of
// jobs end, with lines of its own between them.
//
// Memory is bounded: one chunk is written at a time, and of each flow one more waits, or as many as its
// sender has credit for. A chunk is acknowledged when it is written, so a slow reader of the stream stops the
// ranks that write, as it would without this process between them.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/io/flow.hpp"
#include "tools/io/line_tagger.hpp"

namespace weft::io {

class OwnStream final : public Sink {
 public:
  struct Events {
    std::function<void()> written;          ///< all that has come is written; may be called again
    std::function<void(int error)> failed;  ///< a write failed: EPIPE when the reader has gone. Comes once
  };

  /// fd: stays open and its flags stay as they are.
  OwnStream(asio::io_context& loop, int fd, Events events);

  /// A flow that comes by write(): with tags line by line.
  void open(const Flow& flow, OutputTags tags);
  /// Bytes of a flow that is not open are dropped.
  void write(const Flow& flow, std::string bytes, Written written) override;

  /// Prints a line of this process, on a line of its own, before all that waits.
  void print(std::string line);
  /// A place in a flow: behind this many of its bytes.
  struct Position {
    Flow flow;
    std::uint64_t bytes;
  };
  /// The same, behind these places in flows that are open here.
  void print_after(const std::vector<Position>& positions, std::string line);

  /// Drops what waits of this job, and closes its flows.
  void drop(const std::string& nspace);

  /// As if the reader had closed the stream.
  void give_up();

  /// No flow of this job is open, and all that has come is written.
  bool is_drained(const std::string& nspace) const;

 private:
  struct Chunk {
    std::string bytes;
    Written written;
  };
  struct Open {
    LineTagger tagger;
    bool is_tagged;
    std::deque<Chunk> chunks{};
    std::uint64_t taken_bytes = 0;  // since its start
  };
  using Flows = std::map<Flow, Open>;
  struct Line {
    std::string text;
    std::vector<Position> after;
  };

  bool has_of(const std::string& nspace) const;
  void pump();
  bool flush();
  bool refill();
  bool is_behind(const Position& position) const;
  bool take_preceding(const Line& line);
  void take_chunk(Flows::iterator at);
  void acknowledge();
  void fail(int error);

  asio::posix::stream_descriptor writer_;  // on a descriptor of our own
  bool may_block_ = false;  // the stream could not be reopened: write small pieces when poll agrees
  Events events_;
  Flows flows_;
  std::deque<Flow> order_;  // of the chunks that wait, as they came, so that every rank gets its turn
  std::deque<Line> lines_;
  std::vector<Written> unacknowledged_;  // of the chunks in the buffer
  std::string buffer_;
  std::size_t done_bytes_ = 0;  // of the buffer
  bool awaits_reader_ = false;
  bool has_failed_ = false;
  bool is_pumping_ = false;
  bool at_line_start_ = true;
};

}  // namespace weft::io
