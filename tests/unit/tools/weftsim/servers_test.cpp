// SPDX-License-Identifier: BSD-3-Clause
// What is predicted from schedules against what whole servers do.
#include "tools/weftsim/servers.hpp"

#include <gtest/gtest.h>

#include "tools/weftsim/messages.hpp"
#include "tools/weftsim/prediction.hpp"

namespace weft::weftsim {
namespace {

constexpr std::uint64_t beside_payload = 84;  // envelope and header, which the mesh does not count

/// Without processors both count the same nanoseconds.
Job wires(std::uint32_t nodes, std::uint32_t ranks_a_node, std::uint64_t card_bytes = 64) {
  return {.nodes = nodes,
          .ranks_a_node = ranks_a_node,
          .card_bytes = card_bytes,
          .network = *network_of("slingshot"),
          .wires_only = true};
}

void expect_same(const Job& job, const std::string& name) {
  SCOPED_TRACE(name + " of " + std::to_string(job.nodes) + " x " + std::to_string(job.ranks_a_node));
  const auto predicted = predict(job, name), done = run_servers(job, {name}).at(0);
  EXPECT_EQ(done.note, "");
  // Of messages that come to one node at one instant another one may be the first.
  EXPECT_NEAR(static_cast<double>(done.time), static_cast<double>(predicted.time),
              0.002 * static_cast<double>(predicted.time));
  EXPECT_EQ(done.messages, predicted.messages);
  EXPECT_EQ(done.bytes + done.messages * beside_payload, predicted.bytes);
}

TEST(Servers, do_what_is_predicted) {
  for (const auto& job : {wires(2, 1), wires(5, 3), wires(16, 2), wires(33, 1)})
    for (const char* name : {"barrier", "full_fence", "group"}) expect_same(job, name);
}

TEST(Servers, send_lengths_first_where_cards_are_long) {
  // Cards of chance do not become smaller. Of long messages the pieces have headers, which the mesh counts.
  for (const auto& job : {wires(8, 2, 20'000), wires(6, 3, 30'000)}) {
    const auto predicted = predict(job, "full_fence"), done = run_servers(job, {"full_fence"}).at(0);
    EXPECT_NEAR(static_cast<double>(done.time), static_cast<double>(predicted.time),
                0.002 * static_cast<double>(predicted.time));
    EXPECT_EQ(done.messages, predicted.messages);
  }
}

TEST(Servers, are_late_as_predicted) {
  auto job = wires(24, 1);
  job.skew = 30'000;
  expect_same(job, "barrier");
}

TEST(Servers, agree_about_a_loss_in_about_the_time_that_is_predicted) {
  const auto job = wires(32, 1);
  const auto predicted = predict(job, "loss"), done = run_servers(job, {"loss"}).at(0);
  EXPECT_EQ(done.note, "31 calls have failed. ");
  EXPECT_NEAR(static_cast<double>(done.time), static_cast<double>(predicted.time),
              0.02 * static_cast<double>(predicted.time));
}

TEST(Servers, first_touch_is_no_slower_than_predicted_and_no_faster_than_its_reads) {
  auto job = wires(8, 1);
  const auto done = run_servers(job, {"first_touch"}).at(0), barrier = run_servers(job, {"barrier"}).at(0);
  EXPECT_EQ(done.note, "");
  EXPECT_GE(done.time - barrier.time, job.touched * static_cast<Time>(job.network.read.value) * 9 / 10);
  EXPECT_LE(done.time, predict(job, "first_touch").time * 11 / 10);
}

TEST(Servers, leave_out_what_they_do_not_do_alone) {
  EXPECT_TRUE(run_servers(wires(2, 1), {"launch", "init"}).empty());
}

TEST(Servers, are_not_more_than_this_process_can_hold) {
  EXPECT_THROW(run_servers(wires(most_servers + 1, 1), {"barrier"}), Stop);
  EXPECT_THROW(run_servers(wires(2, 1, most_card_of_servers + 1), {"barrier"}), Stop);
}

}  // namespace
}  // namespace weft::weftsim
