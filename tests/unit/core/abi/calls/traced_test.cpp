// SPDX-License-Identifier: BSD-3-Clause
// Which entry points are events of a trace, and what they leave in the log.
#include "core/abi/calls/traced.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "core/abi/calls/guard.hpp"

namespace weft::abi {
namespace {

using store::TraceCall;

// Entry points, as far as guard.hpp sees one.
pmix_status_t PMIx_Fence(pmix_status_t status) {
  return guarded_status([&] { return status; });
}
pmix_status_t PMIx_Commit() {
  return guarded([]() -> Result<void> { return {}; });
}
pmix_status_t PMIx_Publish() {
  return guarded_directives(nullptr, 0, []() -> pmix_status_t { throw std::bad_alloc(); });
}
pmix_status_t PMIx_Data_pack() {
  return guarded_status([] { return PMIX_SUCCESS; });
}

class TracedTest : public ::testing::Test {
 protected:
  ~TracedTest() override { call_log = nullptr; }
  std::vector<store::TraceEvent> events() const { return own.log().events(); }
  store::OwnTraceLog own{16};
};

TEST_F(TracedTest, without_a_log_nothing_is_noted) {
  EXPECT_EQ(PMIx_Fence(PMIX_SUCCESS), PMIX_SUCCESS);
  EXPECT_FALSE(begin_traced(TraceCall::fence_nb));
  EXPECT_TRUE(events().empty());
}

TEST_F(TracedTest, calls_leave_their_name_and_status) {
  call_log = &own.log();
  EXPECT_EQ(PMIx_Fence(PMIX_ERR_TIMEOUT), PMIX_ERR_TIMEOUT);
  EXPECT_EQ(PMIx_Commit(), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Publish(), PMIX_ERR_NOMEM);
  EXPECT_EQ(PMIx_Data_pack(), PMIX_SUCCESS);
  ASSERT_EQ(events().size(), 3u) << "packing is no event";
  EXPECT_EQ(events()[0].call, static_cast<std::uint16_t>(TraceCall::fence));
  EXPECT_EQ(events()[0].status, PMIX_ERR_TIMEOUT);
  EXPECT_EQ(events()[1].call, static_cast<std::uint16_t>(TraceCall::commit));
  EXPECT_EQ(events()[1].status, PMIX_SUCCESS);
  EXPECT_EQ(events()[2].call, static_cast<std::uint16_t>(TraceCall::publish));
  EXPECT_EQ(events()[2].status, PMIX_ERROR) << "a body that throws has no status of its own";
  for (const auto& event : events()) EXPECT_GE(event.ended, event.begun);
}

TEST_F(TracedTest, what_goes_on_behind_a_call_is_on_no_thread) {
  call_log = &own.log();
  const auto entry = begin_traced(TraceCall::fence_nb);
  ASSERT_TRUE(entry);
  EXPECT_EQ(events().at(0).ended, 0u);
  entry.end(PMIX_SUCCESS);
  EXPECT_EQ(events().at(0).thread, 0u);
  EXPECT_NE(events().at(0).ended, 0u);
}

// By the name of the entry point, when it is compiled; not of those that are noted elsewhere.
static_assert(store::guarded_call("PMIx_Fence") == TraceCall::fence);
static_assert(store::guarded_call("PMIx_Get") == TraceCall::none);
static_assert(store::guarded_call("PMIx_Init") == TraceCall::none);
static_assert(store::guarded_call("PMIx_Data_pack") == TraceCall::none);

}  // namespace
}  // namespace weft::abi
