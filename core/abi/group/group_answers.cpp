// SPDX-License-Identifier: BSD-3-Clause
#include "core/abi/group/group_answers.hpp"

#include "core/data/types/array.hpp"

namespace weft::abi {
namespace {

bool is_made(pmix_status_t status) noexcept {
  return status == PMIX_SUCCESS || status == PMIX_ERR_PARTIAL_SUCCESS;
}

}  // namespace

pmix_status_t copy_group_name(const char* group, std::string& out) {
  if (group == nullptr) return PMIX_ERR_BAD_PARAM;
  const auto name = text_of(group, PMIX_MAX_NSLEN + 1);
  if (name.empty() || name.size() > PMIX_MAX_NSLEN) return PMIX_ERR_BAD_PARAM;
  out = name;
  return PMIX_SUCCESS;
}

Result<data::Value> array_of(const link::RankRuns& members) {
  const auto procs = link::procs_of(members);
  if (!procs) return fail(procs.error());
  return data::value_of_array(PMIX_PROC, procs->data(), procs->size());
}

/// Adds the members to what the caller gets; and the name, where the call is of an invitation: programs read
/// it as in the events of one.
void take_group(const Membership& asked, link::Answer& answer) {
  auto* client = roles().client();
  const auto& value = answer.value.get();
  if (!is_made(answer.status) || client == nullptr || value.type != PMIX_BYTE_OBJECT) return;
  const auto* bytes = reinterpret_cast<const std::byte*>(value.data.bo.bytes);
  const auto members = link::decode<link::GroupMembers>({bytes, value.data.bo.size});
  const bool is_some = members && !members->runs.empty();
  auto array = is_some ? array_of(members->runs) : fail(Errc::corrupt);
  if (!array) {
    answer.status = PMIX_ERR_UNPACK_FAILURE;
    return;
  }
  const auto* context = answer.infos.find(PMIX_GROUP_CONTEXT_ID);
  const auto id = context == nullptr ? fail(Errc::not_found) : data::as_unsigned(context->value);
  client->groups().add(asked.group, {members->runs, id ? *id : 0, members->fences_by_host != 0});
  if (!asked.procs.empty()) client->group_meetings().take_seat(asked.procs, *members);
  if (answer.infos.find(PMIX_GROUP_MEMBERSHIP) == nullptr)
    answer.infos.add(PMIX_GROUP_MEMBERSHIP, std::move(*array));
  if (!asked.is_construct) answer.infos.add(PMIX_GROUP_ID, data::Value::of(asked.group));
}

pmix_status_t hand_over_group(link::Answer answer, pmix_info_t** results, std::size_t* nresults) {
  if (!is_made(answer.status)) return answer.status;
  const auto status = hand_over(std::move(answer.infos), results, nresults);
  return status == PMIX_SUCCESS ? answer.status : status;
}

void forget_group(const std::string& name, pmix_status_t status) {
  auto* client = roles().client();
  if (status == PMIX_SUCCESS && client != nullptr) client->groups().remove(name);
}

}  // namespace weft::abi
