// SPDX-License-Identifier: BSD-3-Clause
// In which call each process of a server is, as an observer reads it.
#include "core/server/reports/calls.hpp"

#include "core/data/types/array.hpp"
#include "tests/unit/core/server/clients/one_node.hpp"

namespace weft::server {
namespace {

class CallsTest : public OneNode {
 protected:
  RankCall of(std::uint32_t rank) {
    for (const auto& row : rooms->calls.here(job()))
      if (row.rank == rank) return row;
    return {};
  }
  void get(const Line& from, std::uint64_t tag, const pmix_proc_t& whose, const char* key) {
    rooms->requests.dispatch(from.connection,
                             {link::MessageType::get, tag, link::encode(link::Get{whose, key, {}})});
  }
  void fence(const Line& from, std::uint64_t tag, Procs procs) {
    link::Fence message;
    message.procs = std::move(procs);
    rooms->requests.dispatch(from.connection, {link::MessageType::fence, tag, link::encode(message)});
  }
};

TEST_F(CallsTest, a_get_is_told_with_its_key_and_rank) {
  auto& line = enter(0);
  EXPECT_EQ(of(0).call, "");
  EXPECT_EQ(of(0).last, "");
  get(line, 5, proc(1), "is.never.put");
  EXPECT_EQ(of(0).call, "PMIx_Get of is.never.put of rank 1");
  EXPECT_EQ(of(1).call, "") << "its process has not come";
  get(line, 6, proc(2), "nor.this");
  EXPECT_NE(of(0).call.find("; PMIx_Get of "), std::string::npos) << of(0).call;
}

TEST_F(CallsTest, what_was_answered_is_the_last_call) {
  auto& line = enter(0);
  get(line, 5, proc(1), PMIX_JOB_SIZE);
  ASSERT_TRUE(line.read()) << "the answer";
  EXPECT_EQ(of(0).call, "");
  EXPECT_EQ(of(0).last, "PMIx_Get");
}

TEST_F(CallsTest, a_fence_is_told_once_whether_it_came_by_message_or_not) {
  auto& line = enter(0);
  enter(1);
  fence(line, 5, {link::make_proc("job", PMIX_RANK_WILDCARD)});
  EXPECT_EQ(of(0).call, "PMIx_Fence of all ranks");
  EXPECT_EQ(of(1).call, "");
  fence(line, 6, {proc(0), proc(1)});
  EXPECT_EQ(of(0).call, "PMIx_Fence of all ranks; PMIx_Fence of ranks 0-1");
}

TEST_F(CallsTest, the_key_is_answered_for_the_namespace_that_is_named) {
  auto& line = enter(1);
  get(line, 5, proc(0), "k");
  link::Query query;
  query.items.push_back({{calls_key}, {}});
  query.items[0].qualifiers.add(PMIX_NSPACE, data::Value::of("job"));
  std::size_t rows = 0;
  std::string call;
  rooms->queries.query(self, std::move(query), [&](pmix_status_t status, data::Infos results) {
    EXPECT_EQ(status, PMIX_SUCCESS);
    ASSERT_NE(results.find(calls_key), nullptr);
    for (const auto& one : data::elements_of<pmix_info_t>(results.find(calls_key)->value, PMIX_INFO)) {
      ++rows;
      for (const auto& info : data::elements_of<pmix_info_t>(one.value, PMIX_INFO))
        if (data::key_of(info) == "weft.function") call += info.value.data.string;
    }
  });
  EXPECT_EQ(rows, 3u);
  EXPECT_EQ(call, "PMIx_Get of k of rank 0");
}

TEST_F(CallsTest, a_process_that_has_finalized_is_in_no_call) {
  auto& line = enter(0);
  line.write(link::MessageType::finalize, 3, {});
  for (const auto& frame : frames) rooms->requests.dispatch(line.connection, frame);
  EXPECT_EQ(of(0).state, store::Local::finalized);
  EXPECT_EQ(of(0).call, "");
}

}  // namespace
}  // namespace weft::server
