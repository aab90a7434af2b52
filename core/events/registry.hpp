// SPDX-License-Identifier: BSD-3-Clause
// The event handlers of this process, and the chains of the events that run through them.
//
// Threads   Every member may be called from any thread, also from inside a handler. Handlers, `done` and
//           `drained` run outside of all locks, on the thread that delivers an event, leaves or catches up
//           for a handler; where a handler completes after it has returned, the rest of the chain runs as
//           run_later_by() says.
// Order     Chains start in the order of deliver(). An event whose handler has not completed yet delays no
//           other event.
// Close     The destructor ends every open chain as `closed`; a handler that completes later does so without
//           effect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "core/events/chain.hpp"

namespace weft::events {

class Registry {
 public:
  /// cache: how much is kept of the latest events, for handlers that are registered later.
  /// identity.on_my_node runs under the lock of the registry: it must not call the registry.
  explicit Registry(Identity identity, RecentBounds cache = {});
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// Sets the identity of this process, where it is known only after the registry exists.
  void identify(Identity identity);
  /// removed(id) runs once for each handler that is removed, or has been called as a one-shot. Before the
  /// first handler; it runs under the lock of the registry, on any thread: it must not call the registry.
  void on_removed(std::function<void(std::size_t id)> removed);

  /// How tasks get to the thread that delivers events: a handler may complete on a thread of the program's,
  /// which may hold what the next handler waits for. Without it the chain goes on where its handler
  /// completes. `run_later` runs under the lock of the registry, on any thread: it must not call the
  /// registry. Once this has returned, the function before is called no more.
  void run_later_by(std::function<void(std::function<void()> task)> run_later);

  /// Registers a handler and returns its reference: 0, 1, 2, ... The handler sees no event before activate().
  ///   codes [ncodes]  empty: a default handler
  ///   infos [ninfo]   the directives of PMIx_Register_event_handler; copied
  /// Errors: those of read_spec(); no_space (PMIX_EVENT_HDLR_FIRST, _LAST or their _IN_CATEGORY is taken),
  /// which the C API reports as PMIX_ERR_EVENT_REGISTRATION; canceled (closed).
  Result<std::size_t> add(std::span<const pmix_status_t> codes, std::span<const pmix_info_t> infos,
                          pmix_notification_fn_t call);

  /// Lets the handler see events, but first the cached ones that match, oldest first, each once: they are
  /// kept for catch_up(), and what comes meanwhile follows them. To be called after the callback of the
  /// registration: the Standard allows no event before. Runs no handler. False: nothing is kept for it.
  /// Without effect on an unknown reference, and on one that sees events.
  bool activate(std::size_t id);
  /// Runs the handler with what activate() has kept, on this thread.
  void catch_up(std::size_t id);

  /// Removes a handler. `drained` runs once, when no other thread is inside the handler any more; if none is,
  /// also when called from inside the handler itself, it runs before remove() returns. Error: invalid
  /// (unknown reference; PMIX_ERR_BAD_PARAM in the Standard), then `drained` does not run.
  Result<void> remove(std::size_t id, std::function<void()> drained = nullptr);

  /// Runs an event through the handlers that match, and keeps it for those that are registered later, unless
  /// it has PMIX_EVENT_DO_NOT_CACHE, or until a handler completes it with PMIX_EVENT_ACTION_COMPLETE.
  void deliver(Event event, Done done = nullptr);

  /// Drops cached events that come from a namespace or affect a process of it.
  void forget_namespace(std::string_view nspace);

  /// Whether a handler is registered for that code, among others or alone.
  bool names(pmix_status_t code) const;

  struct Counters {
    std::size_t handlers, cached, open_chains;
    std::uint64_t dropped;  ///< cached events dropped to make room for newer ones
  };
  Counters counters() const;

 private:
  class State;
  const std::shared_ptr<State> state_;
};

}  // namespace weft::events
