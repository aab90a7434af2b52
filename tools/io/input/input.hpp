// SPDX-License-Identifier: BSD-3-Clause
// Standard input of this process on its way to the ranks of a job.
//
// If one rank, of this node, reads, and not from a terminal, it inherits the descriptor, so that the bytes
// that it does not read are left for the next command of a script. Otherwise this process reads and copies,
// at the pace of the slowest reader, a few buffers ahead of it; a terminal is copied because the ranks are in
// other process groups and may not read it. What processes push to ranks comes in its place (PushedInput).
#pragma once

#include <unistd.h>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "tools/io/input/input_pipes.hpp"
#include "tools/io/input/pushed_input.hpp"
#include "tools/job/input_target.hpp"
#include "tools/process/fd.hpp"

namespace weft::io {

class Input {
 public:
  /// Other nodes with ranks that read, and how bytes get there. taken: when the ranks have them, or never
  /// can. No bytes: the end.
  struct Others {
    std::set<std::uint32_t> nodes;
    std::function<void(std::uint32_t node, const std::string& bytes, std::function<void()> taken)> send;
  };

  /// size: ranks of the job; if the target is one rank, it is among them. source: instead of this process's;
  /// stays open until close() or the end.
  Input(asio::io_context& loop, job::InputTarget target, std::uint32_t size, Others others,
        int source = STDIN_FILENO);
  /// The ranks read what processes push, and nothing of this process. `pushed` outlives this object.
  Input(asio::io_context& loop, PushedInput& pushed);

  /// Descriptor 0 of a rank of this node; close it here once the rank has started. Throws Stop (own_failure).
  process::Fd connect(job::Rank rank);

  /// Starts to copy. After connect() for all ranks, and again when the process may have come to the
  /// terminal's foreground.
  void resume();

  /// The rank of this node has ended: the copy does not wait for it any more.
  void disconnect(job::Rank rank);
  /// No rank of that node reads any more.
  void disconnect_node(std::uint32_t node);

  void close();

 private:
  bool in_foreground() const noexcept;
  void await_input();
  void read_more();
  void taken();
  std::size_t most_unfinished() const noexcept;
  void end();
  void close_if_unwanted();

  job::InputTarget target_;
  Others others_;
  const int given_ = STDIN_FILENO;  ///< the descriptor
  PushedInput* pushed_ = nullptr;
  bool copies_ = false;
  bool terminal_ = false;
  bool reading_ = false;  // a wait for input is in flight
  bool ended_ = false;
  std::size_t unfinished_ = 0;  // buffers that not all receivers have yet
  asio::posix::stream_descriptor source_;
  InputPipes pipes_;
};

}  // namespace weft::io
