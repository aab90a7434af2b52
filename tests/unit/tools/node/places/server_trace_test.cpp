// SPDX-License-Identifier: BSD-3-Clause
// What a server says of its ranks' calls, as its host reads it.
#include "tools/node/places/server_trace.hpp"

#include <gtest/gtest.h>
#include <pmix.h>

#include "base/wire.hpp"

namespace weft::node {
namespace {

base::ServerTrace a_trace() {
  return {.read_at = 9,
          .kinds = {{"PMIx_Get", "rank"}},
          .tracks = {{3, 1, {{.begun = 4, .ended = 5, .subject = 7, .status = -1, .kind = 0, .thread = 1}}}}};
}

pmix_value_t value_of(std::vector<std::byte>& bytes) {
  pmix_value_t value{};
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo = {reinterpret_cast<char*>(bytes.data()), bytes.size()};
  return value;
}

TEST(ServerTrace, is_read_as_it_was_said) {
  auto bytes = base::encode(a_trace());
  const auto read = trace_in(value_of(bytes));
  EXPECT_EQ(read.read_at, 9u);
  ASSERT_EQ(read.tracks.size(), 1u);
  EXPECT_EQ(read.tracks[0].rank, 3u);
  EXPECT_EQ(read.tracks[0].left_out, 1u);
  ASSERT_EQ(read.tracks[0].events.size(), 1u);
  EXPECT_EQ(read.tracks[0].events[0].subject, 7u);
  EXPECT_EQ(read.tracks[0].events[0].status, -1);
}

TEST(ServerTrace, of_another_shape_is_nothing) {
  pmix_value_t text{};
  text.type = PMIX_UNDEF;
  EXPECT_EQ(trace_in(text).read_at, 0u);
  auto cut = base::encode(a_trace());
  cut.pop_back();
  EXPECT_EQ(trace_in(value_of(cut)).read_at, 0u);
  auto unknown = a_trace();
  unknown.tracks[0].events[0].kind = 1;  // there is one
  auto bytes = base::encode(unknown);
  EXPECT_EQ(trace_in(value_of(bytes)).read_at, 0u);
}

}  // namespace
}  // namespace weft::node
