// SPDX-License-Identifier: BSD-3-Clause
// Reports: there and back, what comes out of bytes that are none, and several of them made into one.
#include "core/server/reports/report.hpp"

#include <algorithm>

#include "core/data/types/wire.hpp"
#include "core/link/messages.hpp"
#include "tests/unit/transport/shm/testing.hpp"

namespace weft::server {
namespace {

using State = FencePart::State;

const FenceName of_all{{{"job", PMIX_RANK_WILDCARD, PMIX_RANK_WILDCARD}}, 7};
const FenceName of_some{{{"job", 0, 0}, {"job", 4, 5}}, 1};

FencePart part(const FenceName& name, State state, std::uint32_t ranks, std::vector<std::uint32_t> missing) {
  FencePart out;
  out.name = name;
  out.state = state;
  out.ranks = ranks;
  out.arrived = ranks - static_cast<std::uint32_t>(missing.size());
  for (const auto rank : missing)
    out.missing.push_back({"job", rank, static_cast<std::int32_t>(100 + rank), 1});
  return out;
}

NodeReport sample() {
  NodeReport out;
  out.host = "host";
  out.pid = 17;
  out.transport = "ofi";
  out.age_ms = 1234;
  out.jobs.push_back({"job", 6, 3, {1, 2, 3, 4}, 9});
  out.fences.push_back(part(of_some, State::waiting, 2, {5}));
  out.fences.back().algorithm = "bruck";
  out.fences.back().waits_for = {1, 2};
  out.fences.back().age_ms = 5;
  out.fences.back().collects = true;
  for (std::size_t i = 0; i < out.counters.size(); ++i) out.counters[i] = i + 1;
  out.jobs.push_back({"job.1", 1, 1, {}, 0, "job", 2});
  out.groups = {{"g", {{"job", 0, 1}}}};
  out.sets = {{"s", {{"job", 0, 2}}}};
  out.names = {{"port", "job", 1, PMIX_RANGE_SESSION, PMIX_PERSIST_APP, 12}};
  out.all_names = 300;
  out.regions = {{"cards", 100, 1000}};
  return out;
}

NodeEntry entry(NodeNumber node, std::vector<FencePart> fences,
                NodeEntry::State state = NodeEntry::State::here) {
  NodeEntry out{node, "host" + std::to_string(node), state, {}};
  out.report.fences = std::move(fences);
  return out;
}

std::vector<NodeNumber> all_three(const FenceName&) {
  return {0, 1, 2};
}

TEST(Report, comes_back_as_it_went) {
  const auto bytes = encode(sample());
  const auto back = decode<NodeReport>(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(encode(*back), bytes);
  EXPECT_EQ(back->host, "host");
  EXPECT_EQ(back->jobs[0].states[3], 4U);
  EXPECT_EQ(back->fences[0].name, of_some);
  EXPECT_EQ(back->fences[0].missing[0].pid, 105);
  EXPECT_EQ(back->counters.back(), count_of_counters());
  const ReportRequest request{0, {of_all, of_some}};
  const auto asked = decode<ReportRequest>(encode(request));
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->everything, 0);
  EXPECT_EQ(asked->fences, request.fences);
}

TEST(Report, cut_or_too_long_it_is_corrupt) {
  auto bytes = encode(sample());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const testing::ExactBlock exact(std::max<std::size_t>(length, 1));
    std::copy_n(bytes.begin(), length, exact.get());
    ASSERT_FALSE(decode<NodeReport>({exact.get(), length})) << length;
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode<NodeReport>(bytes));
}

TEST(Report, of_another_release_it_is_corrupt) {
  auto bytes = encode(sample());
  bytes[0] ^= std::byte{2};
  EXPECT_EQ(decode<NodeReport>(bytes).error().code, Errc::corrupt);
  auto more = sample();
  more.counters.push_back(1);
  EXPECT_FALSE(decode<NodeReport>(encode(more)));
  auto odd = sample();
  odd.fences[0].state = static_cast<State>(3);
  EXPECT_FALSE(decode<NodeReport>(encode(odd)));
}

TEST(Report, damage_ends_in_an_answer) {
  testing::Watchdog watchdog;
  testing::Random random;
  const auto report = encode(sample());
  const auto request = encode(ReportRequest{0, {of_all, of_some}});
  for (unsigned round = 0; round < testing::rounds(7'000); ++round) {
    auto bytes = round % 2 == 0 ? report : request;
    testing::damage(random, bytes.data(), bytes.size());
    const testing::ExactBlock exact(bytes.size());
    std::copy(bytes.begin(), bytes.end(), exact.get());
    if (const auto good = decode<NodeReport>({exact.get(), bytes.size()})) {
      ASSERT_TRUE(to_value(merged("session", 0, {{0, "host", NodeEntry::State::here, *good}}, all_three)));
    }
    if (const auto good = decode<ReportRequest>({exact.get(), bytes.size()})) {
      EXPECT_EQ(decode<ReportRequest>(encode(*good))->fences, good->fences);
    }
  }
}

TEST(Runs, come_back_as_they_went) {
  std::vector<pmix_proc_t> procs;
  for (const auto rank : {0U, 1U, 2U, 5U, 7U, 8U}) procs.push_back(link::make_proc("a", rank));
  procs.push_back(link::make_proc("b", 9));
  procs.push_back(link::make_proc("c", PMIX_RANK_WILDCARD));
  const auto runs = runs_of(procs);
  EXPECT_EQ(runs, (std::vector<RankRun>{{"a", 0, 2},
                                        {"a", 5, 5},
                                        {"a", 7, 8},
                                        {"b", 9, 9},
                                        {"c", PMIX_RANK_WILDCARD, PMIX_RANK_WILDCARD}}));
  const auto back = procs_of(runs);
  ASSERT_TRUE(back);
  EXPECT_EQ(runs_of(*back), runs);
  EXPECT_EQ(back->size(), procs.size());
}

TEST(Runs, of_more_than_there_can_be_are_corrupt) {
  EXPECT_FALSE(procs_of({{"a", 0, 0xfffffff0}}));
  EXPECT_FALSE(procs_of({{"a", 5, 4}}));
  EXPECT_FALSE(procs_of({{"a", 0, (1U << 22) - 2}, {"b", 0, 1}}));
}

TEST(Unanswered, those_that_belong_to_a_fence_and_did_not_name_it) {
  const std::vector<NodeEntry> nodes{entry(0, {part(of_all, State::entered, 2, {})}), entry(1, {}),
                                     entry(2, {}, NodeEntry::State::silent)};
  const auto out = unanswered(nodes, all_three);
  ASSERT_EQ(out.size(), 3U);
  EXPECT_TRUE(out[0].empty());
  EXPECT_EQ(out[1], (std::vector<FenceName>{of_all}));
  EXPECT_TRUE(out[2].empty()) << "asking it again does not help";
}

TEST(Unanswered, no_node_that_does_not_exist) {
  const std::vector<NodeEntry> nodes{entry(0, {part(of_all, State::entered, 2, {})})};
  EXPECT_EQ(unanswered(nodes, [](const FenceName&) { return std::vector<NodeNumber>{0, 9}; }).size(), 1U);
}

TEST(Merged, a_fence_is_one_wherever_it_is_told) {
  auto first = part(of_all, State::entered, 2, {}), second = part(of_all, State::waiting, 2, {3}),
       third = part(of_all, State::absent, 2, {4, 5});
  first.age_ms = 40, second.age_ms = 70;
  first.algorithm = "bruck", first.collects = true, first.waits_for = {1};
  const auto out =
      merged("session", 1, {entry(0, {first}), entry(1, {second}), entry(2, {third})}, all_three);
  ASSERT_EQ(out.fences.size(), 1U);
  const auto& fence = out.fences[0];
  EXPECT_EQ(fence.name, of_all);
  EXPECT_EQ(fence.age_ms, 70U);
  EXPECT_EQ(fence.algorithm, "bruck");
  EXPECT_TRUE(fence.collects);
  EXPECT_EQ(fence.nodes, 3U);
  EXPECT_EQ(fence.entered, 1U);
  EXPECT_EQ(fence.ranks, 6U);
  EXPECT_EQ(fence.arrived, 3U);
  ASSERT_EQ(fence.missing.size(), 2U);
  EXPECT_EQ(fence.missing[0].node, 1U);
  EXPECT_EQ(fence.missing[0].ranks[0].rank, 3U);
  EXPECT_EQ(fence.missing[1].ranks.size(), 2U);
  EXPECT_TRUE(fence.waits_for.empty()) << "ranks are missing: that is the reason";
}

TEST(Merged, where_all_ranks_are_in_it_the_messages_are) {
  auto first = part(of_all, State::entered, 2, {}), second = first;
  first.waits_for = {1, 1}, second.waits_for = {0};
  const auto out = merged("session", 0, {entry(0, {first}), entry(1, {second})}, [](const FenceName&) {
    return std::vector<NodeNumber>{0, 1};
  });
  EXPECT_EQ(out.fences[0].waits_for, (std::vector<NodeNumber>{0, 1}));
}

TEST(Merged, a_node_that_has_said_nothing_is_named) {
  const auto out = merged(
      "session", 0, {entry(0, {part(of_all, State::entered, 2, {})}), entry(1, {}), entry(2, {})}, all_three);
  EXPECT_EQ(out.fences[0].silent, (std::vector<NodeNumber>{1, 2}));
}

TEST(Merged, where_no_node_knows_the_members_the_nodes_that_tell_are) {
  const auto out = merged("session", 0, {entry(0, {part(of_some, State::waiting, 2, {0})}), entry(1, {})},
                          [](const FenceName&) { return std::vector<NodeNumber>(); });
  EXPECT_EQ(out.fences[0].nodes, 1U);
  EXPECT_TRUE(out.fences[0].silent.empty());
}

TEST(Merged, jobs_are_summed_up) {
  auto first = entry(0, {}), second = entry(1, {});
  first.report.jobs = {{"a", 4, 2, {0, 2, 0, 0}, 5}};
  second.report.jobs = {{"a", 4, 2, {1, 0, 0, 1}, 6}, {"b", 1, 1, {1, 0, 0, 0}, 0}};
  const auto out = merged("session", 0, {first, second}, all_three);
  ASSERT_EQ(out.jobs.size(), 2U);
  EXPECT_EQ(out.jobs[0].states, (std::array<std::uint32_t, 4>{1, 2, 0, 1}));
  EXPECT_EQ(out.jobs[0].fences, 6U);
  EXPECT_EQ(out.jobs[0].ranks, 4U);
}

}  // namespace
}  // namespace weft::server
