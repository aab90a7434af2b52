// SPDX-License-Identifier: BSD-3-Clause
// What a node says of a group that is being constructed, and what all nodes make of the same parts; what
// members give. Pure functions.
//
// Order     The group rank of a process is its place in the array of the member that comes first by namespace
//           and rank. Others may have named the members in another order, or a job by PMIX_RANK_WILDCARD.
// Context   Each node offers an identifier where a member of it wants one. The first node's that offers any
//           is taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/data/names/directive.hpp"
#include "core/data/types/value.hpp"
#include "core/link/rank_runs.hpp"
#include "core/server/groups/table/group_table.hpp"
#include "core/server/types.hpp"
#include "pmix_common.h"
#include "transport/mesh/node.hpp"

namespace weft::server {

/// What a member gave for the others: PMIX_GROUP_INFO and the like.
struct MemberData {
  std::string nspace;
  std::uint32_t rank = 0;
  std::vector<std::byte> infos;  ///< as data::encode_infos
};
template <class Archive>
void fields(Archive& archive, MemberData& m) {
  archive(m.nspace, m.rank, m.infos);
}

/// Nothing: it gave nothing. Errors: what it gave cannot travel.
Result<std::optional<MemberData>> data_of(const pmix_proc_t& member, const data::Infos& directives);
GroupOptions options_in(const data::Infos& directives);

/// A group as its members' servers get it, from the server that has made it, or changes it.
struct MadeGroup {
  static constexpr std::uint16_t wire_version = 2;
  std::string name;
  Group group;
  std::vector<MemberData> data;
};
template <class Archive>
void fields(Archive& archive, MadeGroup& m) {
  archive(m.name, m.group, m.data);
}

struct GroupPart {
  static constexpr std::uint16_t wire_version = 3;
  link::RankRun first{};         ///< the first member of that node that has come; of an empty namespace: none
  link::RankRuns order{};        ///< the members as it named them; empty: by namespace and rank
  link::RankRuns absent{};       ///< members of that node that are left out
  std::uint64_t context_id = 0;  ///< 0: no member of that node wants one
  std::uint64_t series = 0;      ///< for its collectives: that of the first part is taken
  GroupOptions options{};        ///< of the members of that node
  std::vector<MemberData> data{};
};
template <class Archive>
void fields(Archive& archive, GroupPart& m) {
  archive(m.first, m.order, m.absent, m.context_id, m.series, m.options, m.data);
}

/// As a blob that travels beside the cards (core/store/cards/blob.hpp).
Blob blob_of(const GroupPart& part);

/// What all nodes make of the parts. status: PMIX_SUCCESS; PMIX_ERR_PARTIAL_SUCCESS: members are left out;
/// PMIX_ERR_BAD_PARAM: the order names others than the members; PMIX_ERR_PROC_ABORTED: none is left.
struct GroupOutcome {
  pmix_status_t status = PMIX_SUCCESS;
  link::RankRuns members;  ///< by group rank
  std::uint64_t context_id = 0;
  std::uint64_t series = 0;
  GroupOptions options;
};
/// parts: of all nodes, in the order of their numbers. members: canonical, each by its rank.
GroupOutcome outcome_of(const std::vector<GroupPart>& parts, const link::RankRuns& members);

}  // namespace weft::server
