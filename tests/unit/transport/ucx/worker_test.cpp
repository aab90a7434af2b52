// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/worker.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace weft::ucx {
namespace {

/// Shared memory that UCX has mapped into this process.
bool maps_shared_memory() {
  std::ifstream maps("/proc/self/maps");
  const std::string all(std::istreambuf_iterator<char>(maps), {});
  return all.find("ucx_shm_posix") != all.npos || all.find("/SYSV") != all.npos;
}

TEST(Worker, shared_memory_is_opened_where_the_user_names_it_only) {
  ::unsetenv("UCX_TLS");
  std::string why_not;
  {
    const auto worker = Worker::open({}, why_not);
    ASSERT_TRUE(worker) << worker.error().what;
    EXPECT_FALSE(maps_shared_memory());
  }
  {
    Worker::Options options;
    options.transports = "posix,tcp";
    const auto worker = Worker::open(options, why_not);
    ASSERT_TRUE(worker) << worker.error().what;
    EXPECT_TRUE(maps_shared_memory());
  }
  ::setenv("UCX_TLS", "posix,tcp", 1);
  const auto worker = Worker::open({}, why_not);
  ASSERT_TRUE(worker) << worker.error().what;
  EXPECT_TRUE(maps_shared_memory());
  ::unsetenv("UCX_TLS");
}

}  // namespace
}  // namespace weft::ucx
