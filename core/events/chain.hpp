// SPDX-License-Identifier: BSD-3-Clause
// One event on its way through the handlers that match it.
//
// Lifetime  While a handler has not completed, the chain owns itself: the handler holds a raw pointer to its
//           step and may complete at any time, even after the registry was destroyed. A step that is never
//           completed is never freed.
// Threads   drive() runs on one thread at a time (see step.hpp). The mutex guards the state of the steps and
//           the results, because a handler may complete on any thread. Such a thread is the program's: where
//           a handler completes after it has returned, the handlers after it run where Gate::run_later()
//           says.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/events/event_cache.hpp"
#include "core/events/handler_table.hpp"
#include "core/events/step.hpp"

namespace weft::events {

enum class Outcome : std::uint8_t {
  finished,          ///< every handler was called
  ended_by_handler,  ///< a handler completed with PMIX_EVENT_ACTION_COMPLETE
  no_handler,        ///< no handler matches
  closed,            ///< the registry was destroyed before
};
/// The end of an event.
struct End {
  Outcome outcome = Outcome::no_handler;
  pmix_status_t verdict =
      PMIX_SUCCESS;       ///< the first status of a handler that is neither success nor one of PMIX_EVENT_*
  data::Infos results{};  ///< of all handlers; of a chain that was closed: none
};
/// Runs exactly once an event, on the thread that ends the chain, outside of all locks.
using Done = std::function<void(End)>;

class Chain : public std::enable_shared_from_this<Chain> {
 public:
  /// The chain's interface to the registry; implementations take the lock of the registry.
  class Gate {
   public:
    virtual ~Gate() = default;
    /// Records that this thread is about to call the handler. False: the handler was removed or the registry
    /// was destroyed; the chain skips the handler.
    virtual bool begin_call(Handler& handler) = 0;
    virtual void end_call(Handler& handler) = 0;
    /// Goes on with a chain whose handler has completed after it returned. Where the registry was destroyed
    /// `rest` never runs: the chain has ended.
    virtual void run_later(std::function<void()> rest) = 0;
    virtual void chain_ended(const std::shared_ptr<Chain>& chain, Outcome outcome) = 0;
  };

  /// number: of the event in the cache of its registry; 0: it is not there.
  Chain(std::shared_ptr<Gate> gate, EventRef event, std::uint64_t number, std::vector<HandlerRef> handlers,
        Done done)
      : gate_(std::move(gate)),
        event_(std::move(event)),
        number_(number),
        handlers_(std::move(handlers)),
        done_(std::move(done)) {}

  /// Calls handlers until one does not complete inside its call, or the chain ends.
  void drive();

  /// Ends the chain now; a handler that still runs, or has returned without completing, may complete later
  /// without effect.
  void abandon();

  std::uint64_t number() const noexcept { return number_; }

 private:
  struct Step {
    Chain* chain;
    HandlerRef handler;
    std::vector<pmix_info_t> infos;  // shallow: the event and the handler own what these point to
    StepState state = StepState::calling;
    pmix_status_t status = PMIX_SUCCESS;
  };
  // The pmix_event_notification_cbfunc_fn_t that handlers receive; its last argument is the Step. Running out
  // of memory in the middle of a chain ends the process: there is no way to report it to a C caller, and a
  // chain that stops would hang every process that waits for it.
  static void on_completed(pmix_status_t status, pmix_info_t* results, size_t nresults,
                           pmix_op_cbfunc_t release, void* release_data, void* step) noexcept;

  HandlerRef next_handler();
  bool call(const HandlerRef& handler);
  StepAction returned(Step& step);
  StepAction completed(Step& step, pmix_status_t status, data::Infos results);
  void advance(const Step& answered);
  void finish(Outcome outcome);

  const std::shared_ptr<Gate> gate_;
  const EventRef event_;
  const std::uint64_t number_;
  const std::vector<HandlerRef> handlers_;
  std::size_t next_ = 0;    // drive() only
  std::deque<Step> steps_;  // kept to the end, so that a late second completion finds the state `over`
  std::mutex mutex_;        // guards what follows
  data::Infos results_;
  pmix_status_t verdict_ = PMIX_SUCCESS;
  Done done_;
  std::shared_ptr<Chain> self_;
};

}  // namespace weft::events
