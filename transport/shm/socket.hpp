// SPDX-License-Identifier: BSD-3-Clause
// What endpoints do with the sockets of base/local_socket.hpp. None of these calls blocks.
#pragma once

#include <sys/types.h>

#include "base/fd.hpp"
#include "weft/bytes.hpp"
#include "weft/result.hpp"

namespace weft::shm {

using base::Fd;

/// Errors: not_found (no connection waits), os.
Result<Fd> accept_from(const Fd& listener);

/// The process that listened or connected at the other end; its pid as this process sees it. Errors: denied
/// (another user), not_found (it is in a pid namespace that is not seen from here), os.
Result<pid_t> same_user_at(const Fd& socket);

/// One packet with a descriptor. Errors: peer_lost, os.
Result<void> send_descriptor(const Fd& socket, Bytes bytes, int descriptor);
/// Fills `bytes`. Errors: again, no_space (no descriptor is free here: the packet waits), peer_lost (closed),
/// corrupt (anything else than what send_descriptor() sends).
Result<Fd> receive_descriptor(const Fd& socket, MutableBytes bytes);

/// A byte that says nothing but "look". Lost only where the other end has unread ones, and so will look
/// anyway.
void nudge(const Fd& socket) noexcept;
/// Takes all nudges away; false: the other end is closed.
bool take_nudges(const Fd& socket) noexcept;

}  // namespace weft::shm
