// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/generations.hpp"

namespace weft::collectives {

Generation Generations::next(const Signature& signature) {
  const auto [entry, is_new] = counts_.try_emplace(signature);
  auto& count = entry->second;
  const auto out = ++count.begun;
  if (is_new || count.age != kept) be_latest(signature, count);
  return out;
}

Generation Generations::begun(const Signature& signature) const {
  const auto found = counts_.find(signature);
  return found == counts_.end() ? 0 : found->second.begun;
}

bool Generations::keep(const Signature& signature) {
  const auto [entry, is_new] = counts_.try_emplace(signature);
  auto& count = entry->second;
  const bool was_kept = !is_new && count.age == kept;
  by_age_.erase(count.age);
  count.age = kept;
  return !was_kept;
}

void Generations::release(const Signature& signature) {
  const auto found = counts_.find(signature);
  if (found != counts_.end()) be_latest(signature, found->second);
}

void Generations::be_latest(const Signature& signature, Count& count) {
  by_age_.erase(count.age);
  count.age = ++last_age_;
  by_age_.emplace(count.age, signature);
  if (by_age_.size() <= most_others) return;
  counts_.erase(by_age_.begin()->second);
  by_age_.erase(by_age_.begin());
}

}  // namespace weft::collectives
