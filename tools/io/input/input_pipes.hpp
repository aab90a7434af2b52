// SPDX-License-Identifier: BSD-3-Clause
// The standard input of a job's ranks on this node: one buffer after the other, at the pace of the slowest
// rank that still reads. The writer bounds how many wait.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "tools/job/rank.hpp"
#include "tools/process/fd.hpp"

namespace weft::io {

/// /dev/null, for a rank that gets no input. Throws Stop (own_failure).
process::Fd nothing_to_read();

class InputPipes {
 public:
  /// unwanted: the last reader has closed its end; once, and not for close().
  InputPipes(asio::io_context& loop, std::function<void()> unwanted);

  /// Descriptor 0 of a rank; close it here once the rank has started. Throws Stop (own_failure).
  process::Fd connect(job::Rank rank);

  /// taken: when all ranks that still read have got all of it; perhaps before this returns.
  void write(std::string bytes, std::function<void()> taken);

  /// The rank has ended: writes do not wait for it any more.
  void disconnect(job::Rank rank);
  /// The end of the input, when what was written before is taken.
  void end();
  void close();
  bool empty() const noexcept { return readers_.empty(); }

 private:
  struct Reader {
    asio::posix::stream_descriptor pipe;
    std::size_t written = 0;  // of the first buffer
    bool waiting = false;
  };
  using ReaderPtr = std::shared_ptr<Reader>;  // shared with its waiting handler

  void write_to(job::Rank rank, const ReaderPtr& reader);
  void remove(job::Rank rank);
  void begin_first();
  void go_on();

  asio::io_context& loop_;
  struct Buffer {
    std::string bytes;
    std::function<void()> taken;
  };
  std::function<void()> unwanted_;
  std::map<job::Rank, ReaderPtr> readers_;
  std::deque<Buffer> buffers_;
  bool is_ending_ = false, is_going_on_ = false;
};

}  // namespace weft::io
