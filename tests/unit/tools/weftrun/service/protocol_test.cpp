// SPDX-License-Identifier: BSD-3-Clause
// A job's options as bytes and back, and bytes that are none.
#include "tools/weftrun/service/protocol.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::weftrun::service {
namespace {

service::Run sample() {
  auto options = parse_options({"--attach",
                                "-x",
                                "A=1",
                                "-n",
                                "2",
                                "--wdir",
                                "/tmp",
                                "--map-by",
                                "node",
                                "--bind-to",
                                "core",
                                "--timeout",
                                "3",
                                "--report-stuck=9",
                                "--tag-output",
                                "-H",
                                "a:2",
                                "--add-host",
                                "c:3",
                                "first",
                                "-v",
                                ":",
                                "-n",
                                "3",
                                "-H",
                                "b",
                                "-x",
                                "B",
                                "second"});
  service::Run run;
  options.added_hosts[0].keys = {{"rack", "7"}};
  run.options = JobOptions::of(std::move(options));
  run.surroundings = {{"PATH=/bin", "X="}, "/home"};
  run.is_detached = true;
  return run;
}

TEST(ServiceProtocolTest, a_job_arrives_as_it_was_given) {
  auto decoded = base::decode<service::Run>(base::encode(sample()));
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(decoded->is_detached);
  EXPECT_EQ(decoded->surroundings.environment, (std::vector<std::string>{"PATH=/bin", "X="}));
  EXPECT_EQ(decoded->surroundings.directory, "/home");
  const auto options = std::move(decoded->options).take();
  ASSERT_EQ(options.apps.size(), 2U);
  EXPECT_EQ(options.apps[0].argv, (std::vector<std::string>{"first", "-v"}));
  EXPECT_EQ(options.apps[0].ranks, 2U);
  EXPECT_EQ(options.apps[0].directory, "/tmp");
  ASSERT_EQ(options.apps[0].settings.size(), 1U);
  EXPECT_EQ(options.apps[0].settings[0].value, "1");
  EXPECT_FALSE(options.apps[1].settings[0].value);
  EXPECT_EQ(options.own_hosts[1], std::vector<std::string>{"b"});
  EXPECT_EQ(options.limit, std::chrono::seconds(3));
  EXPECT_EQ(options.stuck_after, std::chrono::seconds(9));
  EXPECT_EQ(options.mapping.map, job::MapBy::node);
  EXPECT_EQ(options.mapping.bind, job::BindTo::core);
  EXPECT_TRUE(options.tags.rank);
  EXPECT_EQ(options.added_hosts,
            (allocation::Hosts{{"c", 3, job::most_ranks_a_node, false, {{"rack", "7"}}}}));
}

/// What is taken in spite of a damage is a job that the command line could have said.
TEST(ServiceProtocolTest, damaged_bytes_are_refused_or_make_a_job) {
  const auto good = base::encode(sample());
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(base::decode<service::Run>(Bytes(good).first(length))) << length;
  std::size_t refused = 0;
  for (std::size_t at = 0; at < good.size(); ++at)
    for (unsigned bit = 0; bit < 8; ++bit) {
      auto bytes = good;
      bytes[at] ^= std::byte(1U << bit);
      auto decoded = base::decode<service::Run>(bytes);
      if (!decoded) {
        ++refused;
        continue;
      }
      const auto options = std::move(decoded->options).take();
      EXPECT_EQ(options.apps.size(), options.own_hosts.size());
      for (const auto& app : options.apps) {
        ASSERT_FALSE(app.argv.empty());
        EXPECT_FALSE(app.argv.front().empty());
        EXPECT_NE(app.ranks, 0U);
      }
      EXPECT_LE(options.mapping.map, job::MapBy::socket);
      EXPECT_LE(options.on_failure, OnFailure::go_on);
    }
  EXPECT_GT(refused, good.size());  // lengths and enumerators
}

TEST(ServiceProtocolTest, no_header_asks_for_more_than_there_may_be) {
  for (const Header wrong : {Header{Header::current + 1, MessageType::run, 0},
                             Header{Header::current, MessageType(static_cast<int>(last_type) + 1), 0},
                             Header{Header::current, MessageType::run, most_bytes + 1}})
    EXPECT_FALSE(base::decode<Header>(base::encode(wrong)));
  EXPECT_TRUE(base::decode<Header>(base::encode(Header{Header::current, MessageType::run, most_bytes})));
}

}  // namespace
}  // namespace weft::weftrun::service
