// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/jobs/localities.hpp"

#include <optional>
#include <string>

#include "base/log_format.hpp"
#include "core/topology/local.hpp"

namespace weft::server {
namespace {

using store::KeyOwner;
using store::Realm;

constexpr KeyOwner whole_job_owner{Realm::job, 0};

std::optional<data::Value> info(const store::JobView& job, const KeyOwner& owner, std::string_view key) {
  const auto said = job.find_info(owner, key, store::hash_key(key));
  if (!said) return std::nullopt;
  data::Reader in(said->value);
  auto value = data::Value::decode(in);
  return value ? std::optional(std::move(*value)) : std::nullopt;
}

bool is_left_to_the_library(const store::JobView& job) {
  const auto said = info(job, whole_job_owner, localities_attribute);
  return said && data::is_true(said->get());
}

/// own: what this process may use; kept for the next rank that is not bound.
Result<std::string> locality_of(const store::JobView& job, const KeyOwner& rank,
                                std::optional<Result<std::string>>& own) {
  const auto cpuset = info(job, rank, PMIX_CPUSET);
  const bool is_bound = cpuset && cpuset->get().type == PMIX_STRING && cpuset->get().data.string != nullptr;
  if (is_bound) return topology::locality_of(cpuset->get().data.string);
  if (!own) own = topology::own_locality();
  return *own;
}

}  // namespace

void make_localities(Job& job) {
  const auto& view = job.view();
  if (!is_left_to_the_library(view)) return;
  // No second time, however this one ends.
  (void)job.writer->add_info({whole_job_owner, std::string(localities_attribute), data::Value::of(false)});
  std::optional<Result<std::string>> own;
  for (const auto rank : view.ranks_on(view.my_node())) {
    const KeyOwner owner{Realm::rank, rank};
    if (info(view, owner, PMIX_LOCALITY_STRING)) continue;  // the host knows better
    const auto locality = locality_of(view, owner, own);
    if (!locality)
      return base::info(base::LogPart::jobs, "{}: rank {} has no locality: {}", job.nspace, rank,
                        locality.error().what);
    if (!job.writer->add_info({owner, PMIX_LOCALITY_STRING, data::Value::of(std::string_view(*locality))}))
      return;
  }
}

}  // namespace weft::server
