// SPDX-License-Identifier: BSD-3-Clause
// The folders of a node's ranks.
#include "tools/node/folders/shared_files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/node/folders/node_folders.hpp"

namespace weft::node {
namespace {

bool is_there(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

TEST(NodeFolders, have_a_name_that_another_user_cannot_guess) {
  const NodeFolders first("launch", 3), second("launch", 3);
  EXPECT_EQ(first.all()[0].rfind("/dev/shm/launch.3.", 0), 0U) << first.all()[0];
  EXPECT_EQ(first.all()[0].size(), std::string("/dev/shm/launch.3.").size() + 16) << first.all()[0];
  EXPECT_NE(first.all()[0], second.all()[0]);
  EXPECT_NE(first.session(), second.session());
  EXPECT_FALSE(is_there(first.session()));
  EXPECT_EQ(first.can_make_session(), 0);
}

TEST(NodeFolders, for_shared_memory_are_of_this_user_and_one_for_each_job) {
  NodeFolders folders("weft-test", 0);
  const auto one = folders.make_shared_files("one"), other = folders.make_shared_files("other");
  struct stat status {};
  for (const auto& path : {folders.all()[0], one, other}) {
    ASSERT_EQ(::stat(path.c_str(), &status), 0) << path;
    EXPECT_EQ(status.st_mode & 0777U, 0700U);
  }
  EXPECT_THROW(folders.make_shared_files("one"), std::exception);
  folders.remove();
  EXPECT_FALSE(is_there(folders.all()[0]));
}

TEST(NodeFolders, are_none_where_another_has_made_one) {
  NodeFolders folders("weft-test", 1);
  ASSERT_EQ(::mkdir(folders.all()[0].c_str(), 0700), 0);
  EXPECT_THROW(folders.make_shared_files("one"), std::exception);
  folders.remove();
}

TEST(SharedFiles, what_the_user_has_set_stays) {
  EXPECT_EQ(shared_files_variables("/folder", {"A=1"}).size(), 3U);
  const auto additions = shared_files_variables("/folder", {"OMPI_MCA_osc_sm_backing_directory=/mine"});
  EXPECT_EQ(additions, (Variables{"OMPI_MCA_btl_vader_backing_directory=/folder",
                                  "OMPI_MCA_osc_rdma_backing_directory=/folder"}));
  const Variables of_the_parent = {"OMPI_MCA_osc_sm_backing_directory=/dev/shm/weft-a-1.0.0123/weft-a-1"};
  EXPECT_EQ(shared_files_variables("/folder", of_the_parent).size(), 3U) << "no wish of the user";
}

}  // namespace
}  // namespace weft::node
