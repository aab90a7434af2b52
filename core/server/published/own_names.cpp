// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/published/own_names.hpp"

#include "core/link/messages.hpp"

namespace weft::server {

void OwnNames::add(const NameRef& name) {
  by_publisher_[name->by->nspace][name->by->rank].emplace(name->key, name);
  bytes_ += name->weight();
}

void OwnNames::erase(const std::string& nspace, std::uint32_t rank, const std::string& key,
                     std::uint64_t number) {
  const auto job = by_publisher_.find(nspace);
  if (job == by_publisher_.end()) return;
  const auto publisher = job->second.find(rank);
  if (publisher == job->second.end()) return;
  auto [each, end] = publisher->second.equal_range(key);
  while (each != end) {
    const auto entry = each++;
    if (entry->second->by->number != number) continue;
    bytes_ -= entry->second->weight();
    publisher->second.erase(entry);
  }
  if (publisher->second.empty()) job->second.erase(publisher);
  if (job->second.empty()) by_publisher_.erase(job);
}

void OwnNames::take(const pmix_proc_t& publisher, const std::string& key, std::uint64_t number) {
  erase(std::string(link::nspace_of(publisher)), publisher.rank, key, number);
  if (taken_) taken_(key, number);
}

std::vector<NameRef> OwnNames::find(const pmix_proc_t& proc, const std::string& key) const {
  std::vector<NameRef> out;
  const auto job = by_publisher_.find(link::nspace_of(proc));
  if (job == by_publisher_.end()) return out;
  const auto publisher = job->second.find(proc.rank);
  if (publisher == job->second.end()) return out;
  const auto [first, last] = publisher->second.equal_range(key);
  for (auto each = first; each != last; ++each) out.push_back(each->second);
  return out;
}

std::vector<NameRef> OwnNames::all_of(const pmix_proc_t& proc) const {
  std::vector<NameRef> out;
  const auto job = by_publisher_.find(link::nspace_of(proc));
  if (job == by_publisher_.end()) return out;
  const auto publisher = job->second.find(proc.rank);
  if (publisher == job->second.end()) return out;
  for (const auto& [key, name] : publisher->second) out.push_back(name);
  return out;
}

std::vector<NameRef> OwnNames::all_of(const std::string& nspace) const {
  std::vector<NameRef> out;
  const auto job = by_publisher_.find(nspace);
  if (job == by_publisher_.end()) return out;
  for (const auto& [rank, keys] : job->second)
    for (const auto& [key, name] : keys) out.push_back(name);
  return out;
}

std::vector<NameRef> OwnNames::all() const {
  std::vector<NameRef> out;
  for (const auto& [nspace, ranks] : by_publisher_) {
    auto of_job = all_of(nspace);
    out.insert(out.end(), of_job.begin(), of_job.end());
  }
  return out;
}

}  // namespace weft::server
