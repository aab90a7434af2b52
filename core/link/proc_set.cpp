// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/proc_set.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/link/messages.hpp"

namespace weft::link {

bool is_less(const pmix_proc_t& a, const pmix_proc_t& b) noexcept {
  const int order = std::strncmp(a.nspace, b.nspace, sizeof a.nspace);
  return order != 0 ? order < 0 : a.rank < b.rank;
}

bool is_same(const pmix_proc_t& a, const pmix_proc_t& b) noexcept {
  return a.rank == b.rank && std::strncmp(a.nspace, b.nspace, sizeof a.nspace) == 0;
}

bool is_same(const Procs& a, const Procs& b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const pmix_proc_t& one, const pmix_proc_t& other) { return is_same(one, other); });
}

Procs each_once(const Procs& procs) {
  const auto less = [](const pmix_proc_t* a, const pmix_proc_t* b) { return is_less(*a, *b); };
  std::set<const pmix_proc_t*, decltype(less)> seen(less);
  Procs out;
  for (const auto& proc : procs)
    if (seen.insert(&proc).second) out.push_back(proc);
  return out;
}

bool contains(const Procs& procs, const pmix_proc_t& proc) noexcept {
  return std::any_of(procs.begin(), procs.end(),
                     [&](const pmix_proc_t& each) { return is_same(each, proc); });
}

Procs canonical(Procs procs) {
  std::sort(procs.begin(), procs.end(), is_less);
  const auto same = [](const pmix_proc_t& a, const pmix_proc_t& b) { return is_same(a, b); };
  procs.erase(std::unique(procs.begin(), procs.end(), same), procs.end());
  Procs out;
  for (auto first = procs.begin(); first != procs.end();) {
    const auto nspace = nspace_of(*first);
    const auto last = std::find_if(first, procs.end(), [&](const auto& p) { return nspace_of(p) != nspace; });
    const auto wildcard =
        std::find_if(first, last, [](const auto& p) { return p.rank == PMIX_RANK_WILDCARD; });
    wildcard == last ? void(out.insert(out.end(), first, last)) : out.push_back(*wildcard);
    first = last;
  }
  return out;
}

Procs whole_job(std::string_view nspace) {
  return {make_proc(nspace, PMIX_RANK_WILDCARD)};
}

bool is_whole_job(const Procs& procs) noexcept {
  return procs.size() == 1 && procs[0].rank == PMIX_RANK_WILDCARD;
}

}  // namespace weft::link
