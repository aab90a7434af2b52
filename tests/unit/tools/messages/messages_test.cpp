// SPDX-License-Identifier: BSD-3-Clause
// Every line about a failure names what failed, and what can be done.
#include "tools/messages/messages.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weft::messages {
namespace {

TEST(Wording, a_failure_names_rank_host_pid_and_program) {
  const Where where{job::Rank{3}, "node7", 4711, "./ring", ""};
  for (const auto& line : {rank_killed(where, 11, false), rank_failed(where, 2, false),
                           rank_left_without_finalize(where), rank_aborted(where, 5, "N/A", {})}) {
    EXPECT_EQ(line.find("rank 3 on node7 (pid 4711, ./ring)"), 0U) << line;
    EXPECT_NE(line.find("What to do: "), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
  EXPECT_NE(rank_killed(where, 11, false).find("signal 11 (SIGSEGV)"), std::string::npos);
}

TEST(Wording, a_start_that_takes_long_names_what_it_waits_for) {
  EXPECT_EQ(still_starting(3, 1, 0, {"b", "c"}, 3.2),
            "1 of 3 daemons have reported after 3 s; not yet: b, c");
  EXPECT_EQ(still_starting(9, 9, 3, {"d", "e", "f", "g", "h", "i"}, 13),
            "3 of 9 daemons have started their ranks after 13 s; not yet: d, e, f, g and 2 more");
}

TEST(Wording, few_descriptors_are_named_with_their_limit) {
  EXPECT_EQ(with_descriptor_limit("pipe: Too many open files", 1024),
            "pipe: Too many open files. What to do: raise the limit of open files, which is 1024 here: "
            "ulimit -n 4096");
  EXPECT_NE(with_descriptor_limit("no transport works", 20).find("which is 20 here"), std::string::npos);
  EXPECT_EQ(with_descriptor_limit("no transport works", 64), "no transport works");
  EXPECT_EQ(with_descriptor_limit("no transport works", 0), "no transport works");
  EXPECT_EQ(with_descriptor_limit("Raise ulimit -n", 20), "Raise ulimit -n");
  EXPECT_EQ(
      with_descriptor_limit("lost. What to do: look", 32),
      "lost. What to do: look; and first of all raise the limit of open files, which is 32 here: ulimit -n "
      "1024");
  EXPECT_EQ(with_descriptor_limit("lost. What to do: look", 64), "lost. What to do: look");
}

TEST(Wording, a_lost_library_names_both_files_and_the_folder_to_set) {
  const auto line = library_lost("none of the 2 ranks reached", "./ring",
                                 {"/opt/weft/lib/libpmix.so.2.4.2", "/usr/lib/libpmix.so.2.6.2", "node7"});
  for (const auto* part :
       {"none of the 2 ranks reached weftrun's PMIx library, /opt/weft/lib/libpmix.so.2.4.2",
        "/usr/lib/libpmix.so.2.6.2, was opened on node7", "on the way from weftrun to ./ring",
        "What to do: put /opt/weft/lib first on LD_LIBRARY_PATH"})
    EXPECT_NE(line.find(part), std::string::npos) << line << "\n  lacks: " << part;
}

TEST(Wording, ranks_that_no_runtime_found_are_told_why) {
  const auto line = [](const job::Interface& interface, std::uint32_t size = 4) {
    return not_of_the_job("./a.out", interface, size);
  };
  EXPECT_EQ(line({}), "");  // a plain program
  job::Interface open_mpi{"libmpi.so.40", "", "", false, false};
  EXPECT_NE(line(open_mpi).find("none of the 4 ranks called PMIx_Init, although ./a.out needs libmpi.so.40"),
            std::string::npos);
  EXPECT_EQ(line(open_mpi, 1), "");  // a job of one is what it is
  job::Interface mpich{"libmpich.so.12", "", "", true, false};
  EXPECT_NE(line(mpich).find("--pmi off"), std::string::npos);
  mpich.has_weftpmi = true;
  EXPECT_EQ(line(mpich), "");
  const job::Interface other{"", "/opt/x/libpmix.so.2.6.2", "/opt/weft/libpmix.so.2.4.2", false, false};
  for (const auto* part : {"/opt/x/libpmix.so.2.6.2", "/opt/weft/libpmix.so.2.4.2", "What to do: "})
    EXPECT_NE(line(other, 1).find(part), std::string::npos) << part;
}

}  // namespace
}  // namespace weft::messages
