// SPDX-License-Identifier: BSD-3-Clause
// Unix sockets with abstract names: no file, and the kernel says who is at the other end and when it is gone.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "transport/shm/segment.hpp"
#include "weft/bytes.hpp"
#include "weft/result.hpp"

namespace weft::shm {

/// Stream sockets; none of these calls blocks, and no descriptor survives an exec. Errors: os.
Result<Fd> listen_to(const std::string& name);
/// Errors: again (too many wait to be accepted), peer_lost (nobody listens), os.
Result<Fd> connect_to(const std::string& name);
/// not_found: nobody waits.
Result<Fd> accept_from(const Fd& listener);

/// The process that listened or connected at the other end; its pid as this process sees it. Errors: denied (another
/// user), not_found (it is in a pid namespace that is not seen from here), os.
Result<pid_t> same_user_at(const Fd& socket);

/// One packet with a descriptor. Errors: peer_lost, os.
Result<void> send_descriptor(const Fd& socket, Bytes bytes, int descriptor);
/// Fills `bytes`. Errors: again, peer_lost (closed), corrupt (anything else than what send_descriptor() sends).
Result<Fd> receive_descriptor(const Fd& socket, MutableBytes bytes);

/// A byte that says nothing but "look". Lost only where the other end has unread ones, and so will look anyway.
void nudge(const Fd& socket) noexcept;
/// Takes all nudges away; false: the other end is closed.
bool take_nudges(const Fd& socket) noexcept;

}  // namespace weft::shm
