// SPDX-License-Identifier: BSD-3-Clause
#include "core/events/registry.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/events/event_cache.hpp"

namespace weft::events {

// Shared with the chains, which may outlive the registry.
class Registry::State final : public Chain::Gate, public std::enable_shared_from_this<Registry::State> {
 public:
  State(Identity own, RecentBounds bounds) : identity(std::move(own)), cache(bounds) {}

  bool begin_call(Handler& handler) override {
    const std::lock_guard lock(mutex);
    if (closed || !handler.live) return false;
    handler.calls.push_back(std::this_thread::get_id());
    if (handler.spec.one_shot) {
      handler.live = false;
      forget(handler.id);
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

  void run_later(std::function<void()> rest) override {
    {
      const std::lock_guard lock(mutex);
      if (closed) return;
      if (later) return later(std::move(rest));
    }
    rest();
  }

  void chain_ended(const std::shared_ptr<Chain>& chain, Outcome outcome) override {
    const std::lock_guard lock(mutex);
    open.erase(chain);
    if (outcome == Outcome::ended_by_handler) cache.erase(chain->number());
  }

  // The functions from here on are called with the mutex held.

  void forget(std::size_t id) {
    table.remove(id);
    if (removed) removed(id);
  }

  void start_catching_up(const HandlerRef& handler) {
    handler->live = true;
    cache.each([&](std::uint64_t number, const EventRef& event) {
      if (handler->spec.matches(*event, identity)) handler->backlog.emplace_back(number, event);
    });
    handler->is_catching_up = !handler->backlog.empty();
    if (handler->is_catching_up) catching_up.push_back(handler);
  }

  /// Null: the handler has caught up, or is to be called no more.
  std::shared_ptr<Chain> next_of_backlog(const HandlerRef& handler) {
    if (closed || !handler->live || handler->backlog.empty()) {
      handler->is_catching_up = false;
      handler->backlog.clear();
      std::erase(catching_up, handler);
      return nullptr;
    }
    auto [number, event] = std::move(handler->backlog.front());
    handler->backlog.pop_front();
    return open_chain(std::move(event), number, {handler}, nullptr);
  }

  /// True: there was such a handler.
  bool add_to_backlogs(const EventRef& event, std::uint64_t number) {
    bool is_wanted = false;
    for (const auto& handler : catching_up) {
      if (!handler->live || !handler->spec.matches(*event, identity)) continue;
      handler->backlog.emplace_back(number, event);
      is_wanted = true;
    }
    return is_wanted;
  }

  std::shared_ptr<Chain> open_chain(EventRef event, std::uint64_t number, std::vector<HandlerRef> handlers,
                                    Done done) {
    auto chain = std::make_shared<Chain>(shared_from_this(), std::move(event), number, std::move(handlers),
                                         std::move(done));
    open.insert(chain);
    return chain;
  }

  mutable std::mutex mutex;
  Identity identity;
  HandlerTable table;
  EventCache cache;
  std::vector<HandlerRef> catching_up;
  std::set<std::shared_ptr<Chain>> open;
  std::size_t next_id = 0;
  std::function<void(std::size_t)> removed;
  std::function<void(std::function<void()>)> later;
  bool closed = false;
};

Registry::Registry(Identity identity, RecentBounds cache)
    : state_(std::make_shared<State>(std::move(identity), cache)) {}

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

void Registry::on_removed(std::function<void(std::size_t)> removed) {
  const std::lock_guard lock(state_->mutex);
  state_->removed = std::move(removed);
}

void Registry::run_later_by(std::function<void(std::function<void()>)> run_later) {
  const std::lock_guard lock(state_->mutex);
  state_->later = std::move(run_later);
}

bool Registry::names(pmix_status_t code) const {
  const std::lock_guard lock(state_->mutex);
  return state_->table.names(code);
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

bool Registry::activate(std::size_t id) {
  const std::lock_guard lock(state_->mutex);
  const auto handler = state_->table.find(id);
  if (handler == nullptr || handler->live) return false;
  state_->start_catching_up(handler);
  return handler->is_catching_up;
}

void Registry::catch_up(std::size_t id) {
  HandlerRef handler;
  {
    const std::lock_guard lock(state_->mutex);
    handler = state_->table.find(id);
    if (handler == nullptr || !handler->is_catching_up) return;
  }
  // One event at a time: the handler may be removed, by itself or as a one-shot, while it receives cached
  // events.
  for (;;) {
    std::shared_ptr<Chain> chain;
    {
      const std::lock_guard lock(state_->mutex);
      chain = state_->next_of_backlog(handler);
    }
    if (!chain) return;
    chain->drive();
  }
}

Result<void> Registry::remove(std::size_t id, std::function<void()> drained) {
  {
    const std::lock_guard lock(state_->mutex);
    const HandlerRef handler = state_->table.find(id);
    if (handler == nullptr) return fail(Errc::invalid, "no such event handler");
    handler->live = false;
    state_->forget(id);
    std::erase(state_->catching_up, handler);
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
  const auto held = std::make_shared<const Event>(std::move(event));
  std::shared_ptr<Chain> chain;
  auto outcome = Outcome::no_handler;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->closed) {
      outcome = Outcome::closed;
    } else if (in_custom_range(*held, state_->identity.self)) {
      const auto number = state_->cache.add(held);
      if (state_->add_to_backlogs(held, number)) outcome = Outcome::finished;
      auto handlers = state_->table.chain_for(*held, state_->identity);
      if (!handlers.empty())
        chain = state_->open_chain(held, number, std::move(handlers), std::exchange(done, nullptr));
    }
  }
  if (chain) {
    chain->drive();
  } else if (done) {
    done({outcome});
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
