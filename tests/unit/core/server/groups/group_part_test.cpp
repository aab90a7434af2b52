// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/table/group_part.hpp"

#include <gtest/gtest.h>

#include "core/server/groups/open/operation.hpp"
#include "core/store/cards/blob.hpp"

namespace weft::server {
namespace {

using link::RankRuns;

const RankRuns members{{"a", 0, 3}, {"b", 1, 1}};

TEST(GroupPart, without_an_order_members_are_as_they_are_named) {
  const auto out = outcome_of({{}, {}}, members);
  EXPECT_EQ(out.status, PMIX_SUCCESS);
  EXPECT_EQ(out.members, members);
  EXPECT_EQ(out.context_id, 0U);
  EXPECT_FALSE(out.options.tells_ends);
}

TEST(GroupPart, the_first_member_says_the_order) {
  const RankRuns wanted{{"b", 1, 1}, {"a", 2, 3}, {"a", 0, 1}};
  const GroupPart first{.first = {"a", 1, 1}, .order = wanted, .absent = {}, .options = {}, .data = {}};
  const GroupPart later{.first = {"a", 2, 2},
                        .order = {{"a", 3, 3}, {"a", 0, 2}, {"b", 1, 1}},
                        .absent = {},
                        .options = {},
                        .data = {}};
  const GroupPart none{.first = {}, .order = {{"x", 0, 0}}, .absent = {}, .options = {}, .data = {}};
  for (const auto& parts : {std::vector{first, later, none}, std::vector{none, later, first}})
    EXPECT_EQ(outcome_of(parts, members).members, wanted);
  const GroupPart plain{.first = {"a", 0, 0}, .order = {}, .absent = {}, .options = {}, .data = {}};
  EXPECT_EQ(outcome_of({first, plain}, members).members, members);
}

TEST(GroupPart, an_order_of_others_is_an_error) {
  for (const RankRuns& order :
       {RankRuns{{"a", 0, 3}}, RankRuns{{"a", 0, 3}, {"b", 2, 2}},
        RankRuns{{"a", 0, 0xfffffff0}, {"b", 1, 1}}, RankRuns{{"a", 3, 0}, {"b", 1, 1}}})
    EXPECT_EQ(
        outcome_of({{.first = {"a", 0, 0}, .order = order, .absent = {}, .options = {}, .data = {}}}, members)
            .status,
        PMIX_ERR_BAD_PARAM);
}

TEST(GroupPart, absent_members_are_left_out) {
  const GroupPart one{.first = {"a", 0, 0},
                      .order = {{"b", 1, 1}, {"a", 0, 3}},
                      .absent = {{"a", 1, 1}},
                      .options = {},
                      .data = {}};
  const GroupPart other{.first = {}, .order = {}, .absent = {{"a", 2, 3}}, .options = {}, .data = {}};
  const auto out = outcome_of({one, other}, members);
  EXPECT_EQ(out.status, PMIX_ERR_PARTIAL_SUCCESS);
  EXPECT_EQ(out.members, (RankRuns{{"b", 1, 1}, {"a", 0, 0}}));
  const GroupPart all{.first = {}, .order = {}, .absent = members, .options = {}, .data = {}};
  EXPECT_EQ(outcome_of({all}, members).status, PMIX_ERR_PROC_ABORTED);
}

TEST(GroupPart, the_first_node_that_offers_a_context_is_taken) {
  EXPECT_EQ(outcome_of({{},
                        {.first = {}, .order = {}, .absent = {}, .context_id = 5, .options = {}, .data = {}},
                        {.first = {}, .order = {}, .absent = {}, .context_id = 9, .options = {}, .data = {}}},
                       members)
                .context_id,
            5U);
}

TEST(GroupPart, what_one_node_wants_of_the_group_holds_for_all) {
  const GroupPart one{.first = {}, .order = {}, .absent = {}, .options = {.tells_ends = true}, .data = {}};
  const GroupPart other{.first = {},
                        .order = {},
                        .absent = {},
                        .options = {.adjusts = true, .approves_ends = true},
                        .data = {}};
  const auto options = outcome_of({one, other}, members).options;
  EXPECT_TRUE(options.tells_ends && options.adjusts && options.approves_ends);
  EXPECT_FALSE(options.tells_joins);
}

TEST(GroupPart, comes_back_from_its_blob) {
  const GroupPart part{.first = {"a", 1, 1},
                       .order = members,
                       .absent = {{"a", 2, 2}},
                       .context_id = 77,
                       .options = {.tells_joins = true},
                       .data = {{"a", 1, {std::byte{1}, std::byte{2}}}}};
  const auto blob = blob_of(part);
  int seen = 0;
  ASSERT_TRUE(store::read_blobs(blob, [&](store::BlobKind kind, Bytes body) {
    ASSERT_EQ(kind, store::BlobKind::group);
    const auto again = base::decode<GroupPart>(body);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->order, part.order);
    EXPECT_EQ(again->absent, part.absent);
    EXPECT_EQ(again->first, part.first);
    EXPECT_EQ(again->context_id, 77U);
    EXPECT_EQ(again->data.at(0).infos, part.data[0].infos);
    for (std::size_t length = 0; length < body.size(); ++length)
      EXPECT_FALSE(base::decode<GroupPart>(body.first(length)));
    ++seen;
  }));
  EXPECT_EQ(seen, 1);
}

TEST(OperationName, people_read_its_kind_and_its_group) {
  using Kind = OperationName::Kind;
  EXPECT_EQ(to_text({Kind::construct, "ours"}), "construct of group ours");
  EXPECT_EQ(to_text({Kind::group_fence, "ours"}), "fence of group ours");
  EXPECT_EQ(to_text({Kind::connect, {}}), "connect");
  EXPECT_EQ(to_text(OperationName{}), "") << "a fence is known by its set";
}

TEST(OperationName, participants_meet_for_some_kinds) {
  using Kind = OperationName::Kind;
  for (const auto kind :
       {Kind::connect, Kind::disconnect, Kind::construct, Kind::destruct, Kind::group_fence})
    EXPECT_TRUE(is_met_for(kind)) << static_cast<int>(kind);
  for (const auto kind : {Kind::fence, Kind::invitation, Kind::leave, Kind::join, Kind::bootstrap})
    EXPECT_FALSE(is_met_for(kind)) << static_cast<int>(kind);
}

TEST(OperationName, one_that_is_none_is_refused) {
  const auto is_read = [](const OperationName& name) {
    return base::decode<FenceName>(base::encode(FenceName{{{"job", 0, 1}}, 1, name})).has_value();
  };
  EXPECT_TRUE(is_read({}));
  EXPECT_TRUE(is_read({OperationName::Kind::bootstrap, "g"}));
  EXPECT_TRUE(is_read({OperationName::Kind::lookup, "key"}));
  EXPECT_FALSE(is_read({OperationName::Kind::construct, ""})) << "of no group";
  EXPECT_FALSE(is_read({OperationName::Kind::fence, "g"}));
  EXPECT_FALSE(is_read({static_cast<OperationName::Kind>(11), "g"}));
}

}  // namespace
}  // namespace weft::server
