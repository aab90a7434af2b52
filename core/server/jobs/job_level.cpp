// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/jobs/job_level.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "core/store/get/job_keys.hpp"
#include "core/store/get/lookup.hpp"

namespace weft::server {
namespace {

using data::Infos;
using data::Value;
using store::Realm;

struct Subject {
  Realm realm;
  std::uint32_t index;
  bool operator<(const Subject& other) const noexcept {
    return std::tie(realm, index) < std::tie(other.realm, other.index);
  }
};
using Keys = std::map<std::string, Bytes, std::less<>>;

/// The newest value of each key that the host registered.
std::map<Subject, Keys> registered_keys(const store::JobView& job) {
  std::map<Subject, Keys> out;
  (void)job.info().visit(0, [&](const store::Record& record) {
    out[{record.owner.realm, record.owner.index}].insert_or_assign(std::string(record.key), record.value);
  });
  return out;
}

Result<void> add_keys(Infos& to, const Keys& keys) {
  for (const auto& [key, bytes] : keys) {
    data::Reader in(bytes);
    auto value = Value::decode(in);
    if (!value) return fail(value.error());
    to.add(key, std::move(*value));
  }
  return {};
}

/// The array of one owner, with the number by which it is known.
Result<void> add_array(Infos& to, const Subject& subject, const Keys& keys) {
  const auto [name, number] = [&]() -> std::pair<const char*, const char*> {
    switch (subject.realm) {
      case Realm::node:
        return {PMIX_NODE_INFO_ARRAY, PMIX_NODEID};
      case Realm::app:
        return {PMIX_APP_INFO_ARRAY, PMIX_APPNUM};
      case Realm::session:
        return {PMIX_SESSION_INFO_ARRAY, PMIX_SESSION_ID};
      default:
        return {PMIX_PROC_INFO_ARRAY, PMIX_RANK};
    }
  }();
  Infos members;
  if (keys.find(number) == keys.end() && subject.realm == Realm::rank)
    members.add(number, Value::of_rank(subject.index));
  else if (keys.find(number) == keys.end() && subject.realm != Realm::session)
    members.add(number, Value::of(subject.index));
  if (auto ok = add_keys(members, keys); !ok) return ok;
  auto array = store::array_of(members);
  if (!array) return fail(array.error());
  to.add(name, std::move(*array));
  return {};
}

/// Adds keys that follow from the map, where the host did not give them.
void add_computed(Infos& to, const store::JobView& job) {
  to.add(PMIX_JOB_SIZE, Value::of(job.ranks()));
  for (const std::string_view key :
       {PMIX_NODE_MAP, PMIX_PROC_MAP, PMIX_NPROC_OFFSET, PMIX_NUM_NODES, PMIX_JOB_NUM_APPS}) {
    if (to.find(key) != nullptr) continue;
    auto value = store::compute_key(job, {Realm::job, 0}, key, store::hash_key(key));
    if (value) to.add(key, std::move(*value));
  }
}

}  // namespace

bool is_of_one_node(std::string_view key) noexcept {
  for (const std::string_view local :
       {PMIX_NODEID, PMIX_LOCAL_PEERS, PMIX_LOCALLDR, PMIX_LOCAL_SIZE, PMIX_LOCAL_CPUSETS, PMIX_LOCAL_PROCS,
        PMIX_NSDIR, PMIX_TMPDIR, PMIX_SERVER_NSPACE, PMIX_SERVER_RANK, PMIX_SERVER_URI, PMIX_JOB_SIZE,
        "weft.tmpdir", "weft.localities"})
    if (key == local) return true;
  return false;
}

Result<Blob> encode_job_level(const store::JobView& job) {
  auto all = registered_keys(job);
  JobLevel out;
  auto& of_job = all[{Realm::job, 0}];
  std::erase_if(of_job, [](const auto& key) { return is_of_one_node(key.first); });
  if (auto ok = add_keys(out.infos, of_job); !ok) return fail(ok.error());
  add_computed(out.infos, job);
  for (auto& [subject, keys] : all) {
    if (subject.realm == Realm::job) continue;
    if (subject.realm == Realm::session)
      std::erase_if(keys, [](const auto& key) { return is_of_one_node(key.first); });
    if (auto ok = add_array(out.infos, subject, keys); !ok) return fail(ok.error());
  }
  return base::encode(out);
}

Result<Infos> decode_job_level(Bytes bytes) {
  auto read = base::decode<JobLevel>(bytes);
  if (!read) return fail(read.error());
  if (read->format != JobLevel::this_format)
    return fail(Errc::not_supported, "job-level data of another release");
  return std::move(read->infos);
}

}  // namespace weft::server
