// SPDX-License-Identifier: BSD-3-Clause
// A bounded memory of how things have ended: of attempts, invitations, verdicts. An entry is looked up by its
// key; beyond the bound the oldest entry is forgotten.
//
// Forgetting has a cost: a question about a forgotten entry gets the reply for something that never was. Each
// member of this type says what that means for its room.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <utility>

namespace weft::server {

template <class Key, class Value, std::size_t most>
class Latest {
  static_assert(most > 0);

 public:
  Latest() = default;
  Latest(const Latest&) = delete;
  Latest& operator=(const Latest&) = delete;

  /// The entry is the newest from here on, also where the key was known. Beyond `most` entries the oldest are
  /// forgotten, but for those of which is_open(key, value) is true: these end at their own time, and count.
  template <class IsOpen>
  Value& add(Key key, Value value, IsOpen&& is_open) {
    erase(key);
    entries_.emplace_back(key, std::move(value));
    const auto newest = std::prev(entries_.end());
    by_key_.emplace(std::move(key), newest);
    for (auto entry = entries_.begin(); entry != newest && entries_.size() > most;) {
      const auto each = entry++;
      if (!is_open(each->first, std::as_const(each->second))) erase(each);
    }
    return newest->second;
  }
  Value& add(Key key, Value value) {
    return add(std::move(key), std::move(value), [](const Key&, const Value&) { return false; });
  }

  /// Null: it was never added, or is forgotten.
  const Value* find(const Key& key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : &found->second->second;
  }
  Value* find(const Key& key) { return const_cast<Value*>(std::as_const(*this).find(key)); }

  void erase(const Key& key) {
    if (const auto found = by_key_.find(key); found != by_key_.end()) erase(found->second);
  }
  /// unwanted(key, value): may change the value.
  template <class Unwanted>
  void erase_if(Unwanted&& unwanted) {
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      const auto each = entry++;
      if (unwanted(each->first, each->second)) erase(each);
    }
  }

  // From the oldest to the newest, as pairs of key and value.
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  auto begin() { return entries_.begin(); }
  auto end() { return entries_.end(); }
  std::size_t size() const noexcept { return entries_.size(); }

 private:
  using Entries = std::list<std::pair<const Key, Value>>;
  void erase(typename Entries::iterator entry) {
    by_key_.erase(entry->first);
    entries_.erase(entry);
  }

  Entries entries_;
  std::map<Key, typename Entries::iterator> by_key_;
};

}  // namespace weft::server
