// SPDX-License-Identifier: BSD-3-Clause
// What the launcher's server gathers for a job, carried as bytes to a node's: here both are one server.
#include "tools/host/launch_info.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tools/host/namespace.hpp"
#include "tools/host/server.hpp"
#include "tools/messages/stop.hpp"

namespace weft::host {
namespace {

using job::Rank;
using Variables = std::vector<std::string>;

struct LaunchInfoTest : ::testing::Test {
  /// Rank 0 is of the first program, ranks 1 and 2 are of the second.
  static JobMap two_programs() {
    JobMap map;
    map.nspace = "job";
    map.host = "here";
    map.size = 3;
    map.apps.resize(2);
    for (auto& app : map.apps) app.argv = {"program"};
    map.apps[0].ranks = 1;
    map.apps[1].ranks = 2;
    map.bindings.resize(3);
    map.node_names = {"here"};
    map.ranks_of_node = {{0, 1, 2}};
    map.policy.bind = job::BindTo::none;
    return map;
  }
  /// The variables of a rank that do not tell it its server.
  Variables changed(Rank rank) const {
    auto all = registered.environment_of(rank, {"A=before", "B=before"});
    std::erase_if(all, [](std::string_view each) {
      return each.rfind("PMIX_", 0) == 0 || each.rfind("WEFT_", 0) == 0;
    });
    return all;
  }

  const Variables unchanged{"A=before", "B=before"};
  JobMap map = two_programs();
  Server server{ServerIdentity{"servers", 0, 1, 0, "here", {}, {}, false, {}}};
  Namespace registered{server, map, {Rank{0}, Rank{1}, Rank{2}}, {}};
};

TEST_F(LaunchInfoTest, of_a_job_without_settings_is_empty) {
  auto apps = map.apps;
  apps[0].settings = {{"A", std::nullopt}};
  const auto bytes = gather_launch_info("job", apps, Servers::left_out);
  EXPECT_EQ(bytes, "");
  take_launch_info("job", bytes);
  EXPECT_EQ(changed(Rank{0}), unchanged);
}

TEST_F(LaunchInfoTest, brings_each_program_its_settings_the_later_of_two_last) {
  auto apps = map.apps;
  apps[0].settings = {{"A", "1"}, {"B", std::nullopt}, {"A", "2"}};
  apps[1].settings = {{"C", ""}, {"B", "x=y z"}};
  take_launch_info("job", gather_launch_info("job", apps, Servers::left_out));
  EXPECT_EQ(changed(Rank{0}), (Variables{"A=2", "B=before"}));
  for (const Rank rank : {Rank{1}, Rank{2}})
    EXPECT_EQ(changed(rank), (Variables{"A=before", "B=x=y z", "C="}));
}

TEST_F(LaunchInfoTest, that_is_damaged_has_no_effect) {
  auto apps = map.apps;
  apps[0].settings = {{"A", "1"}};
  const auto bytes = gather_launch_info("job", apps, Servers::left_out);
  ASSERT_FALSE(bytes.empty());
  const auto is_refused = [&](const std::string& nspace, const std::string& damaged) {
    try {
      take_launch_info(nspace, damaged);
    } catch (const messages::Stop& stop) {
      EXPECT_EQ(changed(Rank{0}), unchanged);
      return std::string_view(stop.what()).find("launch information") != std::string_view::npos;
    }
    return false;
  };
  for (std::size_t length = 1; length < bytes.size(); ++length)
    EXPECT_TRUE(is_refused("job", bytes.substr(0, length))) << length;
  EXPECT_TRUE(is_refused("job", bytes + '\0'));
  EXPECT_TRUE(is_refused("another", bytes));
  take_launch_info("job", bytes);
  EXPECT_EQ(changed(Rank{0}), (Variables{"A=1", "B=before"}));
}

}  // namespace
}  // namespace weft::host
