// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ranks/folders/shared_files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::ranks {
namespace {

TEST(SharedFiles, have_a_name_that_another_user_cannot_guess) {
  const std::string first = shared_files_path("session", 3), second = shared_files_path("session", 3);
  EXPECT_EQ(first.rfind("/dev/shm/session.3.", 0), 0U) << first;
  EXPECT_EQ(first.size(), std::string("/dev/shm/session.3.").size() + 16) << first;
  EXPECT_NE(first, second);
}

TEST(SharedFiles, are_a_folder_of_this_user_until_the_end) {
  const auto path = shared_files_path("weft-test", 0);
  struct stat status {};
  {
    const SharedFiles files(path);
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0700U);
    EXPECT_THROW(SharedFiles{path}, std::exception);
  }
  EXPECT_NE(::stat(path.c_str(), &status), 0);
}

TEST(SharedFiles, what_the_user_has_set_stays) {
  const auto path = shared_files_path("weft-test", 1);
  const SharedFiles files(path);
  EXPECT_EQ(files.additions_to({"A=1"}).size(), 3U);
  const auto additions = files.additions_to({"OMPI_MCA_osc_sm_backing_directory=/mine"});
  EXPECT_EQ(additions, (Variables{"OMPI_MCA_btl_vader_backing_directory=" + path,
                                  "OMPI_MCA_osc_rdma_backing_directory=" + path}));
}

}  // namespace
}  // namespace weft::ranks
