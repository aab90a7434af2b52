// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Init of a process that is to stop there for a debugger. Source: PMIx Standard, chapter "Tools and
// Debuggers", PMIX_DEBUG_STOP_IN_INIT.
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "core/client/client.hpp"
#include "core/data/names/directive.hpp"

namespace weft::client {
namespace {

/// Where this process waits: until an event lets it go on, or a debugger that has attached to it changes
/// `released`.
struct Stop {
  std::mutex mutex;
  std::condition_variable changed;
  volatile bool released = false;
  bool is_lost = false;  ///< the server

  void end(bool lost) {
    const std::lock_guard lock(mutex);
    is_lost = lost;
    released = true;
    changed.notify_all();
  }
  /// A debugger that writes `released` wakes no thread.
  void wait() {
    constexpr std::chrono::milliseconds between_looks{200};
    std::unique_lock lock(mutex);
    while (!released) changed.wait_for(lock, between_looks);
  }
};

/// The event is done with: a later stop of this process waits for another one.
void on_release(std::size_t, pmix_status_t code, const pmix_proc_t*, pmix_info_t infos[], std::size_t count,
                pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t done, void* cookie) {
  for (std::size_t i = 0; i < count; ++i)
    if (data::key_of(infos[i]) == PMIX_EVENT_RETURN_OBJECT)
      static_cast<Stop*>(infos[i].value.data.ptr)->end(code == PMIX_ERR_LOST_CONNECTION);
  const bool is_release = code == PMIX_DEBUGGER_RELEASE;
  done(is_release ? PMIX_EVENT_ACTION_COMPLETE : PMIX_EVENT_NO_ACTION_TAKEN, nullptr, 0, nullptr, nullptr,
       cookie);
}

/// The value names this rank: true, a rank, a process, or an array of these.
bool names_rank(const pmix_value_t& value, pmix_rank_t self) {
  const auto is_meant = [self](pmix_rank_t rank) { return rank == self || rank == PMIX_RANK_WILDCARD; };
  switch (value.type) {
    case PMIX_PROC_RANK:
      return is_meant(value.data.rank);
    case PMIX_PROC:
      return value.data.proc != nullptr && is_meant(value.data.proc->rank);
    case PMIX_DATA_ARRAY:
      break;
    default:
      return data::is_true(value);
  }
  const auto* const array = value.data.darray;
  if (array == nullptr || array->array == nullptr) return false;
  bool is_named = false;
  for (std::size_t i = 0; i < array->size; ++i) {
    if (array->type == PMIX_PROC_RANK)
      is_named |= is_meant(static_cast<const pmix_rank_t*>(array->array)[i]);
    else if (array->type == PMIX_PROC)
      is_named |= is_meant(static_cast<const pmix_proc_t*>(array->array)[i].rank);
  }
  return is_named;
}

}  // namespace

/// Reads what the server has said of the job: in the segment, or by a message without one.
bool Client::stops_in_init() {
  const auto job = link::make_proc(link::nspace_of(self_), PMIX_RANK_WILDCARD);
  auto said = gets_->look_up(job, PMIX_DEBUG_STOP_IN_INIT, {});
  if (!said && !job_.sees_segment()) {
    data::Value found;
    const auto status = gets_->ask_server(said.error(), job, PMIX_DEBUG_STOP_IN_INIT, nullptr, 0, {}, found);
    if (status == PMIX_SUCCESS) said = std::move(found);
  }
  return said && names_rank(said->get(), self_.rank);
}

pmix_status_t Client::stop_for_debugger(bool is_asked) {
  if (singleton_ || !(is_asked || stops_in_init())) return PMIX_SUCCESS;
  Stop stop;
  pmix_info_t object{};
  PMIX_LOAD_KEY(object.key, PMIX_EVENT_RETURN_OBJECT);
  object.value.type = PMIX_POINTER;
  object.value.data.ptr = &stop;
  const std::vector<pmix_status_t> codes{PMIX_DEBUGGER_RELEASE, PMIX_ERR_LOST_CONNECTION};
  const auto id = events_->add(codes, {&object, 1}, &on_release);
  if (!id) return PMIX_ERR_EVENT_REGISTRATION;
  // The handler is there before the debugger hears that this process waits.
  subscribe(*id, {PMIX_DEBUGGER_RELEASE}, [this, id = *id, &stop](pmix_status_t status) {
    if (status != PMIX_SUCCESS) return stop.end(true);
    // Said before a release that has come already ends the stop: the process may leave at once then.
    events::Event ready{PMIX_READY_FOR_DEBUG, self_, PMIX_RANGE_RM, {}};
    ready.infos.add(PMIX_BREAKPOINT, data::Value::of("pmix-init"));
    notify(std::move(ready), [](pmix_status_t) {});
    if (events_->activate(id)) events_->catch_up(id);
  });
  stop.wait();
  // Where a debugger has written into this frame, a call of the handler may be on its way.
  const auto removed = std::make_shared<Stop>();
  if (events_->remove(*id, [removed] { removed->end(false); })) removed->wait();
  return stop.is_lost ? PMIX_ERR_LOST_CONNECTION : PMIX_SUCCESS;
}

}  // namespace weft::client
