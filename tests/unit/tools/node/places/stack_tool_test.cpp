// SPDX-License-Identifier: BSD-3-Clause
// What eu-stack and gdb write becomes one text for ranks in one place.
#include "tools/node/places/stack_tool.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tools/node/places/kernel_state.hpp"

namespace weft::node {
namespace {

TEST(StackTool, stacks_of_gdb_lose_what_tells_ranks_apart) {
  const auto text = [](const char* address) {
    return std::string("[Thread debugging using libthread_db enabled]\n") +
           "0x00007f31 in __poll ()\n#0  0x" + address + " in __GI___poll (fds=0x7ffd" + address +
           ", nfds=2) at ../sysdeps/unix/sysv/linux/poll.c:29\n#1  0x" + address +
           " in PMIx_Fence () from /usr/lib/libpmix.so.2\n#2  main (argc=1, argv=0x7ff" + address +
           ") at /home/user/ring.c:17\n[Inferior 1 (process 7) detached]\n";
  };
  EXPECT_EQ(stack_in(text("0000aa01")),
            "#0 __GI___poll at poll.c:29\n#1 PMIx_Fence in libpmix.so.2\n#2 main at ring.c:17");
  EXPECT_EQ(stack_in(text("0000aa01")), stack_in(text("00bb0002")));
}

TEST(StackTool, stacks_of_eu_stack_are_read) {
  EXPECT_EQ(stack_in("PID 4711 - process\nTID 4711:\n#0  0x00007fbd5c14c7e6 clock_nanosleep@@GLIBC_2.17\n"
                     "#1  0x00007fbd5c151a17\n#2  0x000055d5c1d0a139 main\n"),
            "#0 clock_nanosleep@@GLIBC_2.17\n#1 ?\n#2 main");
}

TEST(StackTool, a_long_stack_is_cut_and_says_so) {
  std::string output;
  for (int i = 0; i < 60; ++i) output += "#" + std::to_string(i) + "  0x1 deeper\n";
  const auto text = stack_in(output);
  EXPECT_TRUE(text.ends_with("#39 deeper\n... and 20 more")) << text;
}

TEST(StackTool, bytes_that_are_no_text_do_not_reach_a_terminal) {
  EXPECT_EQ(stack_in("#0  0x1 a\x1b[2Jb\xff\n"), "#0 a?[2Jb?");
  EXPECT_EQ(stack_in("#"), "#0 ?");
  EXPECT_EQ(stack_in("#0  0x1"), "#0 ?");
}

TEST(StackTool, what_is_no_stack_is_a_complaint) {
  const auto* refused = "ptrace: Operation not permitted.\nNo stack.\n";
  EXPECT_EQ(stack_in(refused), "");
  EXPECT_EQ(complaint_in(refused), "ptrace: Operation not permitted.");
  EXPECT_EQ(complaint_in(""), "");
}

TEST(StackTool, is_the_first_in_the_search_path_that_can_be_executed) {
  auto folder = (std::filesystem::temp_directory_path() / "stack_tool_XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  EXPECT_FALSE(find_stack_tool(folder));
  std::ofstream(folder + "/gdb") << "#!/bin/sh\n";
  EXPECT_FALSE(find_stack_tool(folder)) << "it cannot be executed";
  ASSERT_EQ(::chmod((folder + "/gdb").c_str(), 0755), 0);
  ASSERT_TRUE(find_stack_tool("/none:" + folder));
  EXPECT_EQ(stack_command(*find_stack_tool(folder), 17).front(), folder + "/gdb");
  std::filesystem::copy_file(folder + "/gdb", folder + "/eu-stack");
  EXPECT_EQ(find_stack_tool(folder)->kind, StackTool::Kind::eu_stack);
  EXPECT_FALSE(find_stack_tool(""));
  std::filesystem::remove_all(folder);
}

TEST(KernelState, names_the_call_or_the_kernels_function) {
  EXPECT_EQ(kernel_text('S', "202 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8", "futex_wait_queue"), "sleeps in futex");
  EXPECT_EQ(kernel_text('S', "", "futex_wait_queue"), "sleeps in futex_wait_queue");
  EXPECT_EQ(kernel_text('S', "", "0"), "sleeps");
  EXPECT_EQ(kernel_text('R', "running", "0"), "runs");
  EXPECT_EQ(kernel_text('T', "-1 0x1 0x2", "do_signal_stop"), "is stopped");
  EXPECT_EQ(kernel_text('S', "9999 0x1", ""), "sleeps in system call 9999");
  EXPECT_EQ(kernel_state(::getpid()), "runs");
  EXPECT_EQ(kernel_state(0x7ffffff0), "") << "there is no such process";
}

}  // namespace
}  // namespace weft::node
