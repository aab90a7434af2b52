// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/past.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace weft::collectives {
namespace {

std::uint64_t bytes_of(const Contributions& contributions) {
  std::uint64_t out = 0;
  for (const auto& each : contributions) out += sizeof each + each.size();
  return out;
}

}  // namespace

void Past::add(const End& end, std::vector<NodeNumber> members, Contributions contributions) {
  const Key key{end.signature, end.generation};
  if (end.is_well != 0)
    for (auto before = entries_.lower_bound({key.first, 0}); before != entries_.end() && before->first < key;)
      before = forget(before);
  if (const auto known = entries_.find(key); known != entries_.end()) forget(known);
  const auto age = next_age_++;
  by_age_.emplace(age, key);
  auto& entry = entries_[key] = Entry{std::move(members), {}, age, end};
  if (entries_.size() > most_ends) forget(entries_.find(by_age_.begin()->second));
  const auto bytes = bytes_of(contributions);
  if (bytes == 0 || bytes > most_bytes) return;
  while (bytes_ + bytes > most_bytes || with_data_.size() == most_with_data)
    drop_data(entries_.at(with_data_.begin()->second));
  entry.contributions = std::move(contributions);
  with_data_.emplace(age, key);
  bytes_ += bytes;
}

std::vector<End> Past::of(const Unsettled& which) const {
  std::vector<End> out;
  std::set<Key> given_up;
  for (const auto& each : which.given_up) given_up.emplace(each.signature, each.generation);
  for (const auto& [key, entry] : entries_) {
    const auto is_member = [&members = entry.members](NodeNumber node) {
      return std::binary_search(members.begin(), members.end(), node);
    };
    if (given_up.count(key) != 0 || std::any_of(which.lost.begin(), which.lost.end(), is_member))
      out.push_back(entry.end);
  }
  return out;
}

std::optional<Why> Past::why_of(const Key& key) const {
  const auto entry = entries_.find(key);
  if (entry == entries_.end() || entry->second.end.is_well != 0) return std::nullopt;
  return entry->second.end.why;
}

const Contributions* Past::contributions_of(const Signature& signature, Generation generation) const {
  const auto entry = entries_.find({signature, generation});
  const bool is_kept = entry != entries_.end() && with_data_.count(entry->second.age) != 0;
  return is_kept ? &entry->second.contributions : nullptr;
}

Past::Entries::iterator Past::forget(Entries::iterator entry) {
  drop_data(entry->second);
  by_age_.erase(entry->second.age);
  return entries_.erase(entry);
}

void Past::drop_data(Entry& entry) {
  if (with_data_.erase(entry.age) == 0) return;
  bytes_ -= bytes_of(entry.contributions);
  entry.contributions = {};
}

}  // namespace weft::collectives
