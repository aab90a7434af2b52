// SPDX-License-Identifier: BSD-3-Clause
#include "core/topology/memory.hpp"

#include <numaif.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "synthetic.hpp"

namespace weft::topology {
namespace {

using test::cpus;
using test::module;

class Mapping {
 public:
  explicit Mapping(std::size_t pages) : bytes_(pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    at_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  }
  Mapping(const Mapping&) = delete;
  ~Mapping() { ::munmap(at_, bytes_); }
  void* at() const { return at_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  void* at_;
};

class Memory : public testing::Test {
 protected:
  // A kernel without NUMA, or a container that forbids the system call, is named as the reason.
  void SetUp() override {
    int policy = 0;
    if (::get_mempolicy(&policy, nullptr, 0, nullptr, 0) != 0)
      GTEST_SKIP() << "get_mempolicy: errno " << errno;
    const auto here = module().numa_nodes(test::Cpuset(module().current_cpuset(true).value()).get());
    ASSERT_TRUE(here);
    ASSERT_FALSE(here->empty()) << "the processors of this process are on some node";
    nodes_ = *here;
  }
  std::vector<unsigned> nodes_;
};

TEST_F(Memory, the_policy_is_set_on_the_mapping) {
  const Mapping memory(8);
  const auto set = module().interleave(memory.at(), memory.bytes(), nodes_);
  if (!set && set.error().sys == EPERM) GTEST_SKIP() << "mbind is forbidden here";
  ASSERT_TRUE(set) << set.error().what << " " << set.error().sys;
  int policy = -1;
  ASSERT_EQ(::get_mempolicy(&policy, nullptr, 0, memory.at(), MPOL_F_ADDR), 0);
  EXPECT_EQ(policy, MPOL_INTERLEAVE);
}

TEST_F(Memory, refuses_nodes_that_are_not_there_and_crooked_addresses) {
  const Mapping memory(2);
  const std::vector<unsigned> absent{1000000};
  EXPECT_EQ(module().interleave(memory.at(), memory.bytes(), absent).error().code, Errc::invalid);
  EXPECT_EQ(module().interleave(memory.at(), memory.bytes(), {}).error().code, Errc::invalid);
  const auto crooked = module().interleave(static_cast<char*>(memory.at()) + 1, 4096, nodes_);
  EXPECT_FALSE(crooked);
}

TEST_F(Memory, does_nothing_on_one_node) {
  if (!has_one_numa_node()) GTEST_SKIP() << "this machine has several";
  const Mapping memory(2);
  const std::vector<unsigned> absent{0, 1000000};
  EXPECT_TRUE(interleave_memory(memory.at(), memory.bytes(), absent));
  int policy = -1;
  ASSERT_EQ(::get_mempolicy(&policy, nullptr, 0, memory.at(), MPOL_F_ADDR), 0);
  EXPECT_NE(policy, MPOL_INTERLEAVE);
}

TEST_F(Memory, a_cpuset_without_processors_has_no_nodes) {
  EXPECT_TRUE(module().numa_nodes(cpus("").get())->empty());
}

}  // namespace
}  // namespace weft::topology
