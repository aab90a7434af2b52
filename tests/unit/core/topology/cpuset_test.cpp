// SPDX-License-Identifier: BSD-3-Clause
#include <sched.h>

#include <future>
#include <thread>

#include "synthetic.hpp"

namespace weft::topology {
namespace {

using test::cpus;
using test::module;
using test::text_of;

TEST(Cpuset, lists_round_trip) {
  for (const char* list : {"", "0", "0-3", "0,2,4", "0-3,8,100-200", "1048575"}) {
    EXPECT_EQ(text_of(cpus(list)), list);
  }
  EXPECT_EQ(text_of(cpus("3,1-2,0")), "0-3");
}

TEST(Cpuset, refuses_malformed_lists) {
  for (const char* list : {"a", "0-", "-1", "0-a", "3-1", "0,", ",0", "0,,1", "0 1", "0x3", "0-3-5",
                           "1048576", "0-4294967295", "99999999999999999999"}) {
    EXPECT_EQ(module().parse_cpuset(list).error().code, Errc::invalid) << list;
  }
}

TEST(Cpuset, copies_and_compares) {
  const auto a = cpus("0-3"), b = cpus("0,1,2,3"), c = cpus("0-4");
  EXPECT_TRUE(module().equal_cpusets(a.get(), b.get()));
  EXPECT_FALSE(module().equal_cpusets(a.get(), c.get()));
  const test::Cpuset copy(module().copy_cpuset(a.get()).value());
  EXPECT_NE(copy.get(), a.get());
  EXPECT_TRUE(module().equal_cpusets(a.get(), copy.get()));
}

// The kernel's word, as a list.
std::vector<int> allowed() {
  cpu_set_t mask;
  EXPECT_EQ(::sched_getaffinity(0, sizeof mask, &mask), 0);
  std::vector<int> out;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &mask)) out.push_back(i);
  }
  return out;
}
void bind_to(int processor) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(processor, &mask);
  ASSERT_EQ(::sched_setaffinity(0, sizeof mask, &mask), 0);
}

TEST(Cpuset, of_the_thread_and_of_the_process) {
  const auto before = allowed();
  if (before.size() < 2) GTEST_SKIP() << "one processor: a thread cannot differ from its process";
  const test::Cpuset process_before(module().current_cpuset(true).value());
  std::promise<void> done;
  std::promise<std::string> of_thread;
  std::thread bound([&] {
    bind_to(before.back());
    of_thread.set_value(text_of(test::Cpuset(module().current_cpuset(false).value())));
    done.get_future().wait();
  });
  EXPECT_EQ(of_thread.get_future().get(), std::to_string(before.back()));
  const test::Cpuset process_now(module().current_cpuset(true).value());
  EXPECT_TRUE(module().equal_cpusets(process_before.get(), process_now.get())) << "this thread is still free";
  done.set_value();
  bound.join();
}

}  // namespace
}  // namespace weft::topology
