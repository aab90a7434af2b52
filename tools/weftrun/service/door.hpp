// SPDX-License-Identifier: BSD-3-Clause
// Where a service is found: an abstract Unix socket, so no file is left behind by any end of it. Both ends
// ask the kernel for the user of the other.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <string>

#include "base/fd.hpp"

namespace weft::weftrun::service {

/// Of this user on this machine. Throws messages::Stop (own_failure): there is none, or it is another user's.
base::Fd connect_to_service(const std::string& name);

class Door {
 public:
  /// visitor: comes on the loop, of processes of this user only. Throws messages::Stop (own_failure): a
  /// service of that name is there.
  Door(asio::io_context& loop, const std::string& name, std::function<void(base::Fd)> visitor);

 private:
  void await();
  void accept();

  asio::posix::stream_descriptor listener_;
  asio::steady_timer pause_;
  std::function<void(base::Fd)> visitor_;
};

}  // namespace weft::weftrun::service
