// SPDX-License-Identifier: BSD-3-Clause
#include "tools/placement/policy.hpp"

#include <fmt/format.h>

namespace weft::placement {

const char* unit_of(const Policy& policy) noexcept {
  return policy.bind == job::BindTo::hwthread ? "hwthread" : "core";
}

Policy choose_policy(const Share& share, const Processors& processors, const job::Mapping& mapping) noexcept {
  Policy policy;
  policy.oversubscribed = share.ranks > processors.cores;
  policy.bind = mapping.bind;
  if (mapping.cores_each != 0 && policy.bind == job::BindTo::automatic) policy.bind = job::BindTo::core;
  if (policy.bind != job::BindTo::none) policy.cores_each = mapping.cores_each;
  policy.may_share_cores = mapping.may_share_cores;
  if (policy.bind == job::BindTo::automatic) {
    policy.reason = policy.oversubscribed       ? Reason::more_than_cores
                    : share.ranks < share.slots ? Reason::slots_left
                    : share.ranks == 1          ? Reason::one_rank
                                                : Reason::equal_parts;
    const bool is_bound = policy.reason == Reason::equal_parts;
    policy.bind = is_bound ? job::BindTo::core : job::BindTo::none;
    policy.parts = is_bound ? share.ranks : 0;
  }
  policy.map = mapping.map;
  if (mapping.map != job::MapBy::automatic) return policy;
  policy.map = job::MapBy::slot;
  if (policy.bind == job::BindTo::l2cache) policy.map = job::MapBy::l2cache;
  if (policy.bind == job::BindTo::l3cache) policy.map = job::MapBy::l3cache;
  if (policy.bind == job::BindTo::numa) policy.map = job::MapBy::numa;
  if (policy.bind == job::BindTo::socket) policy.map = job::MapBy::socket;
  return policy;
}

std::string words_for(const Policy& policy, const Share& share, std::uint32_t cores) {
  const auto counted = [](std::uint32_t number, const char* what) {
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
  };
  const auto ranks = counted(share.ranks, "rank");
  switch (policy.reason) {
    case Reason::asked:
      return policy.cores_each == 0
                 ? "as asked for"
                 : fmt::format("{} for each rank, as asked for", counted(policy.cores_each, unit_of(policy)));
    case Reason::listed:
      return "as the rank file says";
    case Reason::equal_parts:
      return fmt::format("{} of {} fill the slots: equal parts", ranks, counted(cores, "core"));
    case Reason::one_rank:
      return "a single rank has all cores";
    case Reason::slots_left:
      return fmt::format("{} for {}: bound only where all are used", ranks, counted(share.slots, "slot"));
    case Reason::more_than_cores:
      return fmt::format("{} for {}", ranks, counted(cores, "core"));
  }
  return {};
}

}  // namespace weft::placement
