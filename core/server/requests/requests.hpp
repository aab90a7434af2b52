// SPDX-License-Identifier: BSD-3-Clause
// The table of what clients and tools may send. The loop's thread only.
#pragma once

#include "core/server/requests/request.hpp"

namespace weft::server {

/// Null: no process may send it, or only in the place of a hello.
const Request* request_of(link::MessageType type) noexcept;

class Requests {
 public:
  explicit Requests(const RequestRooms& rooms) : rooms_(rooms) {}

  /// A message that its sender may not send, or that is malformed, is answered or ends its connection; it
  /// reaches no room.
  void dispatch(const ConnectionRef& from, const link::Frame& frame) const;

 private:
  void handshake(const ConnectionRef& from, const link::Frame& frame) const;

  const RequestRooms rooms_;
};

}  // namespace weft::server
