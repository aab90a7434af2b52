// SPDX-License-Identifier: BSD-3-Clause
// What the thread of a connection sleeps on: frames of the server, and words of other threads that there is
// something to do. Another thread may take the frames for a while (Connection::read_own): the sleeper is not
// woken by them then, and that costs two system calls in place of a thread that is woken and wakes another.
#pragma once

#include "transport/shm/segment.hpp"

namespace weft::client {

class SocketWatch {
 public:
  /// socket: -1: there is none. Without free descriptors it works, by looking every 10 ms, and is not shared.
  void open(int socket);
  bool is_open() const noexcept { return bool(wake_); }
  /// Frames can be taken from the sleeper.
  bool can_share() const noexcept { return bool(set_); }

  /// Until there is a frame, wake() was called, or the time is over; less than 0: without end. True: a frame,
  /// or the end of the stream, can be read.
  struct Woken {
    bool by_frame = false, by_other = false;
  };
  Woken wait(int timeout_ms);
  void wake() noexcept;
  /// Frames wake the sleeper, or not. One caller at a time.
  void take_frames(bool by_sleeper) noexcept;
  /// The socket is at its end: nothing of it wakes the sleeper any more.
  void forget_socket() noexcept;

 private:
  Woken wait_in_poll(int timeout_ms);

  shm::Fd wake_, set_;
  int socket_ = -1;
};

}  // namespace weft::client
