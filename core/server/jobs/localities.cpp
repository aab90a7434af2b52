// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/jobs/localities.hpp"

#include "base/log_format.hpp"
#include "core/topology/local.hpp"

namespace weft::server {
namespace {

using store::KeyOwner;
using store::Realm;

constexpr KeyOwner whole_job_owner{Realm::job, 0};

bool is_left_to_the_library(const store::JobView& job) {
  const auto said = job.find_info(whole_job_owner, unbound_attribute, store::hash_key(unbound_attribute));
  if (!said) return false;
  data::Reader in(said->value);
  const auto value = data::Value::decode(in);
  return value && data::is_true(value->get());
}

}  // namespace

void make_localities(Job& job) {
  const auto& view = job.view();
  if (!is_left_to_the_library(view)) return;
  // No second time, however this one ends.
  (void)job.writer->add_info({whole_job_owner, std::string(unbound_attribute), data::Value::of(false)});
  const auto locality = topology::own_locality();
  if (!locality)
    return base::info(base::LogPart::jobs, "{}: its ranks have no locality: {}", job.nspace,
                      locality.error().what);
  const std::string_view key = PMIX_LOCALITY_STRING;
  for (const auto rank : view.ranks_on(view.my_node())) {
    const KeyOwner owner{Realm::rank, rank};
    if (view.find_info(owner, key, store::hash_key(key))) continue;  // the host knows better
    if (!job.writer->add_info({owner, std::string(key), data::Value::of(std::string_view(*locality))}))
      return;
  }
}

}  // namespace weft::server
