// SPDX-License-Identifier: BSD-3-Clause
#include "core/events/chain.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

namespace weft::events {
namespace {

// An info that points to memory it does not own. The keys used here are short enough for the array.
pmix_info_t borrowed(const char* key) {
  pmix_info_t info{};
  std::char_traits<char>::copy(info.key, key, std::char_traits<char>::length(key));
  return info;
}

// Infos that only this library gives to a handler. A handler takes the first info of such a name for its own
// object, so the source of an event must not give one.
bool is_of_library(const pmix_info_t& info) {
  constexpr std::array<std::string_view, 3> keys = {PMIX_EVENT_HDLR_NAME, PMIX_EVENT_RETURN_OBJECT,
                                                    server_attribute};
  return std::find(keys.begin(), keys.end(), data::key_of(info)) != keys.end();
}

bool is_action(pmix_status_t status) {
  return status == PMIX_EVENT_NO_ACTION_TAKEN || status == PMIX_EVENT_PARTIAL_ACTION_TAKEN ||
         status == PMIX_EVENT_ACTION_DEFERRED || status == PMIX_EVENT_ACTION_COMPLETE;
}

// The infos of the event, then those for this handler only. Observed with OpenPMIx 4.2.2: the handler's name
// comes before its return object, and an event without infos still carries both.
std::vector<pmix_info_t> infos_for(const Event& event, const HandlerSpec& spec) {
  std::vector<pmix_info_t> infos;
  infos.reserve(event.infos.size() + 3);
  std::remove_copy_if(event.infos.data(), event.infos.data() + event.infos.size(), std::back_inserter(infos),
                      is_of_library);
  if (event.server) {
    infos.push_back(borrowed(server_attribute));
    infos.back().value.type = PMIX_PROC_RANK;
    infos.back().value.data.rank = *event.server;
  }
  if (!spec.name.empty()) {
    infos.push_back(borrowed(PMIX_EVENT_HDLR_NAME));
    infos.back().value.type = PMIX_STRING;
    infos.back().value.data.string = const_cast<char*>(spec.name.c_str());
  }
  if (spec.return_object) {
    infos.push_back(borrowed(PMIX_EVENT_RETURN_OBJECT));
    infos.back().value.type = PMIX_POINTER;
    infos.back().value.data.ptr = *spec.return_object;
  }
  return infos;
}

}  // namespace

HandlerRef Chain::next_handler() {
  while (next_ < handlers_.size()) {
    const HandlerRef& handler = handlers_[next_++];
    if (gate_->begin_call(*handler)) return handler;
  }
  return nullptr;
}

void Chain::drive() {
  const auto keep_alive = shared_from_this();
  while (const HandlerRef handler = next_handler()) {
    if (!call(handler)) return;
    if (steps_.back().status == PMIX_EVENT_ACTION_COMPLETE) return finish(Outcome::ended_by_handler);
  }
  finish(Outcome::finished);
}

// True: this thread continues the chain. False: another thread may be continuing it already; touch nothing.
bool Chain::call(const HandlerRef& handler) {
  Step& step = steps_.emplace_back(Step{this, handler, infos_for(*event_, handler->spec)});
  {
    const std::lock_guard lock(mutex_);
    self_ = shared_from_this();
  }
  // results_ changes when this step is completed; from then on the handler must not read it.
  handler->spec.call(handler->id, event_->code, &event_->source,
                     step.infos.empty() ? nullptr : step.infos.data(), step.infos.size(), results_.data(),
                     results_.size(), &Chain::on_completed, &step);
  gate_->end_call(*handler);
  return advances(returned(step));
}

StepAction Chain::returned(Step& step) {
  const std::lock_guard lock(mutex_);
  const StepRow& row = step_row(step.state, StepInput::returned);
  step.state = row.next;
  if (row.next == StepState::over) self_.reset();  // drive() still holds the chain
  return row.action;
}

// The status and the results are stored together with the change of state: the next handler sees all or
// nothing.
// Observed with OpenPMIx 4.2.2: the status of a handler is an info whose key is the name of the handler.
StepAction Chain::completed(Step& step, pmix_status_t status, data::Infos results) {
  const std::lock_guard lock(mutex_);
  const StepRow& row = step_row(step.state, StepInput::completed);
  step.state = row.next;
  if (!keeps_results(row.action)) return row.action;
  step.status = status;
  if (verdict_ == PMIX_SUCCESS && !is_action(status)) verdict_ = status;
  results_.add(step.handler->spec.name, data::Value::of_status(status));
  for (pmix_info_t* info = results.data(); info != results.data() + results.size(); ++info) {
    data::Value value;
    std::swap(value.get(), info->value);
    results_.add(info->key, std::move(value), info->flags);
  }
  if (row.next == StepState::over) self_.reset();  // on_completed() still holds the chain
  return row.action;
}

void Chain::on_completed(pmix_status_t status, pmix_info_t* results, size_t nresults,
                         pmix_op_cbfunc_t release, void* release_data, void* cookie) noexcept {
  if (cookie == nullptr) return;
  Step& step = *static_cast<Step*>(cookie);
  Chain& chain = *step.chain;
  std::shared_ptr<Chain> keep_alive;
  {
    const std::lock_guard lock(chain.mutex_);
    keep_alive = chain.self_;
  }
  if (keep_alive == nullptr) return;  // a second completion, while the chain is between two handlers
  // Results that cannot be copied are lost to the later handlers; the chain continues.
  auto copied = data::Infos::copy_of(results, results == nullptr ? 0 : nresults);
  const StepAction action = chain.completed(step, status, copied ? std::move(*copied) : data::Infos());
  if (release != nullptr) release(PMIX_SUCCESS, release_data);
  if (advances(action)) chain.gate_->run_later([keep_alive, &step] { keep_alive->advance(step); });
}

void Chain::advance(const Step& answered) {
  if (answered.status == PMIX_EVENT_ACTION_COMPLETE) return finish(Outcome::ended_by_handler);
  drive();
}

void Chain::abandon() {
  finish(Outcome::closed);
}

void Chain::finish(Outcome outcome) {
  Done done;
  End end{outcome};
  {
    const std::lock_guard lock(mutex_);
    done = std::exchange(done_, nullptr);
    end.verdict = verdict_;
    // A handler of a chain that is closed may still read them.
    if (done && outcome != Outcome::closed) end.results = std::move(results_);
  }
  gate_->chain_ended(shared_from_this(), outcome);
  if (done) done(std::move(end));
}

}  // namespace weft::events
