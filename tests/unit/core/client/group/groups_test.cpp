// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/group/groups.hpp"

#include <gtest/gtest.h>

#include "core/client/get/resolve.hpp"
#include "core/link/messages.hpp"

namespace weft::client {
namespace {

using link::make_proc;
using Procs = std::vector<pmix_proc_t>;

/// b:1, a:4, a:5, a:0
const Groups::Group four{{{"b", 1, 1}, {"a", 4, 5}, {"a", 0, 0}}, 9};

Procs native(const Groups& groups, const Procs& procs) {
  Procs out;
  EXPECT_TRUE(groups.append_native(procs, out));
  return out;
}

TEST(Groups, without_any_names_stay_what_they_are) {
  Groups groups;
  EXPECT_TRUE(groups.is_empty());
  const Procs procs{make_proc("ours", 3), make_proc("a", PMIX_RANK_WILDCARD)};
  EXPECT_TRUE(link::is_same(native(groups, procs), procs));
  EXPECT_FALSE(groups.find("ours"));
}

TEST(Groups, a_group_rank_is_a_member_and_the_wildcard_all) {
  Groups groups;
  groups.add("ours", four);
  EXPECT_FALSE(groups.is_empty());
  const Procs members{make_proc("b", 1), make_proc("a", 4), make_proc("a", 5), make_proc("a", 0)};
  EXPECT_TRUE(link::is_same(native(groups, {make_proc("ours", PMIX_RANK_WILDCARD)}), members));
  for (pmix_rank_t rank = 0; rank < 4; ++rank)
    EXPECT_TRUE(link::is_same(native(groups, {make_proc("ours", rank)}), {members[rank]}));
  const auto mixed =
      native(groups, {make_proc("a", 7), make_proc("ours", 1), make_proc("a", PMIX_RANK_WILDCARD)});
  EXPECT_TRUE(
      link::is_same(mixed, {make_proc("a", 7), make_proc("a", 4), make_proc("a", PMIX_RANK_WILDCARD)}));
}

TEST(Groups, there_are_no_more_members_than_there_are) {
  Groups groups;
  groups.add("ours", four);
  for (const pmix_rank_t rank : {pmix_rank_t{4}, pmix_rank_t{1000}, pmix_rank_t{PMIX_RANK_UNDEF}}) {
    Procs out;
    EXPECT_FALSE(groups.append_native(Procs{make_proc("ours", rank)}, out)) << rank;
  }
}

TEST(RankRuns, hold_what_is_between_their_ends) {
  for (const auto& member : {make_proc("b", 1), make_proc("a", 4), make_proc("a", 5), make_proc("a", 0)})
    EXPECT_TRUE(link::holds(four.members, member));
  for (const auto& other :
       {make_proc("b", 0), make_proc("a", 3), make_proc("a", 6), make_proc("aa", 4), make_proc("", 1)})
    EXPECT_FALSE(link::holds(four.members, other));
  EXPECT_FALSE(link::holds({}, make_proc("a", 0)));
}

TEST(Groups, a_name_that_is_removed_or_given_again) {
  Groups groups;
  groups.add("ours", four);
  groups.add("others", {{{"c", 0, 0}}, 0});
  groups.add("ours", {{{"a", 1, 1}}, 3});
  EXPECT_EQ(groups.names(), (std::vector<std::string>{"others", "ours"}));
  EXPECT_EQ(groups.find("ours")->context_id, 3U);
  groups.remove("ours");
  groups.remove("ours");
  EXPECT_FALSE(groups.find("ours"));
  groups.remove("others");
  EXPECT_TRUE(groups.is_empty());
}

TEST(Groups, resolve_to_the_members_of_a_node_and_to_the_nodes_of_members) {
  const PeersOf peers_of = [](std::string_view node, std::string_view nspace, Procs& out) {
    if (node == "one" && nspace == "a") out = {make_proc("a", 0), make_proc("a", 1)};
    if (node == "two" && nspace == "a") out = {make_proc("a", 2), make_proc("a", 3)};
    if (node == "two" && nspace == "b") out = {make_proc("b", 1)};
    return out.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
  };
  const NodesOf nodes_of = [](std::string_view nspace, std::string& out) {
    out = nspace == "a" ? "one,two" : "two,three";
    return PMIX_SUCCESS;
  };
  Procs out;
  EXPECT_EQ(resolve_group_peers(four, "one", peers_of, out), PMIX_SUCCESS);
  EXPECT_TRUE(link::is_same(out, {make_proc("a", 0)}));
  out.clear();
  EXPECT_EQ(resolve_group_peers(four, "two", peers_of, out), PMIX_SUCCESS);
  EXPECT_TRUE(link::is_same(out, {make_proc("b", 1)}));
  out.clear();
  EXPECT_EQ(resolve_group_peers(four, "three", peers_of, out), PMIX_ERR_NOT_FOUND);
  std::string nodes;
  EXPECT_EQ(resolve_group_nodes(four, peers_of, nodes_of, nodes), PMIX_SUCCESS);
  EXPECT_EQ(nodes, "one,two");
}

}  // namespace
}  // namespace weft::client
