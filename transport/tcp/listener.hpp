// SPDX-License-Identifier: BSD-3-Clause
// A socket that listens at one address of this node.
#pragma once

#include "base/fd.hpp"
#include "transport/tcp/address.hpp"

namespace weft::tcp {

using base::Fd;

struct Listener {
  Fd socket;
  SocketAddress place;  ///< with the port
};

/// Errors: os (EADDRINUSE: every port of the range is taken).
Result<Listener> listen_on(const SocketAddress& address, const Ports& ports);

/// The next connection; it does not block. Errors: again, no_space (no descriptor or memory is left now).
Result<Fd> accept_from(const Fd& listener);

/// A connection that is being made; it does not block. Errors: unreachable (refused at once), os.
Result<Fd> connect_to(const SocketAddress& place);

}  // namespace weft::tcp
