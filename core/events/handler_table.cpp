// SPDX-License-Identifier: BSD-3-Clause
#include "core/events/handler_table.hpp"

#include <algorithm>

namespace weft::events {
namespace {

using List = std::vector<HandlerRef>;

// Finds a handler on the wrong side of the neighbour that it names, and moves it next to that neighbour.
// False: nothing left to move. A handler with a position at the edge of the category keeps it.
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
    if (next != chain.end() && next < it && (*next)->spec.position != Position::first_in_category) {
      std::rotate(next, it, it + 1);
      return true;
    }
    const auto previous = named(spec.after);
    if (previous != chain.end() && previous > it &&
        (*previous)->spec.position != Position::last_in_category) {
      std::rotate(it, it + 1, previous + 1);
      return true;
    }
  }
  return false;
}

void honour_neighbours(List& chain) {
  // Bounded, because handlers that name each other in a circle would move for ever.
  for (std::size_t moves = chain.size() * chain.size(); moves != 0 && move_one(chain); --moves) {
  }
}

}  // namespace

HandlerTable::List& HandlerTable::list_of(const HandlerSpec& spec) noexcept {
  if (spec.position == Position::first) return lists_.front();
  if (spec.position == Position::last) return lists_.back();
  return lists_[1 + static_cast<std::size_t>(spec.category)];
}

Result<void> HandlerTable::add(HandlerRef handler) {
  List& list = list_of(handler->spec);
  const auto holds = [](const HandlerRef& other, Position position) {
    return other->spec.position == position;
  };
  const bool front_held = !list.empty() && holds(list.front(), Position::first_in_category);
  const bool back_held = !list.empty() && holds(list.back(), Position::last_in_category);
  auto at = list.end();
  switch (handler->spec.position) {
    case Position::first:
    case Position::last:
      if (!list.empty()) return fail(Errc::no_space, "there is a first or last handler already");
      break;
    case Position::first_in_category:
      if (front_held) return fail(Errc::no_space, "there is a first handler of the category already");
      at = list.begin();
      break;
    case Position::last_in_category:
      if (back_held) return fail(Errc::no_space, "there is a last handler of the category already");
      break;
    case Position::prepend:
      at = list.begin() + (front_held ? 1 : 0);
      break;
    case Position::append:
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

bool HandlerTable::names(pmix_status_t code) const noexcept {
  return std::any_of(lists_.begin(), lists_.end(), [&](const List& list) {
    return std::any_of(list.begin(), list.end(), [&](const HandlerRef& handler) {
      const auto& codes = handler->spec.codes;
      return std::find(codes.begin(), codes.end(), code) != codes.end();
    });
  });
}

std::vector<HandlerRef> HandlerTable::chain_for(const Event& event, const Identity& identity) const {
  List chain;
  for (const auto& list : lists_) {
    List part;
    for (const auto& handler : list) {
      if (handler->live && !handler->is_catching_up && handler->spec.matches(event, identity))
        part.push_back(handler);
    }
    honour_neighbours(part);
    chain.insert(chain.end(), part.begin(), part.end());
  }
  return chain;
}

}  // namespace weft::events
