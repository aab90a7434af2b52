// SPDX-License-Identifier: BSD-3-Clause
// A launcher's server and those of the nodes in one process: launch information makes a cluster of the
// latter.
#include "core/server/launch/launch.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <string>

#include "core/server/server.hpp"

namespace weft::server {
namespace {

class LaunchTest : public ::testing::Test {
 protected:
  /// Before the servers' threads begin, and until they have ended.
  struct OverShm {
    OverShm() { ::setenv("WEFT_TRANSPORT", "shm", 1); }
    ~OverShm() { ::unsetenv("WEFT_TRANSPORT"); }
  };

  static Server::Owned start(const char* host) {
    data::Infos infos;
    infos.add(PMIX_HOSTNAME, data::Value::of(host));
    auto started = Server::start(nullptr, infos.data(), infos.size());
    EXPECT_TRUE(started);
    return started ? std::move(*started) : nullptr;
  }
  /// Of a job with a rank on each of the nodes "one" and "two".
  static data::Infos launch_information(Server& launcher) {
    data::Infos maps;
    maps.add(PMIX_SETUP_APP_ALL, data::Value::of(true));
    maps.add(PMIX_NODE_MAP, data::Value::of("one,two"));
    maps.add(PMIX_PROC_MAP, data::Value::of("0;1"));
    auto plan = FabricPlan::wanted_by(maps.data(), maps.size());
    EXPECT_TRUE(plan && *plan);
    auto made = std::make_shared<std::promise<data::Infos>>();
    auto answer = made->get_future();
    launcher.launch().setup_application("job", {}, std::move(*plan), true,
                                        [made](pmix_status_t status, data::Infos infos) {
                                          EXPECT_EQ(status, PMIX_SUCCESS);
                                          made->set_value(std::move(infos));
                                        });
    return answer.get();
  }
  static std::future<pmix_status_t> take(Server& node, const data::Infos& information) {
    auto promise = std::make_shared<std::promise<pmix_status_t>>();
    auto answer = promise->get_future();
    auto copy = data::Infos::copy_of(information.data(), information.size());
    node.launch().setup_local_support("job", std::move(*copy),
                                      [promise](pmix_status_t status) { promise->set_value(status); });
    return answer;
  }
  /// It is in a cluster: there is something for other servers to know.
  static bool is_open(Server& server) {
    auto told = std::make_shared<std::promise<bool>>();
    auto answer = told->get_future();
    server.launch().collect_inventory(
        [told](pmix_status_t, data::Infos infos) { told->set_value(infos.size() != 0); });
    return answer.get();
  }

  const OverShm over_;
  Server::Owned launcher_ = start("launcher"), one_ = start("one"), two_ = start("two");
};

TEST_F(LaunchTest, the_servers_of_the_nodes_become_a_cluster_and_the_launchers_stays_alone) {
  const auto information = launch_information(*launcher_);
  EXPECT_FALSE(is_open(*one_) || is_open(*two_));
  auto of_one = take(*one_, information), of_two = take(*two_, information);
  EXPECT_EQ(of_one.get(), PMIX_SUCCESS);
  EXPECT_EQ(of_two.get(), PMIX_SUCCESS);
  EXPECT_TRUE(is_open(*one_) && is_open(*two_));
  EXPECT_FALSE(is_open(*launcher_));
  auto again = take(*one_, information);
  EXPECT_EQ(again.get(), PMIX_SUCCESS) << "the same launch information may come again";
}

TEST_F(LaunchTest, a_server_is_in_one_cluster_at_most) {
  const auto information = launch_information(*launcher_), other = launch_information(*launcher_);
  auto of_one = take(*one_, other), of_two = take(*two_, other);
  ASSERT_EQ(of_one.get(), PMIX_SUCCESS);
  ASSERT_EQ(of_two.get(), PMIX_SUCCESS);
  auto refused = take(*one_, information);
  EXPECT_EQ(refused.get(), PMIX_ERR_NOT_SUPPORTED);
}

TEST_F(LaunchTest, a_node_that_is_not_in_the_map_stays_alone) {
  const auto information = launch_information(*launcher_);
  const auto three = start("three");
  auto of_three = take(*three, information);
  EXPECT_EQ(of_three.get(), PMIX_SUCCESS);
  EXPECT_FALSE(is_open(*three));
}

}  // namespace
}  // namespace weft::server
