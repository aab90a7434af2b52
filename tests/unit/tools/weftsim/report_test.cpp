// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftsim/report.hpp"

#include <gtest/gtest.h>

#include "tools/weftsim/prediction.hpp"

namespace weft::weftsim {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Job job() {
  return {.nodes = 1000,
          .ranks_a_node = 16,
          .network = *network_of("ndr"),
          .collective = collectives::Choice{collectives::Algorithm::dissemination}};
}

TEST(Report, text_has_each_operation_with_its_path) {
  const auto text = text_of(job(), {predict(job(), "barrier"), predict(job(), "full_fence")});
  EXPECT_TRUE(has(text, "1000 nodes x 16 processes")) << text;
  EXPECT_TRUE(has(text, "dissemination:1"));
  EXPECT_TRUE(has(text, "path: 10 messages"));
  EXPECT_TRUE(has(text, "at line rate"));
  EXPECT_FALSE(has(text, "lost one"));
}

TEST(Report, json_has_the_same_in_nanoseconds) {
  const auto barrier = predict(job(), "barrier");
  const auto text = json_of(job(), {barrier});
  EXPECT_TRUE(has(text, R"("nodes": 1000, "ppn": 16)")) << text;
  EXPECT_TRUE(has(text, R"("name": "barrier", "algorithm": "dissemination:1", "time_ns": )" +
                            std::to_string(barrier.time)));
  EXPECT_TRUE(has(text, R"("path": {"hops": 10)"));
  EXPECT_TRUE(has(text, R"("slowest": {"from": )"));
}

TEST(Report, networks_have_their_sources) {
  EXPECT_TRUE(has(text_of_networks(), "perftest issue 131"));
  EXPECT_TRUE(has(text_of_networks(), "assumed: "));
  EXPECT_TRUE(has(json_of_networks(), R"("name": "10gbe")"));
}

}  // namespace
}  // namespace weft::weftsim
