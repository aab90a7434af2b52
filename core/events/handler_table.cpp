// SPDX-License-Identifier: BSD-3-Clause
#include "core/events/handler_table.hpp"

#include <algorithm>

namespace weft::events {
namespace {

using List = std::vector<HandlerRef>;

// Finds a handler that is on the wrong side of the neighbour it named, and moves it next to that neighbour.
// False: nothing left to move. The holder of an edge of the category keeps it.
bool move_one(List& chain) {
  for (auto it = chain.begin(); it != chain.end(); ++it) {
    const HandlerSpec& spec = (*it)->spec;
    const auto named = [&](const std::string& name) {
      return name.empty() ? chain.end()
                          : std::find_if(chain.begin(), chain.end(), [&](const HandlerRef& other) {
                              return other != *it && other->spec.name == name;
                            });
    };
    const auto next = named(spec.before);
    if (next != chain.end() && next < it && (*next)->spec.place != Place::first_in_category) {
      std::rotate(next, it, it + 1);
      return true;
    }
    const auto previous = named(spec.after);
    if (previous != chain.end() && previous > it && (*previous)->spec.place != Place::last_in_category) {
      std::rotate(it, it + 1, previous + 1);
      return true;
    }
  }
  return false;
}

void honour_neighbours(List& chain) {
  // Handlers that name each other in a circle would move for ever.
  for (std::size_t moves = chain.size() * chain.size(); moves != 0 && move_one(chain); --moves) {
  }
}

}  // namespace

HandlerTable::List& HandlerTable::list_of(const HandlerSpec& spec) noexcept {
  if (spec.place == Place::first) return lists_.front();
  if (spec.place == Place::last) return lists_.back();
  return lists_[1 + static_cast<std::size_t>(spec.category)];
}

Result<void> HandlerTable::add(HandlerRef handler) {
  List& list = list_of(handler->spec);
  const auto holds = [](const HandlerRef& other, Place place) { return other->spec.place == place; };
  const bool front_held = !list.empty() && holds(list.front(), Place::first_in_category);
  const bool back_held = !list.empty() && holds(list.back(), Place::last_in_category);
  auto at = list.end();
  switch (handler->spec.place) {
    case Place::first:
    case Place::last:
      if (!list.empty()) return fail(Errc::no_space, "there is a first or last handler already");
      break;
    case Place::first_in_category:
      if (front_held) return fail(Errc::no_space, "there is a first handler of the category already");
      at = list.begin();
      break;
    case Place::last_in_category:
      if (back_held) return fail(Errc::no_space, "there is a last handler of the category already");
      break;
    case Place::prepend:
      at = list.begin() + (front_held ? 1 : 0);
      break;
    case Place::append:
      at = list.end() - (back_held ? 1 : 0);
      break;
  }
  list.insert(at, std::move(handler));
  return {};
}

HandlerRef HandlerTable::find(std::size_t id) const {
  for (const auto& list : lists_) {
    for (const auto& handler : list) {
      if (handler->id == id) return handler;
    }
  }
  return nullptr;
}

void HandlerTable::remove(std::size_t id) {
  for (auto& list : lists_) std::erase_if(list, [&](const auto& handler) { return handler->id == id; });
}

std::size_t HandlerTable::size() const noexcept {
  std::size_t total = 0;
  for (const auto& list : lists_) total += list.size();
  return total;
}

std::vector<HandlerRef> HandlerTable::chain_for(const Event& event, const Identity& identity) const {
  List chain;
  for (const auto& list : lists_) {
    List part;
    for (const auto& handler : list) {
      if (handler->live && handler->spec.matches(event, identity)) part.push_back(handler);
    }
    honour_neighbours(part);
    chain.insert(chain.end(), part.begin(), part.end());
  }
  return chain;
}

}  // namespace weft::events
