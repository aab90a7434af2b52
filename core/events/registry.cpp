// SPDX-License-Identifier: BSD-3-Clause
#include "core/events/registry.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/events/event_cache.hpp"

namespace weft::events {

// Shared with the chains, which may outlive the registry.
class Registry::State final : public Chain::Gate {
 public:
  State(Identity own, std::size_t cached_events) : identity(std::move(own)), cache(cached_events) {}

  bool begin_call(Handler& handler) override {
    const std::lock_guard lock(mutex);
    if (closed || !handler.live) return false;
    handler.calls.push_back(std::this_thread::get_id());
    if (handler.spec.one_shot) {
      handler.live = false;
      table.remove(handler.id);
    }
    return true;
  }

  void end_call(Handler& handler) override {
    std::function<void()> drained;
    {
      const std::lock_guard lock(mutex);
      auto& calls = handler.calls;
      calls.erase(std::find(calls.begin(), calls.end(), std::this_thread::get_id()));
      if (calls.size() <= handler.calls_of_remover) drained = std::exchange(handler.when_drained, nullptr);
    }
    if (drained) drained();
  }

  void chain_ended(const std::shared_ptr<Chain>& chain) override {
    const std::lock_guard lock(mutex);
    open.erase(chain);
  }

  mutable std::mutex mutex;
  Identity identity;
  HandlerTable table;
  EventCache cache;
  std::set<std::shared_ptr<Chain>> open;
  std::size_t next_id = 0;
  bool closed = false;
};

Registry::Registry(Identity identity, std::size_t cached_events)
    : state_(std::make_shared<State>(std::move(identity), cached_events)) {}

Registry::~Registry() {
  std::set<std::shared_ptr<Chain>> open;
  {
    const std::lock_guard lock(state_->mutex);
    state_->closed = true;
    open.swap(state_->open);
  }
  for (const auto& chain : open) chain->abandon();
}

void Registry::identify(Identity identity) {
  const std::lock_guard lock(state_->mutex);
  state_->identity = std::move(identity);
}

Result<std::size_t> Registry::add(std::span<const pmix_status_t> codes, std::span<const pmix_info_t> infos,
                                  pmix_notification_fn_t call) {
  auto spec = read_spec(codes, infos, call);
  if (!spec) return fail(spec.error());
  const std::lock_guard lock(state_->mutex);
  const std::size_t id = state_->next_id;
  auto added = state_->table.add(std::make_shared<Handler>(id, std::move(*spec)));
  if (!added) return fail(added.error());
  ++state_->next_id;
  return id;
}

void Registry::activate(std::size_t id) {
  HandlerRef handler;
  {
    const std::lock_guard lock(state_->mutex);
    handler = state_->table.find(id);
    if (handler == nullptr || handler->live) return;
    handler->live = true;
  }
  // Takes one event at a time: the handler may be removed, by itself or as a one-shot, while it receives
  // cached events.
  for (;;) {
    std::shared_ptr<Chain> chain;
    {
      const std::lock_guard lock(state_->mutex);
      if (!handler->live || state_->closed) return;
      auto event =
          state_->cache.take([&](const Event& e) { return handler->spec.matches(e, state_->identity); });
      if (!event) return;
      chain = std::make_shared<Chain>(state_, std::move(*event), std::vector{handler}, nullptr);
      state_->open.insert(chain);
    }
    chain->drive();
  }
}

Result<void> Registry::remove(std::size_t id, std::function<void()> drained) {
  {
    const std::lock_guard lock(state_->mutex);
    const HandlerRef handler = state_->table.find(id);
    if (handler == nullptr) return fail(Errc::invalid, "no such event handler");
    handler->live = false;
    state_->table.remove(id);
    // Calls on this thread cannot end before remove() returns: waiting for them would be a deadlock.
    const auto& calls = handler->calls;
    handler->calls_of_remover =
        static_cast<std::size_t>(std::count(calls.begin(), calls.end(), std::this_thread::get_id()));
    if (calls.size() > handler->calls_of_remover) {
      handler->when_drained = std::move(drained);
      return {};
    }
  }
  if (drained) drained();
  return {};
}

void Registry::deliver(Event event, Done done) {
  std::shared_ptr<Chain> chain;
  auto outcome = Outcome::no_handler;
  {
    const std::lock_guard lock(state_->mutex);
    auto handlers = in_custom_range(event, state_->identity.self)
                        ? state_->table.chain_for(event, state_->identity)
                        : std::vector<HandlerRef>();
    if (state_->closed) {
      outcome = Outcome::closed;
    } else if (!handlers.empty()) {
      chain = std::make_shared<Chain>(state_, std::move(event), std::move(handlers),
                                      std::exchange(done, nullptr));
      state_->open.insert(chain);
    } else if (in_custom_range(event, state_->identity.self)) {
      state_->cache.add(std::move(event));
    }
  }
  if (chain) {
    chain->drive();
  } else if (done) {
    done(outcome);
  }
}

void Registry::forget_namespace(std::string_view nspace) {
  const std::lock_guard lock(state_->mutex);
  state_->cache.forget(nspace);
}

Registry::Counters Registry::counters() const {
  const std::lock_guard lock(state_->mutex);
  return {state_->table.size(), state_->cache.size(), state_->open.size(), state_->cache.dropped()};
}

}  // namespace weft::events
