// SPDX-License-Identifier: BSD-3-Clause
// What is done in each round of a server's loop, whichever thread turns it: what clients have noted in shared
// memory, and what has come from other nodes.
#pragma once

#include "core/server/loop/loop_watch.hpp"
#include "core/server/rooms.hpp"

namespace weft::server {

class Rounds {
 public:
  Rounds(Rooms& rooms, LoopWatch& watch) : rooms_(rooms), watch_(watch) {}

  /// Handles what clients of this node have noted in their rings since the last call.
  void drain_notices();
  /// Before and behind a sleep of the loop: whether clients have to ring.
  void answer_doorbells(bool is_awake);
  /// True: something has happened, or may at any moment.
  bool progress(bool may_rest);

 private:
  void drain_ring(Job& job, std::uint32_t local);

  Rooms& rooms_;
  LoopWatch& watch_;
};

}  // namespace weft::server
