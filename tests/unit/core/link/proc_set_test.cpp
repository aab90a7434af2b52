// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/proc_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/link/messages.hpp"
#include "core/link/rank_runs.hpp"

namespace weft::link {
namespace {

constexpr std::uint32_t all = PMIX_RANK_WILDCARD;

Procs procs_of(std::initializer_list<std::pair<const char*, std::uint32_t>> names) {
  Procs out;
  for (const auto& [nspace, rank] : names) out.push_back(make_proc(nspace, rank));
  return out;
}

TEST(ProcSet, order_and_repetition_do_not_matter) {
  const auto wanted = procs_of({{"a", 0}, {"a", 2}, {"b", 1}});
  auto spelt = procs_of({{"b", 1}, {"a", 2}, {"a", 0}, {"a", 2}});
  std::sort(spelt.begin(), spelt.end(), [](const auto& x, const auto& y) { return x.rank < y.rank; });
  do EXPECT_TRUE(is_same(canonical(spelt), wanted));
  while (std::next_permutation(spelt.begin(), spelt.end(),
                               [](const auto& x, const auto& y) { return x.rank < y.rank; }));
  EXPECT_TRUE(is_same(canonical(wanted), wanted));
}

TEST(ProcSet, ranks_beside_the_wildcard_of_their_namespace_say_nothing_new) {
  EXPECT_TRUE(is_same(canonical(procs_of({{"a", 3}, {"b", 1}, {"a", all}, {"a", all}, {"b", 0}})),
                      procs_of({{"a", all}, {"b", 0}, {"b", 1}})));
  // A number above the wildcard is no rank, and does not hide it.
  EXPECT_TRUE(is_same(canonical(procs_of({{"a", PMIX_RANK_UNDEF}, {"a", all}})), whole_job("a")));
}

TEST(ProcSet, names_of_full_length_are_told_apart) {
  const std::string name(PMIX_MAX_NSLEN, 'n');
  auto other = name.substr(1);
  other += 'm';
  EXPECT_EQ(canonical(procs_of({{name.c_str(), 0}, {other.c_str(), 0}})).size(), 2u);
  EXPECT_FALSE(is_same(make_proc(name, 0), link::make_proc(other, 0)));
  EXPECT_TRUE(is_same(make_proc(name, 0), link::make_proc(name, 0)));
  EXPECT_FALSE(is_same(make_proc(name, 0), link::make_proc(name, 1)));
}

TEST(ProcSet, a_whole_job_is_one_wildcard) {
  EXPECT_TRUE(is_whole_job(whole_job("a")));
  EXPECT_FALSE(is_whole_job(procs_of({{"a", 0}})));
  EXPECT_FALSE(is_whole_job(procs_of({{"a", all}, {"b", all}})));
  EXPECT_FALSE(is_whole_job({}));
  EXPECT_TRUE(canonical({}).empty());
}

TEST(RankRuns, are_counted_as_they_are_named) {
  EXPECT_EQ(count_of({}), 0u);
  EXPECT_EQ(count_of({{"a", 0, 4}, {"b", 7, 7}}), 6u);
  EXPECT_EQ(count_of({{"a", all, all}}), 1u);
  EXPECT_EQ(count_of({{"a", 0, PMIX_RANK_VALID}}), std::uint64_t{PMIX_RANK_VALID} + 1);
}

}  // namespace
}  // namespace weft::link
