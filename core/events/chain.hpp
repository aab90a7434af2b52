// SPDX-License-Identifier: BSD-3-Clause
// One event on its way through its handlers.
//
// Lifetime  While a step is unanswered the chain owns itself: the handler holds a raw pointer to the step and
// may
//           answer at any time, even after the registry is gone. A step that is never answered is never
//           freed.
// Threads   drive() runs on one thread at a time (step.hpp says which); the mutex guards the step's state and
// the
//           results, for a completion may come from anywhere.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/events/handler_table.hpp"
#include "core/events/step.hpp"

namespace weft::events {

enum class Outcome : std::uint8_t {
  finished,          ///< every handler has had its turn
  ended_by_handler,  ///< one answered PMIX_EVENT_ACTION_COMPLETE
  no_handler,        ///< nobody matches; the event was cached if it may be
  closed,            ///< the registry went away first
};
/// Runs exactly once per event, on the thread that ends the chain, outside of all locks.
using Done = std::function<void(Outcome)>;

class Chain : public std::enable_shared_from_this<Chain> {
 public:
  /// What a chain needs of the registry; implementations take the registry's lock.
  class Gate {
   public:
    virtual ~Gate() = default;
    /// Notes that this thread is about to call. False: the handler was removed or the registry closed; skip
    /// it.
    virtual bool enter(Handler& handler) = 0;
    virtual void leave(Handler& handler) = 0;
    virtual void ended(const std::shared_ptr<Chain>& chain) = 0;
  };

  Chain(std::shared_ptr<Gate> gate, Event event, std::vector<HandlerRef> handlers, Done done)
      : gate_(std::move(gate)),
        event_(std::move(event)),
        handlers_(std::move(handlers)),
        done_(std::move(done)) {}

  /// Calls handlers until one does not complete inside its call, or the chain ends.
  void drive();

  /// Ends the chain now; a handler that still runs or is parked may answer later, without effect.
  void abandon();

 private:
  struct Step {
    Chain* chain;
    HandlerRef handler;
    std::vector<pmix_info_t> infos;  // shallow: the event and the handler own what these point to
    StepState state = StepState::calling;
    pmix_status_t status = PMIX_SUCCESS;
  };
  // The pmix_event_notification_cbfunc_fn_t that handlers get; its last argument is the Step. Out of memory in the
  // middle of a chain ends the process: a C caller cannot be told, and a chain that stops would hang its waiters.
  static void on_completed(pmix_status_t status, pmix_info_t* results, size_t nresults,
                           pmix_op_cbfunc_t release, void* release_data, void* step) noexcept;

  HandlerRef next_handler();
  bool call(const HandlerRef& handler);
  StepAction returned(Step& step);
  StepAction completed(Step& step, pmix_status_t status, data::Infos results);
  void move_on(const Step& answered);
  void finish(Outcome outcome);

  const std::shared_ptr<Gate> gate_;
  Event event_;
  const std::vector<HandlerRef> handlers_;
  std::size_t next_ = 0;    // drive() only
  std::deque<Step> steps_;  // kept to the end, so that a late second completion meets `over`
  std::mutex mutex_;        // guards what follows
  data::Infos results_;
  Done done_;
  std::shared_ptr<Chain> self_;
};

}  // namespace weft::events
