// SPDX-License-Identifier: BSD-3-Clause
// What a user may lock in memory: cards pin what is registered with them.
#pragma once

#include <cstddef>
#include <string>

namespace weft::transport {

/// For a line about memory that a card did not register: "; this user may lock 64 KiB (ulimit -l,
/// LimitMEMLOCK): 8 MiB are enough for ofi, and ucx takes 128". Empty: there is no limit.
std::string locked_memory_hint();

/// Whether this process may lock so many bytes: its limit allows them, or it has CAP_IPC_LOCK, with which
/// there is none.
bool may_lock(std::size_t bytes);

}  // namespace weft::transport
