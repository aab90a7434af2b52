// SPDX-License-Identifier: BSD-3-Clause
// What nodes tell, as one document on one clock.
#include "tools/weftrun/launcher/records/job_trace.hpp"

#include <gtest/gtest.h>
#include <pmix_common.h>

#include <filesystem>

namespace weft::weftrun {
namespace {

using base::TraceEvent;
using base::TraceTrack;
using Offset = JobTrace::Offset;

placement::RankTable table_of(const std::string& distribution) {
  return placement::RankTable(placement::decode_distribution(distribution, 100, 100));
}

JobTrace a_trace() {
  return JobTrace((std::filesystem::temp_directory_path() / "job_trace_test").string());
}

TraceEvent event(std::uint64_t begun, std::uint64_t ended, std::uint16_t thread = 1) {
  return {.begun = begun, .ended = ended, .kind = 0, .thread = thread};
}

job::NodeTrace told(std::vector<TraceTrack> tracks) {
  return {.ordered = 100,
          .started = 200,
          .server = {.read_at = 100'000,
                     .kinds = {{"PMIx_Fence", ""}, {"PMIx_Get", "rank"}},
                     .tracks = std::move(tracks)}};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(JobTraceTest, one_node_is_a_document) {
  const auto table = table_of("1;slot@0:1x2");
  auto trace = a_trace();
  auto get = event(4'000, 5'500);
  get.kind = 1;
  get.subject = 7;
  get.status = PMIX_ERR_NOT_FOUND;
  trace.take(
      0,
      told({{TraceTrack::of_server, 0, {}}, {0, 3, {event(3'000, 9'001), get}}, {1, 0, {event(2'000, 0)}}}));
  EXPECT_EQ(
      trace.document({.nspace = "j", .hosts = {"a\"b"}, .table = table, .own = 0}),
      "{\"traceEvents\": [\n"
      R"({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "node 0: a\"b"}},)"
      "\n"
      R"({"ph": "M", "name": "process_sort_index", "pid": 1, "args": {"sort_index": 1}},)"
      "\n"
      R"({"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "server"}},)"
      "\n"
      R"({"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": 2, "args": {"sort_index": 2}},)"
      "\n"
      R"({"ph": "M", "name": "thread_name", "pid": 1, "tid": 3, "args": {"name": "rank 0"}},)"
      "\n"
      R"({"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": 3, "args": {"sort_index": 3}},)"
      "\n"
      R"({"ph": "X", "cat": "pmix", "name": "PMIx_Fence", "pid": 1, "tid": 3, "ts": 1.000, "dur": 6.001, "args": {}},)"
      "\n"
      R"({"ph": "X", "cat": "pmix", "name": "PMIx_Get", "pid": 1, "tid": 3, "ts": 2.000, "dur": 1.500, )"
      R"("args": {"rank": 7, "status": "PMIX_ERR_NOT_FOUND"}},)"
      "\n"
      R"({"ph": "M", "name": "thread_name", "pid": 1, "tid": 4, "args": {"name": "rank 1"}},)"
      "\n"
      R"({"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": 4, "args": {"sort_index": 4}},)"
      "\n"
      R"({"ph": "X", "cat": "pmix", "name": "PMIx_Fence", "pid": 1, "tid": 4, "ts": 0.000, "dur": 98.000, )"
      R"("args": {"unfinished": true}})"
      "\n"
      "],\n\"displayTimeUnit\": \"ns\",\n"
      R"("otherData": {"job": "j", "ranks": 2, "left_out": 3, "nodes": [{"node": 0, "host": "a\"b", )"
      R"("clock_error_us": 0.000, "left_out": 3}], "nodes_without_trace": []})"
      "\n}\n");
}

TEST(JobTraceTest, threads_and_calls_that_overlap_have_tracks) {
  const auto table = table_of("1;slot@0:1x1");
  auto trace = a_trace();
  trace.take(0, told({{0,
                       0,
                       {event(1'000, 9'000), event(2'000, 3'000, 2), event(4'000, 6'000, 0),
                        event(5'000, 7'000, 0)}}}));
  const auto text = trace.document({.nspace = "j", .hosts = {"a"}, .table = table, .own = 0});
  for (const char* name : {"rank 0", "rank 0, thread 2", "rank 0, non-blocking", "rank 0, non-blocking (2)"})
    EXPECT_TRUE(has(text, std::string("{\"name\": \"") + name + "\"}")) << name << " in " << text;
}

TEST(JobTraceTest, what_makes_no_sense_is_left_out) {
  const auto table = table_of("2;slot@0:2x1");
  auto trace = a_trace();
  trace.take(0, told({{0, 0, {event(99, 300), event(300, 100'001), event(500, 400), event(500, 600)}},
                      {1, 0, {event(700, 701)}},     // of the other node
                      {77, 0, {event(800, 801)}},    // of no rank
                      {0, 0, {event(900, 901)}}}));  // once more
  auto late = told({{1, 0, {event(500, 600)}}});
  late.ordered = late.server.read_at + 1;
  trace.take(1, std::move(late));
  const auto text = trace.document({.nspace = "j", .hosts = {"a", "b"}, .table = table, .own = 0});
  EXPECT_TRUE(has(text, R"("left_out": 3, "nodes": [{"node": 0)")) << text;
  EXPECT_TRUE(has(text, R"("nodes_without_trace": ["b"])")) << text;
  EXPECT_TRUE(has(text, R"("ts": 0.000, "dur": 0.100)")) << text;
  EXPECT_EQ(text.find("\"ts\""), text.rfind("\"ts\"")) << "one event is left: " << text;
}

TEST(JobTraceTest, nodes_that_tell_nothing_are_named) {
  const auto table = table_of("3;slot@0:2x1,1x0");
  const auto text = a_trace().document({.nspace = "j", .hosts = {"a", "b", "c"}, .table = table});
  EXPECT_TRUE(has(text, R"("nodes": [], "nodes_without_trace": ["a", "b"])")) << text;
}

TEST(JobTraceTest, a_clock_lies_between_what_two_messages_allow) {
  // The other clock is 1000 ahead; the order took 30, the report 10.
  const auto offset = JobTrace::offset_between(500, 1'530, 1'600, 610);
  EXPECT_EQ(offset.ahead, 1'010u);
  EXPECT_EQ(offset.error, 20u);
  // 1000 behind.
  const auto behind = JobTrace::offset_between(5'000, 4'030, 4'100, 5'110);
  EXPECT_EQ(static_cast<std::int64_t>(behind.ahead), -990);
  EXPECT_EQ(behind.error, 20u);
  const auto one_way = JobTrace::offset_between(500, 1'530, 0, 0);
  EXPECT_EQ(one_way.ahead, 1'030u);
  EXPECT_FALSE(one_way.error);
  EXPECT_FALSE(JobTrace::offset_between(0, 7, 8, 9).error);
}

TEST(JobTraceTest, nodes_of_one_machine_have_one_clock) {
  const auto table = table_of("2;slot@0:2x1");
  auto trace = a_trace();
  trace.order_goes_out();
  trace.node_started(1);
  trace.take(0, told({{0, 0, {event(1'000, 2'000)}}}));
  trace.take(1, told({{1, 0, {event(3'000, 4'000)}}}));
  const auto text = trace.document({.nspace = "j", .hosts = {"a", "b"}, .table = table, .one_machine = true});
  EXPECT_TRUE(has(text, R"("ts": 2.000)")) << text;
  EXPECT_TRUE(has(text, R"("node": 1, "host": "b", "clock_error_us": 0.000)")) << text;
}

}  // namespace
}  // namespace weft::weftrun
