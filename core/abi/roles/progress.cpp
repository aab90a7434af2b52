// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Initialization and Finalization": progress that the program makes.
//
// With PMIX_EXTERNAL_PROGRESS, or after PMIx_Progress_thread_stop, the library has no thread that turns its
// loop: callbacks and, in a server, everything that clients ask for wait for PMIx_Progress. A call that waits
// makes progress itself, so that a program with one thread cannot hang in it; its callbacks run inside such
// calls then.
#include "core/abi/roles/progress.hpp"

#include <optional>

#include "core/abi/calls/guard.hpp"
#include "core/abi/roles/role.hpp"
#include "core/data/names/directive.hpp"
#include "core/data/types/value.hpp"
#include "pmix.h"

using weft::abi::guarded_status;
using weft::abi::roles;

namespace weft::abi {
namespace {

bool is_in_callback() {
  const auto* server = roles().server();
  auto* const client = roles().client();
  auto* const tool = roles().tool();
  return (server != nullptr && server->on_loop()) ||
         (client != nullptr && client->connection()->on_thread()) || (tool != nullptr && tool->on_thread());
}

}  // namespace

bool says_external_progress(const pmix_info_t* infos, std::size_t ninfo) noexcept {
  return data::is_set(infos, ninfo, PMIX_EXTERNAL_PROGRESS);
}

}  // namespace weft::abi

/// PMIx_Progress: does what has come, without waiting, in each role that has no thread of the library.
/// Callbacks run on the calling thread. Nothing happens where the library has its thread, or another thread
/// is in the same.
///   Source: PMIx Standard, chapter "Initialization and Finalization". Tests:
///   tests/multiproc/client/progress_test.cpp
void PMIx_Progress(void) {
  (void)guarded_status([]() -> pmix_status_t {
    if (auto* server = roles().server()) server->progress();
    if (auto* client = roles().client()) client->connection()->progress();
    if (auto* tool = roles().tool()) tool->servers().progress();
    return PMIX_SUCCESS;
  });
}

/// PMIx_Progress_thread_stop: ends the thread of every role that this process has; from here on PMIx_Progress
/// does its work. In a callback the thread ends behind it.
///   info  PMIX_PROGRESS_THREAD_FLUSH (bool): what has come is handled first; PMIX_PROGRESS_THREAD_NAME is
///         ignored: a role has one thread
///   Source: pmix.h of 4.2; the Standard has no text on it. Tests: tests/multiproc/client/progress_test.cpp
/// Not yet: threads that do other work stay: those that write the log and load a topology, and where files
/// are cleaned up.
void PMIx_Progress_thread_stop(const pmix_info_t info[], size_t ninfo) {
  (void)guarded_status([&]() -> pmix_status_t {
    if (info == nullptr && ninfo != 0) return PMIX_ERR_BAD_PARAM;
    const bool flushes = weft::data::is_set(info, ninfo, PMIX_PROGRESS_THREAD_FLUSH);
    // In a callback it waits for no other thread: that one may be in a Finalize, and wait for this.
    std::optional<weft::abi::Roles::Changing> changing;
    if (!weft::abi::is_in_callback()) changing.emplace(roles());
    if (auto* server = roles().server()) server->stop_thread(flushes);
    if (auto* client = roles().client()) client->connection()->stop_thread(flushes);
    if (auto* tool = roles().tool()) tool->servers().stop_thread(flushes);
    return PMIX_SUCCESS;
  });
}
