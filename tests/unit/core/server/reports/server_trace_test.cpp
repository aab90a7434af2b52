// SPDX-License-Identifier: BSD-3-Clause
// What a server tells of the calls of its ranks, whatever these have written.
#include "core/server/reports/trace/server_trace.hpp"

#include "base/wire.hpp"
#include "tests/unit/core/server/clients/one_node.hpp"

namespace weft::server {
namespace {

using base::TraceTrack;
using store::TraceCall;
using store::TraceLog;

class ServerTraceTest : public OneNode {
 protected:
  Job& traced_job() {
    data::Infos infos;
    infos.add(PMIX_JOB_SIZE, data::Value::of(std::uint32_t{2}));
    infos.add("weft.trace", data::Value::of(true));
    auto& job = rooms->jobs.announce("traced");
    for (std::uint32_t rank = 0; rank < 2; ++rank) job.clients[rank] = {::getuid(), ::getgid(), nullptr};
    EXPECT_EQ(rooms->register_nspace("traced", 2, infos), PMIX_SUCCESS);
    return *rooms->jobs.find("traced");
  }
  static TraceTrack track(const base::ServerTrace& trace, std::uint32_t rank) {
    for (const auto& each : trace.tracks)
      if (each.rank == rank) return each;
    ADD_FAILURE() << "no track of rank " << rank;
    return {};
  }
};

TEST_F(ServerTraceTest, of_a_job_that_no_launcher_traces_is_empty) {
  EXPECT_EQ(trace_of(job()).read_at, 0u);
  EXPECT_TRUE(trace_of(job()).tracks.empty());
}

TEST_F(ServerTraceTest, has_the_server_and_each_rank) {
  const auto& job = traced_job();
  (void)job.writer->trace_log(1).begin(TraceCall::fence);
  job.writer->trace_log(0).begin(TraceCall::get, 1).end(PMIX_ERR_NOT_FOUND);
  job.trace->log().begin(TraceCall::server_fence, 3, TraceLog::Thread::leaves).end(PMIX_SUCCESS);
  const auto trace = trace_of(job);
  EXPECT_TRUE(is_valid(trace));
  ASSERT_EQ(trace.tracks.size(), 3u);
  const auto server = track(trace, TraceTrack::of_server), zero = track(trace, 0), one = track(trace, 1);
  ASSERT_EQ(server.events.size(), 1u);
  EXPECT_EQ(server.events[0].subject, 3u);
  EXPECT_EQ(server.events[0].thread, 0u);
  ASSERT_EQ(zero.events.size(), 1u);
  EXPECT_EQ(trace.kinds.at(zero.events[0].kind).name, "PMIx_Get");
  EXPECT_EQ(trace.kinds.at(zero.events[0].kind).subject, "rank");
  EXPECT_EQ(zero.events[0].status, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(zero.events[0].thread, 1u);
  ASSERT_EQ(one.events.size(), 1u);
  EXPECT_EQ(one.events[0].ended, 0u);
  EXPECT_LE(one.events[0].begun, trace.read_at);
}

/// As a rank may write it.
struct Written {
  std::uint64_t begun, ended, thread;
  std::uint32_t number, subject;
  std::int32_t status;
  std::uint16_t call, unused;
};
static_assert(sizeof(Written) == sizeof(TraceLog::Record));

TEST_F(ServerTraceTest, leaves_out_what_cannot_be) {
  const auto& job = traced_job();
  const auto log = job.writer->trace_log(0);
  for (int i = 0; i < 5; ++i) (void)log.begin(TraceCall::put);
  auto* const memory = job.view().clients_memory().data() + job.view().header().trace_area.offset;
  auto* const records = reinterpret_cast<Written*>(memory + sizeof(TraceLog::Header));
  const auto now = store::FirstCall::now(), future = now + std::uint64_t{1'000'000'000} * 3600;
  records[0] = {now, now - 1, 1, 0, 0, 0, 1, 0};                  // ends before it begins
  records[1] = {future, 0, 1, 1, 0, 0, 1, 0};                     // is to come
  records[2] = {1, future, 1, 2, 0, 0, 1, 0};                     // ends later
  records[3] = {1, 2, 1, 3, 0, 0, store::trace_names.size(), 0};  // of no kind
  records[4] = {1, 2, 99, 4, 7, -5, static_cast<std::uint16_t>(TraceCall::get), 0};
  const auto told = track(trace_of(job), 0);
  ASSERT_EQ(told.events.size(), 1u);
  EXPECT_EQ(told.events[0].subject, 7u);
  EXPECT_EQ(told.events[0].status, -5);
  EXPECT_EQ(told.left_out, 4u);
}

TEST_F(ServerTraceTest, numbers_threads_in_the_order_of_their_first_calls) {
  const auto& job = traced_job();
  const auto log = job.writer->trace_log(0);
  log.begin(TraceCall::put).end(PMIX_SUCCESS);
  std::thread([&] { log.begin(TraceCall::put).end(PMIX_SUCCESS); }).join();
  log.begin(TraceCall::put).end(PMIX_SUCCESS);
  const auto told = track(trace_of(job), 0);
  ASSERT_EQ(told.events.size(), 3u);
  EXPECT_EQ(told.events[0].thread, 1u);
  EXPECT_EQ(told.events[1].thread, 2u);
  EXPECT_EQ(told.events[2].thread, 1u);
}

TEST_F(ServerTraceTest, is_the_value_of_a_key) {
  traced_job();
  link::Query query;
  query.items.push_back({{trace_key}, {}});
  query.items[0].qualifiers.add(PMIX_NSPACE, data::Value::of("traced"));
  bool is_read = false;
  rooms->queries.query(self, std::move(query), [&](pmix_status_t status, data::Infos results) {
    EXPECT_EQ(status, PMIX_SUCCESS);
    ASSERT_NE(results.find(trace_key), nullptr);
    const auto& value = results.find(trace_key)->value;
    ASSERT_EQ(value.type, PMIX_BYTE_OBJECT);
    const auto trace = base::decode<base::ServerTrace>(
        {reinterpret_cast<const std::byte*>(value.data.bo.bytes), value.data.bo.size});
    is_read = trace && trace->tracks.size() == 3;
  });
  EXPECT_TRUE(is_read);
}

}  // namespace
}  // namespace weft::server
