// SPDX-License-Identifier: BSD-3-Clause
// What the rooms make of a namespace that the host registers.
#include "tests/unit/core/server/clients/one_node.hpp"

namespace weft::server {
namespace {

class RegistrationTest : public OneNode {
 protected:
  static data::Infos of_size(std::uint32_t size) {
    data::Infos out;
    out.add(PMIX_JOB_SIZE, data::Value::of(size));
    return out;
  }
  /// Its maps are not of the same nodes.
  static data::Infos torn() {
    auto out = of_size(2);
    out.add(PMIX_NODE_MAP, data::Value::of("here"));
    out.add(PMIX_PROC_MAP, data::Value::of("0;1"));
    return out;
  }
};

TEST_F(RegistrationTest, one_that_makes_no_sense_leaves_nothing) {
  EXPECT_EQ(rooms->register_nspace("", 1, of_size(1)), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(rooms->register_nspace(std::string(PMIX_MAX_NSLEN + 1, 'n'), 1, of_size(1)), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(rooms->register_nspace("new", -1, of_size(1)), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(rooms->register_nspace("new", 1, torn()), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(rooms->jobs.find_announced("new"), nullptr);
}

TEST_F(RegistrationTest, clients_that_were_registered_before_stay_for_another_try) {
  rooms->jobs.announce("new").clients[0] = {::getuid(), ::getgid(), nullptr};
  EXPECT_EQ(rooms->register_nspace("new", 1, torn()), PMIX_ERR_BAD_PARAM);
  ASSERT_NE(rooms->jobs.find_announced("new"), nullptr);
  EXPECT_EQ(rooms->jobs.find_announced("new")->clients.size(), 1u);
  bool was_awaited = false;
  rooms->jobs.when_registered("new", [&] { was_awaited = true; });
  EXPECT_FALSE(was_awaited);
  EXPECT_EQ(rooms->register_nspace("new", 1, of_size(2)), PMIX_SUCCESS);
  EXPECT_TRUE(was_awaited);
}

TEST_F(RegistrationTest, one_that_is_registered_again_keeps_its_board) {
  auto& line = enter(0);
  link::Fence fence;
  fence.procs = {proc(0), proc(1)};
  rooms->fences.enter(line.connection, 5, std::move(fence));
  const auto waiting = rooms->fences.open_parts().size();
  EXPECT_EQ(waiting, 1u);
  data::Infos more;
  more.add("a.key", data::Value::of("of the host"));
  EXPECT_EQ(rooms->register_nspace("job", 3, more), PMIX_SUCCESS);
  EXPECT_EQ(rooms->fences.open_parts().size(), waiting);
}

}  // namespace
}  // namespace weft::server
