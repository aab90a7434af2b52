// SPDX-License-Identifier: BSD-3-Clause
#include "core/events/range.hpp"

#include <cstring>

#include "recorder.hpp"

namespace weft::events {
namespace {

using test::event_of;
using test::proc;
using test::procs_value;

TEST(Range, covers_compares_namespace_and_rank) {
  EXPECT_TRUE(covers(proc("a", 1), proc("a", 1)));
  EXPECT_FALSE(covers(proc("a", 1), proc("a", 2)));
  EXPECT_FALSE(covers(proc("a", 1), proc("ab", 1)));
  EXPECT_TRUE(covers(proc("a", PMIX_RANK_WILDCARD), proc("a", 7)));
  EXPECT_FALSE(covers(proc("a", PMIX_RANK_WILDCARD), proc("b", 7)));
}

TEST(Range, names_without_a_terminator_stay_in_their_field) {
  pmix_proc_t full{};
  std::memset(full.nspace, 'x', sizeof full.nspace);
  EXPECT_EQ(name_of(full).size(), sizeof full.nspace);
}

TEST(Range, reads_one_process_or_an_array) {
  EXPECT_EQ(procs_in(data::Value::of_proc(proc("a", 4)).get())->at(0).rank, 4U);
  EXPECT_EQ(procs_in(procs_value({proc("a", 1), proc("b", 2)}).get())->size(), 2U);
  EXPECT_FALSE(procs_in(data::Value::of(true).get()));
  pmix_value_t empty{};
  empty.type = PMIX_PROC;
  EXPECT_FALSE(procs_in(empty));
  empty.type = PMIX_DATA_ARRAY;
  EXPECT_FALSE(procs_in(empty));
}

TEST(Range, collects_affected_processes_from_both_keys) {
  Event event = event_of(-1);
  EXPECT_TRUE(affected_by(event).empty());
  event.infos.add(PMIX_EVENT_AFFECTED_PROC, data::Value::of_proc(proc("a", 1)));
  event.infos.add(PMIX_EVENT_AFFECTED_PROCS, procs_value({proc("b", 2), proc("b", 3)}));
  EXPECT_EQ(affected_by(event).size(), 3U);
}

struct Row {
  pmix_data_range_t range;
  bool host, neighbour, stranger;  // the host's daemon; same job and node; other job, node and session
};

TEST(Range, each_target_range_addresses_the_processes_it_names) {
  constexpr Row rows[] = {
      {PMIX_RANGE_UNDEF, true, true, true},      {PMIX_RANGE_RM, true, false, false},
      {PMIX_RANGE_LOCAL, true, true, false},     {PMIX_RANGE_NAMESPACE, false, true, false},
      {PMIX_RANGE_SESSION, true, true, false},   {PMIX_RANGE_GLOBAL, true, true, true},
      {PMIX_RANGE_CUSTOM, false, false, false},  {PMIX_RANGE_PROC_LOCAL, false, false, false},
      {PMIX_RANGE_INVALID, false, false, false},
  };
  for (const auto& row : rows) {
    Event event = event_of(-1, "job", 0);
    event.range = row.range;
    SCOPED_TRACE(static_cast<int>(row.range));
    EXPECT_EQ(is_addressed(event, {proc("host", 0), true, true, true}), row.host);
    EXPECT_EQ(is_addressed(event, {proc("job", 1), true, true, false}), row.neighbour);
    EXPECT_EQ(is_addressed(event, {proc("other", 1), false, false, false}), row.stranger);
  }
}

TEST(Range, custom_range_narrows_any_range) {
  Event event = event_of(-1, "job", 0);
  event.infos.add(PMIX_EVENT_CUSTOM_RANGE, procs_value({proc("job", 2), proc("x", PMIX_RANK_WILDCARD)}));
  for (const auto range : {PMIX_RANGE_CUSTOM, PMIX_RANGE_GLOBAL, PMIX_RANGE_UNDEF}) {
    event.range = static_cast<pmix_data_range_t>(range);
    EXPECT_TRUE(is_addressed(event, {proc("job", 2), true, true, false}));
    EXPECT_TRUE(is_addressed(event, {proc("x", 9), true, true, false}));
    EXPECT_FALSE(is_addressed(event, {proc("job", 3), true, true, false}));
  }
  Event unreadable = event_of(-1);
  unreadable.infos.add(PMIX_EVENT_CUSTOM_RANGE, data::Value::of(true));
  EXPECT_FALSE(in_custom_range(unreadable, proc("job", 0)));
}

TEST(Range, source_ranges_look_at_the_source) {
  const Identity me{proc("job", 1), [](const pmix_proc_t& p) { return p.rank < 4; }};
  const auto wanted = [&](pmix_data_range_t range, const pmix_proc_t& source) {
    const std::vector custom{proc("special", 1)};
    return is_source_wanted(range, custom, source, me);
  };
  EXPECT_TRUE(wanted(PMIX_RANGE_UNDEF, proc("any", 9)));
  EXPECT_TRUE(wanted(PMIX_RANGE_GLOBAL, proc("any", 9)));
  EXPECT_TRUE(wanted(PMIX_RANGE_RM, proc("", PMIX_RANK_UNDEF)));
  EXPECT_FALSE(wanted(PMIX_RANGE_RM, proc("job", 0)));
  EXPECT_TRUE(wanted(PMIX_RANGE_LOCAL, proc("any", 3)));
  EXPECT_FALSE(wanted(PMIX_RANGE_LOCAL, proc("any", 4)));
  EXPECT_TRUE(wanted(PMIX_RANGE_NAMESPACE, proc("job", 9)));
  EXPECT_FALSE(wanted(PMIX_RANGE_NAMESPACE, proc("job2", 9)));
  EXPECT_TRUE(wanted(PMIX_RANGE_PROC_LOCAL, proc("job", 1)));
  EXPECT_FALSE(wanted(PMIX_RANGE_PROC_LOCAL, proc("job", 2)));
  EXPECT_TRUE(wanted(PMIX_RANGE_CUSTOM, proc("special", 1)));
  EXPECT_FALSE(wanted(PMIX_RANGE_CUSTOM, proc("special", 2)));
}

}  // namespace
}  // namespace weft::events
