// SPDX-License-Identifier: BSD-3-Clause
// What members tell for the host: the value that counts, and when it is forgotten. And the count of members
// that are turned away.
#include "core/server/fences/fence_directives.hpp"

#include <gtest/gtest.h>

#include "core/server/fences/absences.hpp"

namespace weft::server {
namespace {

data::Infos infos(std::initializer_list<std::pair<const char*, const char*>> of,
                  pmix_info_directives_t flags = 0) {
  data::Infos out;
  for (const auto& [key, value] : of) out.add(key, data::Value::of(value), flags);
  return out;
}

std::string told(FenceDirectives& directives, store::Generation generation) {
  data::Infos out;
  directives.move_to(out, generation);
  std::string text;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto& info = out.data()[i];
    text += std::string(info.key) + "=" + info.value.data.string +
            ((info.flags & PMIX_INFO_REQD) != 0 ? "! " : " ");
  }
  return text;
}

TEST(FenceDirectives, the_first_member_counts_and_a_required_word_before_all) {
  FenceDirectives directives;
  directives.add(2, 5, infos({{"way", "c"}, {"last", "c"}}));
  directives.add(1, 5, infos({{"way", "b"}}, PMIX_INFO_REQD));
  directives.add(0, 5, infos({{"way", "a"}, {"hint", "a"}}));
  EXPECT_EQ(told(directives, 5), "way=b! hint=a last=c ");
  EXPECT_EQ(told(directives, 5), "");  // moved out
}

TEST(FenceDirectives, of_one_member_leave_those_of_others) {
  FenceDirectives directives;
  directives.add(0, 5, infos({{"hint", "a"}}));
  directives.add(1, 5, infos({{"hint", "b"}}));
  data::Infos out;
  directives.move_to(out, 5, 1);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_STREQ(out.data()[0].value.data.string, "b");
  EXPECT_FALSE(directives.has(1, 5));
  EXPECT_EQ(told(directives, 5), "hint=a ");
}

TEST(FenceDirectives, what_the_library_says_itself_is_left_out) {
  FenceDirectives directives;
  directives.add(0, 1, infos({{PMIX_COLLECT_DATA, "1"}, {PMIX_LOCAL_COLLECTIVE_STATUS, "0"}, {"hint", "a"}}));
  EXPECT_EQ(told(directives, 1), "hint=a ");
}

TEST(FenceDirectives, generations_and_members_do_not_mix) {
  FenceDirectives directives;
  for (const store::Generation generation : {0xffffffffU, 0U, 1U})
    for (const std::uint32_t member : {0U, 1U}) directives.add(member, generation, infos({{"hint", "a"}}));
  directives.forget_before(0);  // generations wrap
  EXPECT_FALSE(directives.has(0, 0xffffffff));
  EXPECT_TRUE(directives.has(0, 0) && directives.has(1, 0));
  directives.forget(1);
  EXPECT_TRUE(directives.has(0, 0) && directives.has(0, 1));
  EXPECT_FALSE(directives.has(1, 0) || directives.has(1, 1));
}

TEST(Absences, members_are_turned_away_together_from_one_fence_after_the_other) {
  Absences absences;
  EXPECT_TRUE(absences.add(0));
  EXPECT_FALSE(absences.add(1));
  EXPECT_TRUE(absences.add(1));  // its second fence, before the other's
  EXPECT_FALSE(absences.add(0));
  EXPECT_TRUE(absences.add(0));
  absences.clear();
  EXPECT_TRUE(absences.add(1));
  EXPECT_FALSE(absences.add(0));
}

}  // namespace
}  // namespace weft::server
