// SPDX-License-Identifier: BSD-3-Clause
#include "core/abi/roles/native_procs.hpp"

#include <algorithm>

#include "core/abi/roles/role.hpp"
#include "core/data/names/status.hpp"
#include "core/data/types/array.hpp"
#include "core/link/messages.hpp"

namespace weft::abi {
namespace {

/// Null: this process is in none.
const client::Groups* groups() noexcept {
  auto* client = roles().client();
  return client == nullptr || client->groups().is_empty() ? nullptr : &client->groups();
}

pmix_status_t append(std::span<const pmix_proc_t> procs, std::vector<pmix_proc_t>& out) {
  const auto* known = groups();
  if (known == nullptr) {
    out.insert(out.end(), procs.begin(), procs.end());
    return PMIX_SUCCESS;
  }
  const auto done = known->append_native(procs, out);
  return done ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

bool names_procs(std::string_view key) noexcept {
  return key == PMIX_EVENT_CUSTOM_RANGE || key == PMIX_EVENT_AFFECTED_PROC ||
         key == PMIX_EVENT_AFFECTED_PROCS;
}

}  // namespace

bool may_name_group(const pmix_proc_t& proc) noexcept {
  return groups() != nullptr && !link::is_of(proc, link::nspace_of(roles().client()->self()));
}

NativeProcs::NativeProcs(const pmix_proc_t* procs, std::size_t count) : procs_(procs), count_(count) {
  if (std::none_of(procs, procs + count, may_name_group)) return;
  status_ = append({procs, count}, native_);
  procs_ = native_.data();
  count_ = native_.size();
}

std::optional<client::Groups::Group> whole_group(const pmix_proc_t* procs, std::size_t count) {
  const bool may_be_one = count == 1 && procs->rank == PMIX_RANK_WILDCARD && may_name_group(*procs);
  return may_be_one ? groups()->find(link::nspace_of(*procs)) : std::nullopt;
}

pmix_status_t make_native(pmix_proc_t& proc) {
  const auto* known = groups();
  if (known == nullptr || !may_name_group(proc)) return PMIX_SUCCESS;
  const auto group = known->find(link::nspace_of(proc));
  if (!group) return PMIX_SUCCESS;
  if (proc.rank > PMIX_RANK_VALID) {
    const auto& first = group->members.front().nspace;
    const bool is_one = std::all_of(group->members.begin(), group->members.end(),
                                    [&](const link::RankRun& run) { return run.nspace == first; });
    if (!is_one) return PMIX_ERR_BAD_PARAM;
    proc = link::make_proc(first, proc.rank);
    return PMIX_SUCCESS;
  }
  std::vector<pmix_proc_t> member;
  if (const auto status = append({&proc, 1}, member); status != PMIX_SUCCESS) return status;
  proc = member.front();
  return PMIX_SUCCESS;
}

pmix_status_t make_native(data::Infos& infos) {
  if (groups() == nullptr) return PMIX_SUCCESS;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    auto& info = infos.data()[i];
    if (!names_procs(data::key_of(info))) continue;
    const bool is_single = info.value.type == PMIX_PROC && info.value.data.proc != nullptr;
    const auto named = is_single ? std::span(info.value.data.proc, 1)
                                 : data::elements_of<pmix_proc_t>(info.value, PMIX_PROC);
    std::vector<pmix_proc_t> native;
    if (const auto status = append(named, native); status != PMIX_SUCCESS) return status;
    if (native.empty() || (is_single && native.size() == 1 && link::is_same(native[0], named[0]))) continue;
    auto value = data::value_of_array(PMIX_PROC, native.data(), native.size());
    if (!value) return data::to_status(value.error());
    data::destroy_value(info.value);
    info.value = value->release();
  }
  return PMIX_SUCCESS;
}

data::Value value_of_group(const pmix_proc_t& proc, std::string_view key) {
  const auto* known = groups();
  if (known == nullptr) return {};
  if (key == PMIX_GROUP_NAMES && link::is_same(proc, roles().client()->self())) {
    const auto names = known->names();
    std::vector<const char*> texts;
    for (const auto& name : names) texts.push_back(name.c_str());
    auto value = data::value_of_array(PMIX_STRING, texts.data(), texts.size());
    return value ? std::move(*value) : data::Value();
  }
  if (key != PMIX_GROUP_CONTEXT_ID && key != PMIX_GROUP_MEMBERSHIP) return {};
  const auto group = known->find(link::nspace_of(proc));
  if (!group) return {};
  if (key == PMIX_GROUP_CONTEXT_ID && group->context_id != 0) return data::Value::of_size(group->context_id);
  if (key != PMIX_GROUP_MEMBERSHIP) return {};
  const auto members = link::procs_of(group->members);
  if (!members) return {};
  auto value = data::value_of_array(PMIX_PROC, members->data(), members->size());
  return value ? std::move(*value) : data::Value();
}

}  // namespace weft::abi
