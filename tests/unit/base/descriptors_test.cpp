// SPDX-License-Identifier: BSD-3-Clause
#include "base/descriptors.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.hpp"

namespace weft::base {
namespace {

bool is_inherited(const Fd& fd) {
  return (::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) == 0;
}

Fd opened() {
  return Fd(::open("/dev/null", O_RDONLY));
}

TEST(Descriptors, are_those_that_are_open) {
  const auto before = open_descriptors();
  const Fd fd = opened();
  const auto now = open_descriptors();
  EXPECT_TRUE(std::binary_search(now.begin(), now.end(), fd.get()));
  EXPECT_EQ(now.size(), before.size() + 1) << "not the one that lists them";
}

TEST(Descriptors, that_are_opened_meanwhile_close_on_exec) {
  const Fd before = opened();
  Fd meanwhile;
  {
    const ClosedOnExec closed;
    meanwhile = opened();
    EXPECT_TRUE(is_inherited(meanwhile));
  }
  const Fd after = opened();
  EXPECT_TRUE(is_inherited(before));
  EXPECT_FALSE(is_inherited(meanwhile));
  EXPECT_TRUE(is_inherited(after));
}

}  // namespace
}  // namespace weft::base
