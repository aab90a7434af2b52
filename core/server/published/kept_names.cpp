// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/published/kept_names.hpp"

#include <algorithm>

namespace weft::server {

bool KeptNames::is_taken(const Name& name) const {
  const auto found = by_key_.find(name.key);
  return found != by_key_.end() &&
         std::any_of(found->second.begin(), found->second.end(),
                     [&](const NameRef& other) { return is_same_space(*other->by, *name.by); });
}

bool KeptNames::give_back(const Name& name) noexcept {
  --size_;
  bytes_ -= name.weight();
  return true;
}

pmix_status_t KeptNames::add(const std::vector<NameRef>& names) {
  std::size_t added = 0;
  const auto undo = [&](pmix_status_t why) {
    for (std::size_t i = 0; i < added; ++i) erase(names[i]->key, names[i]->by->origin, names[i]->by->number);
    return why;
  };
  for (const auto& name : names) {
    if (is_taken(*name)) return undo(PMIX_ERR_DUPLICATE_KEY);  // also by an earlier one of these
    if (name->weight() > most_bytes_ - bytes_) return undo(PMIX_ERR_OUT_OF_RESOURCE);
    by_key_[name->key].push_back(name);
    bytes_ += name->weight();
    ++size_;
    ++added;
  }
  return PMIX_SUCCESS;
}

std::pair<Sight, NameRef> KeptNames::look(const std::string& key, const Looker& looker) const {
  std::pair<Sight, NameRef> out{Sight::none, nullptr};
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return out;
  for (const auto& name : found->second) {
    const auto sight = sight_of(*name->by, looker);
    const bool is_better =
        sight > out.first || (sight == Sight::seen && is_narrower(*name->by, *out.second->by));
    if (is_better) out = {sight, name};
  }
  return out;
}

NameRef KeptNames::find(const std::string& key, NodeNumber origin, std::uint64_t number) const {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  const auto name = std::find_if(found->second.begin(), found->second.end(),
                                 [&](const NameRef& one) { return one->is_of(origin, number); });
  return name == found->second.end() ? nullptr : *name;
}

void KeptNames::erase(const std::string& key, NodeNumber origin, std::uint64_t number) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  std::erase_if(found->second,
                [&](const NameRef& name) { return name->is_of(origin, number) && give_back(*name); });
  if (found->second.empty()) by_key_.erase(found);
}

}  // namespace weft::server
