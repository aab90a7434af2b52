// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/fences/exchange/signatures.hpp"

namespace weft::server {

/// Of a series that is over nothing is kept: its collectives are what is owed.
void Signatures::use(const Participants& procs) {
  if (!cluster_.is_open()) return;
  auto& generations = cluster_.engine().generations();
  const auto& signature = procs.signature();
  if (const auto series = procs.operation().series; series != 0) {
    const auto group = of_series_.find(series);
    if (group != of_series_.end() && generations.keep(signature)) group->second.push_back(signature);
    return;
  }
  if (!generations.keep(signature)) return;
  std::string_view last;
  for (const auto& proc : procs.procs()) {
    const auto nspace = link::nspace_of(proc);
    if (nspace != last) of_namespace_[std::string(nspace)].push_back(signature);
    last = nspace;
  }
}

void Signatures::begin_series(std::uint64_t series) {
  if (series != 0) of_series_.try_emplace(series);
}

void Signatures::end_series(std::uint64_t series) {
  const auto group = of_series_.extract(series);
  if (group) release(group.mapped());
}

void Signatures::end_namespace(std::string_view nspace) {
  const auto found = of_namespace_.find(nspace);
  if (found == of_namespace_.end()) return;
  release(found->second);
  of_namespace_.erase(found);
}

void Signatures::release(const Used& used) {
  if (!cluster_.is_open()) return;
  for (const auto& signature : used) cluster_.engine().generations().release(signature);
}

}  // namespace weft::server
