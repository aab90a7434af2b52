// SPDX-License-Identifier: BSD-3-Clause
// weftrun's standard input on its way to the ranks.
//
// One reader and no terminal: that rank simply inherits the descriptor, so that the bytes it does not read
// are still there for the next command of a script. Otherwise weftrun reads and copies, one buffer at a time,
// at the pace of the slowest reader; a terminal is copied because the ranks are in other process groups and
// may not read it.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "tools/node/fd.hpp"
#include "tools/weftrun/options.hpp"

namespace weft::weftrun {

using namespace node;

class Input {
 public:
  /// size: ranks in the job; the target, if one, is among them.
  Input(asio::io_context& loop, InputTarget target, std::uint32_t size);

  /// What a rank gets as descriptor 0; close it here once the rank has started. Throws Stop (own_failure).
  Fd connect(Rank rank);

  /// After all ranks are connected, and again when weftrun may have come to the terminal's foreground.
  void resume();

  /// The rank has gone; it need not be waited for any more.
  void disconnect(Rank rank);

  void close();

 private:
  struct Reader {
    asio::posix::stream_descriptor pipe;
    std::size_t written = 0;  // of buffer_
    bool waiting = false;
  };
  using ReaderPtr = std::shared_ptr<Reader>;  // shared with its waiting handler

  bool is_target(Rank rank) const noexcept;
  bool in_foreground() const noexcept;
  void await_input();
  void read_more();
  void write_to(Rank rank, const ReaderPtr& reader);
  void write_to_all();
  void forget(Rank rank);
  bool all_have_all() const noexcept;

  InputTarget target_;
  bool copies_ = false;
  bool terminal_ = false;
  bool reading_ = false;  // a wait for input is under way
  bool ended_ = false;
  asio::posix::stream_descriptor source_;
  std::map<Rank, ReaderPtr> readers_;
  std::string buffer_;
};

}  // namespace weft::weftrun
