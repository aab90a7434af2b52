// SPDX-License-Identifier: BSD-3-Clause
// What ranks find in their environment.
#include "tools/node/program/environment.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::node {
namespace {

TEST(Environment, other_jobs_are_forgotten) {
  EXPECT_TRUE(belongs_to_another_job("PMIX_RANK=3"));
  EXPECT_TRUE(belongs_to_another_job("PMIX_SERVER_URI41=x"));
  EXPECT_TRUE(belongs_to_another_job("OMPI_COMM_WORLD_RANK=1"));
  EXPECT_TRUE(belongs_to_another_job("OMPI_MCA_ess=pmi"));
  EXPECT_FALSE(belongs_to_another_job("OMPI_MCA_btl=self"));
  EXPECT_FALSE(belongs_to_another_job("PMIX_MCA_gds=hash"));
  EXPECT_FALSE(belongs_to_another_job("PATH=/bin"));
}

TEST(Environment, what_describes_another_job_is_left_out) {
  EXPECT_EQ(without_other_jobs({"PATH=/bin", "PMIX_RANK=3", "A=1"}), (Variables{"PATH=/bin", "A=1"}));
}

TEST(Environment, additions_of_a_program) {
  EXPECT_EQ(
      additions_to({"PATH=/bin", "LD_LIBRARY_PATH=/opt"}, "/weft/lib", true),
      (Variables{"LD_LIBRARY_PATH=/weft/lib:/opt", "JSM_JSRUN_PORT=0", "OMPI_MCA_mpi_oversubscribe=1"}));
  EXPECT_EQ(additions_to({}, "/weft/lib", false),
            (Variables{"LD_LIBRARY_PATH=/weft/lib", "JSM_JSRUN_PORT=0"}));
}

TEST(Environment, openmp_has_the_processors_of_its_rank) {
  using job::BindTo;
  EXPECT_EQ(openmp_variables({}, 4, BindTo::core),
            (Variables{"OMP_NUM_THREADS=4", "OMP_PLACES=cores", "OMP_PROC_BIND=close"}));
  EXPECT_EQ(openmp_variables({}, 4, BindTo::hwthread),
            (Variables{"OMP_NUM_THREADS=4", "OMP_PLACES=threads", "OMP_PROC_BIND=close"}));
  EXPECT_EQ(openmp_variables({}, 4, BindTo::none), Variables{"OMP_NUM_THREADS=4"});
  EXPECT_EQ(openmp_variables({"OMP_NUM_THREADS=", "OMP_PROC_BIND=false"}, 4, BindTo::core), Variables());
  for (const char* own : {"OMP_PLACES=x", "GOMP_CPU_AFFINITY=0", "KMP_AFFINITY=compact"})
    EXPECT_EQ(openmp_variables({own}, 4, BindTo::core), Variables{"OMP_NUM_THREADS=4"}) << own;
}

TEST(Environment, a_working_directory_as_a_shell_has_it) {
  EXPECT_EQ(working_directory_variable("/usr/lib", "/home"), "PWD=/usr/lib");
  EXPECT_EQ(working_directory_variable("/usr/lib//", "/home"), "PWD=/usr/lib");
  EXPECT_EQ(working_directory_variable("lib", "/usr"), "PWD=/usr/lib");
  EXPECT_EQ(working_directory_variable("..", "/usr"), "PWD=/");
  EXPECT_EQ(working_directory_variable("./no-such-folder", "/usr"), "PWD=/usr/./no-such-folder");
}

TEST(Environment, the_users_choice_stays) {
  EXPECT_EQ(additions_to({"OMPI_MCA_mpi_oversubscribe=0", "JSM_JSRUN_PORT=7"}, "", true), Variables());
}

TEST(Environment, of_a_rank_replaces_what_is_shared) {
  const Variables shared = {"A=1", "B=2"}, own = {"B=3", "C=4"};
  const auto envp = make_envp(shared, own);
  ASSERT_EQ(envp.size(), 4U);
  EXPECT_STREQ(envp[0], "A=1");
  EXPECT_STREQ(envp[1], "B=3");
  EXPECT_STREQ(envp[2], "C=4");
  EXPECT_EQ(envp[3], nullptr);
}

}  // namespace
}  // namespace weft::node
