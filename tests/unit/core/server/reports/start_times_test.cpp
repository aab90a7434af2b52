// SPDX-License-Identifier: BSD-3-Clause
// The first calls of a node's ranks in a few numbers, whatever their cells say.
#include "core/server/reports/start/start_times.hpp"

#include "core/data/types/array.hpp"
#include "tests/unit/core/server/clients/one_node.hpp"

namespace weft::server {
namespace {

/// As a rank may have written it.
struct Cell {
  std::uint64_t begun, ended;
  const store::FirstCall& call() const { return reinterpret_cast<const store::FirstCall&>(*this); }
};
static_assert(sizeof(Cell) == sizeof(store::FirstCall));

TEST(FirstCalls, are_from_the_last_that_came_until_the_last_that_left) {
  FirstCalls calls;
  for (const Cell& cell : {Cell{100, 500}, Cell{300, 450}, Cell{200, 520}}) calls.add(cell.call());
  EXPECT_EQ(calls.ranks, 3u);
  EXPECT_EQ(calls.last_begun, 300u);
  EXPECT_EQ(calls.after_last, 220u);
  EXPECT_EQ(calls.longest, 400u);
}

TEST(FirstCalls, that_have_not_ended_or_cannot_be_are_left_out) {
  FirstCalls calls;
  for (const Cell& cell : {Cell{0, 0}, Cell{100, 0}, Cell{0, 7}, Cell{500, 400}}) calls.add(cell.call());
  EXPECT_EQ(calls.ranks, 0u);
  EXPECT_EQ(calls.longest, 0u);
}

class StartTimesTest : public OneNode {};

TEST_F(StartTimesTest, a_job_for_which_no_launcher_asks_has_none) {
  enter(0);
  EXPECT_EQ(job().writer->start_cell(0), nullptr);
  EXPECT_EQ(start_times_of(job()).init.ranks, 0u);
}

TEST_F(StartTimesTest, the_key_has_four_numbers_of_each_kind) {
  enter(0);
  link::Query query;
  query.items.push_back({{start_key}, {}});
  query.items[0].qualifiers.add(PMIX_NSPACE, data::Value::of("job"));
  std::size_t kinds = 0;
  rooms->queries.query(self, std::move(query), [&](pmix_status_t status, data::Infos results) {
    EXPECT_EQ(status, PMIX_SUCCESS);
    ASSERT_NE(results.find(start_key), nullptr);
    for (const auto& one : data::elements_of<pmix_info_t>(results.find(start_key)->value, PMIX_INFO))
      kinds += data::elements_of<std::uint64_t>(one.value, PMIX_UINT64).size() == 4 ? 1 : 0;
  });
  EXPECT_EQ(kinds, 3u);
}

}  // namespace
}  // namespace weft::server
