// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/launch/fabric_plan.hpp"

#include <algorithm>
#include <functional>

#include "core/data/names/directive.hpp"
#include "core/data/node_map.hpp"
#include "core/data/types/value.hpp"

namespace weft::server {
namespace {

constexpr std::size_t least_members = 2;

std::string_view map_of(std::string_view key, const pmix_info_t* infos, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (data::key_of(infos[i]) == key) return data::map_text(infos[i].value);
  return {};
}

}  // namespace

bool FabricPlan::is_wanted(const pmix_info_t* infos, std::size_t count) {
  return data::is_set(infos, count, PMIX_SETUP_APP_NONENVARS) ||
         data::is_set(infos, count, PMIX_SETUP_APP_ALL);
}

Result<std::optional<FabricPlan>> FabricPlan::wanted_by(const pmix_info_t* infos, std::size_t count) {
  const auto node_map = map_of(PMIX_NODE_MAP, infos, count), proc_map = map_of(PMIX_PROC_MAP, infos, count);
  if (!is_wanted(infos, count) || node_map.empty()) return std::nullopt;
  const auto names = data::parse_node_map(node_map);
  if (!names) return fail(Errc::invalid, "PMIX_NODE_MAP");
  std::vector<std::vector<std::uint32_t>> ranks(names->size(), {0});
  if (!proc_map.empty()) {
    auto read = data::parse_proc_map(proc_map);
    if (!read || read->size() != names->size()) return fail(Errc::invalid, "PMIX_PROC_MAP");
    ranks = std::move(*read);
  }
  auto text = data::encode_node_map(*names);
  if (!text) return fail(Errc::invalid, "PMIX_NODE_MAP");
  FabricPlan plan;
  plan.node_map = std::move(*text);
  for (std::size_t node = 0; node < ranks.size(); ++node)
    if (!ranks[node].empty()) plan.members.push_back(static_cast<NodeNumber>(node));
  return plan.members.size() < least_members ? std::nullopt : std::optional(std::move(plan));
}

Result<std::vector<std::string>> FabricPlan::nodes() const {
  return data::parse_node_map(node_map);
}

bool FabricPlan::has_member(NodeNumber node) const noexcept {
  return std::binary_search(members.begin(), members.end(), node);
}

bool is_valid(const FabricPlan& plan) {
  const auto is_ascending = std::adjacent_find(plan.members.begin(), plan.members.end(),
                                               std::greater_equal<>()) == plan.members.end();
  const auto names = plan.nodes();
  return names && is_ascending && plan.members.size() >= least_members && plan.members.back() < names->size();
}

}  // namespace weft::server
