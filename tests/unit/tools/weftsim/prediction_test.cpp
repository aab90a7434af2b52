// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftsim/prediction.hpp"

#include <gtest/gtest.h>

#include "tools/weftsim/messages.hpp"

namespace weft::weftsim {
namespace {

Job job_of(std::uint32_t nodes, std::uint32_t ranks_a_node = 1) {
  return {.nodes = nodes, .ranks_a_node = ranks_a_node, .network = *network_of("slingshot")};
}

Time sum_of(const Operation& operation) {
  Time out = 0;
  for (const auto& part : operation.parts) out += part.time;
  return out;
}

TEST(Prediction, the_parts_are_the_whole) {
  for (const auto& network : networks())
    for (const std::uint32_t nodes : {1u, 2u, 100u}) {
      auto job = job_of(nodes, 4);
      job.network = network;
      for (const auto name : operation_names) {
        const auto operation = predict(job, name);
        EXPECT_EQ(operation.name, name);
        EXPECT_EQ(sum_of(operation), operation.time) << name;
      }
    }
}

TEST(Prediction, init_takes_time_on_every_network) {
  for (const auto& network : networks()) {
    auto job = job_of(4, 8);
    job.network = network;
    EXPECT_GE(predict(job, "init").time, 8 * static_cast<Time>(node_figures().init.value));
  }
}

TEST(Prediction, barrier_grows_with_the_logarithm_of_the_nodes) {
  auto job = job_of(1024);
  job.wires_only = true;
  job.collective = *collectives::parse_choice("dissemination");
  // 10 rounds of overhead, latency, overhead and 84 bytes.
  EXPECT_EQ(predict(job, "barrier").time, 10 * (250 + 1500 + 250 + 3));
  EXPECT_EQ(predict(job, "barrier").messages, 10'240u);
}

TEST(Prediction, seed_and_skew_decide_alike_each_time) {
  auto job = job_of(500, 2);
  job.skew = 50'000;
  const auto first = predict(job, "full_fence"), again = predict(job, "full_fence");
  EXPECT_EQ(first.time, again.time);
  EXPECT_EQ(first.path_begun, again.path_begun);
  job.seed = 2;
  EXPECT_NE(predict(job, "full_fence").time, first.time);
  job.skew = 0;
  EXPECT_LT(predict(job, "full_fence").time, first.time);
}

TEST(Prediction, a_loss_ends_what_waits_when_the_servers_have_agreed) {
  auto job = job_of(64);
  job.lost = Loss{20, 3'000};
  const auto barrier = predict(job, "barrier");
  EXPECT_GT(barrier.waiting, 0u);
  EXPECT_GE(barrier.time, 3'000 + predict(job, "loss").time);
  // After the barrier it changes nothing.
  job.lost = Loss{20, 1'000'000'000};
  const auto later = predict(job, "barrier");
  EXPECT_EQ(later.waiting, 0u);
  job.lost.reset();
  EXPECT_EQ(later.time, predict(job, "barrier").time);
}

TEST(Prediction, an_algorithm_that_is_named_is_taken_where_it_can_be) {
  auto job = job_of(81);
  job.collective = *collectives::parse_choice("dissemination:2");
  EXPECT_EQ(predict(job, "barrier").algorithm, "dissemination:2");
  EXPECT_EQ(predict(job, "full_fence").algorithm, "bruck");
  job.collective = *collectives::parse_choice("recursive_doubling");
  EXPECT_EQ(predict(job, "full_fence").algorithm, "recursive_doubling");
}

TEST(Prediction, long_messages_go_in_parts_and_one_contribution_that_is_too_long_is_said) {
  auto job = job_of(4096, 1);
  job.card_bytes = 512 << 10;
  job.collective = *collectives::parse_choice("bruck");
  EXPECT_EQ(predict(job, "full_fence").note.find("more than the servers take"), std::string::npos);
  job.nodes = 2;
  job.ranks_a_node = 64;
  job.card_bytes = 16 << 20;
  EXPECT_NE(predict(job, "full_fence").note.find("more than the servers take"), std::string::npos);
}

TEST(Prediction, what_is_too_large_is_refused_with_what_to_do) {
  auto job = job_of(131'072);
  job.collective = *collectives::parse_choice("ring");
  try {
    predict(job, "full_fence");
    FAIL() << "accepted";
  } catch (const Stop& stop) {
    EXPECT_NE(std::string(stop.what()).find("--collective"), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::weftsim
