// SPDX-License-Identifier: BSD-3-Clause
// Which handlers an event visits, and in which order.
#include <deque>

#include "recorder.hpp"

namespace weft::events {
namespace {

using test::event_of;
using test::flag;
using test::Log;
using test::proc;
using test::procs_value;
using test::Recorder;
using test::text;

constexpr pmix_status_t code = -5001, other_code = -5002;

class Order : public testing::Test {
 protected:
  void SetUp() override { Recorder::take_log(); }
  void one(const char* name, data::Infos infos = {}) { add(name, {code}, std::move(infos)); }
  void several(const char* name, data::Infos infos = {}) { add(name, {other_code, code}, std::move(infos)); }
  void any(const char* name, data::Infos infos = {}) { add(name, {}, std::move(infos)); }
  std::size_t add(const char* name, std::vector<pmix_status_t> codes, data::Infos infos = {}) {
    return handlers_.emplace_back(name).add_active(registry_, std::move(codes), std::move(infos));
  }
  Errc refused(std::vector<pmix_status_t> codes, data::Infos infos) {
    const auto id = handlers_.emplace_back("refused").add(registry_, std::move(codes), std::move(infos));
    EXPECT_FALSE(id);
    return id ? Errc::os : id.error().code;
  }
  Log visit(Event event = event_of(code)) {
    Recorder::take_log();  // of handlers that were registered after an event
    registry_.deliver(std::move(event));
    return Recorder::take_log();
  }

  std::deque<Recorder> handlers_;  // declared first: outlives the registry
  Registry registry_{Identity{proc("job", 0), nullptr}};
};

TEST_F(Order, specific_handlers_come_first) {
  any("any");
  several("several");
  one("one");
  EXPECT_EQ(visit(), (Log{"one", "several", "any"}));
  EXPECT_EQ(visit(event_of(other_code)), (Log{"several", "any"}));
  EXPECT_EQ(visit(event_of(-7)), (Log{"any"}));
}

TEST_F(Order, latest_first_unless_appended) {
  one("a");
  one("b");
  one("c", flag(PMIX_EVENT_HDLR_APPEND));
  one("d", flag(PMIX_EVENT_HDLR_PREPEND));
  EXPECT_EQ(visit(), (Log{"d", "b", "a", "c"}));
}

TEST_F(Order, directive_of_undefined_type_means_true) {
  one("a");
  data::Infos untyped;
  untyped.add(PMIX_EVENT_HDLR_APPEND, data::Value());
  one("b", std::move(untyped));
  data::Infos off;
  off.add(PMIX_EVENT_HDLR_APPEND, data::Value::of(false));
  one("c", std::move(off));
  EXPECT_EQ(visit(), (Log{"c", "a", "b"}));
}

TEST_F(Order, first_and_last_stand_outside_the_categories) {
  any("first", flag(PMIX_EVENT_HDLR_FIRST));
  one("last", flag(PMIX_EVENT_HDLR_LAST));
  one("one");
  any("any");
  EXPECT_EQ(visit(), (Log{"first", "one", "any", "last"}));
  EXPECT_EQ(visit(event_of(-7)), (Log{"first", "any"}));
}

TEST_F(Order, there_is_one_first_and_one_last_until_they_go) {
  const auto first = add("first", {code}, flag(PMIX_EVENT_HDLR_FIRST));
  const auto last = add("last", {code}, flag(PMIX_EVENT_HDLR_LAST));
  EXPECT_EQ(refused({}, flag(PMIX_EVENT_HDLR_FIRST)), Errc::no_space);
  EXPECT_EQ(refused({}, flag(PMIX_EVENT_HDLR_LAST)), Errc::no_space);
  EXPECT_TRUE(registry_.remove(first));
  EXPECT_TRUE(registry_.remove(last));
  one("first2", flag(PMIX_EVENT_HDLR_FIRST));
  one("last2", flag(PMIX_EVENT_HDLR_LAST));
  EXPECT_EQ(visit(), (Log{"first2", "last2"}));
}

TEST_F(Order, edges_of_a_category_hold) {
  one("front", flag(PMIX_EVENT_HDLR_FIRST_IN_CATEGORY));
  one("back", flag(PMIX_EVENT_HDLR_LAST_IN_CATEGORY));
  one("a");
  one("b", flag(PMIX_EVENT_HDLR_APPEND));
  several("several", flag(PMIX_EVENT_HDLR_FIRST_IN_CATEGORY));
  one("bold", text(PMIX_EVENT_HDLR_BEFORE, "front"));
  one("late", text(PMIX_EVENT_HDLR_AFTER, "back"));
  EXPECT_EQ(visit(), (Log{"front", "late", "bold", "a", "b", "back", "several"}));
  EXPECT_EQ(refused({code}, flag(PMIX_EVENT_HDLR_FIRST_IN_CATEGORY)), Errc::no_space);
  EXPECT_EQ(refused({code}, flag(PMIX_EVENT_HDLR_LAST_IN_CATEGORY)), Errc::no_space);
}

TEST_F(Order, neighbours_are_honoured_when_both_are_there) {
  // Without the directives: late, target, early.
  one("early", text(PMIX_EVENT_HDLR_BEFORE, "target"));  // the target comes later
  one("target");
  one("late", text(PMIX_EVENT_HDLR_AFTER, "target"));
  one("newest");
  EXPECT_EQ(visit(), (Log{"newest", "early", "target", "late"}));
  one("nobody", text(PMIX_EVENT_HDLR_AFTER, "absent"));
  EXPECT_EQ(visit(), (Log{"nobody", "newest", "early", "target", "late"}));
}

TEST_F(Order, chains_of_neighbours_and_circles_end) {
  one("a");
  one("c", text(PMIX_EVENT_HDLR_AFTER, "b"));
  one("b", text(PMIX_EVENT_HDLR_AFTER, "a"));
  EXPECT_EQ(visit(), (Log{"a", "b", "c"}));
  one("x", text(PMIX_EVENT_HDLR_BEFORE, "y"));
  one("y", text(PMIX_EVENT_HDLR_BEFORE, "x"));
  EXPECT_EQ(visit().size(), 5U);
}

TEST_F(Order, non_default_events_skip_default_handlers) {
  any("any");
  one("one");
  Event event = event_of(code);
  event.infos = flag(PMIX_EVENT_NON_DEFAULT);
  EXPECT_EQ(visit(std::move(event)), (Log{"one"}));
}

TEST_F(Order, affected_processes_filter) {
  data::Infos wants;
  wants.add(PMIX_EVENT_AFFECTED_PROCS, procs_value({proc("job", 1), proc("else", PMIX_RANK_WILDCARD)}));
  one("some", std::move(wants));
  one("all");
  EXPECT_EQ(visit(), (Log{"all"})) << "an event that names no process affects none of them";
  for (const auto& [affected, hit] :
       {std::pair(proc("job", 1), true), {proc("job", 2), false}, {proc("else", 5), true}}) {
    Event event = event_of(code);
    event.infos.add(PMIX_EVENT_AFFECTED_PROC, data::Value::of_proc(affected));
    EXPECT_EQ(visit(std::move(event)), hit ? (Log{"all", "some"}) : (Log{"all"}));
  }
}

TEST_F(Order, source_ranges_filter) {
  data::Infos own_job, listed;
  data::Value range;
  range.get().type = PMIX_DATA_RANGE;
  range.get().data.range = PMIX_RANGE_NAMESPACE;
  own_job.add(PMIX_RANGE, std::move(range));
  listed.add(PMIX_EVENT_CUSTOM_RANGE, procs_value({proc("far", 3)}));
  one("own", std::move(own_job));
  one("listed", std::move(listed));
  EXPECT_EQ(visit(event_of(code, "job", 9)), (Log{"own"}));
  EXPECT_EQ(visit(event_of(code, "far", 3)), (Log{"listed"}));
  EXPECT_EQ(visit(event_of(code, "far", 4)), (Log{}));
}

TEST_F(Order, events_for_others_are_not_delivered) {
  one("one");
  Event event = event_of(code);
  event.infos.add(PMIX_EVENT_CUSTOM_RANGE, procs_value({proc("job", 7)}));
  EXPECT_EQ(visit(std::move(event)), (Log{}));
  EXPECT_EQ(registry_.counters().cached, 0U);
}

TEST_F(Order, contradictory_directives_are_refused) {
  auto both = flag(PMIX_EVENT_HDLR_FIRST);
  both.add(PMIX_EVENT_HDLR_LAST, data::Value::of(true));
  EXPECT_EQ(refused({code}, std::move(both)), Errc::invalid);
  auto neighbour = text(PMIX_EVENT_HDLR_BEFORE, "a");
  neighbour.add(PMIX_EVENT_HDLR_FIRST, data::Value::of(true));
  EXPECT_EQ(refused({code}, std::move(neighbour)), Errc::invalid);
  EXPECT_EQ(refused({code}, flag(PMIX_EVENT_HDLR_BEFORE)), Errc::invalid) << "a name is a string";
  EXPECT_EQ(refused({code}, flag(PMIX_EVENT_AFFECTED_PROC)), Errc::invalid);
  EXPECT_EQ(refused({code}, text(PMIX_RANGE, "everywhere")), Errc::invalid);
  data::Infos required;
  required.add("no.such.key", data::Value::of(true), PMIX_INFO_REQD);
  EXPECT_EQ(refused({code}, std::move(required)), Errc::not_supported);
  one("ignores", flag("no.such.key"));
  EXPECT_EQ(registry_.add({}, {}, nullptr).error().code, Errc::invalid);
  EXPECT_EQ(registry_.counters().handlers, 1U);
}

}  // namespace
}  // namespace weft::events
