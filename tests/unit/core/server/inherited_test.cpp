// SPDX-License-Identifier: BSD-3-Clause
// What a program that a host starts inherits of the host's server: nothing, whichever fabric was opened.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/descriptors.hpp"
#include "core/server/server.hpp"
#include "tests/unit/transport/shm/testing.hpp"

namespace weft::server {
namespace {

std::vector<int> inherited() {
  auto fds = base::open_descriptors();
  std::erase_if(fds, [](int fd) { return (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0; });
  return fds;
}

class Inherited : public ::testing::TestWithParam<const char*> {
 protected:
  Inherited() {
    ::setenv("WEFT_TRANSPORT", GetParam(), 1);
    ::setenv("WEFT_NET", "lo", 1);
    ::setenv("UCX_MEM_MMAP_HOOK_MODE", "none", 1);
    ::setenv("UCX_MEM_EVENTS", "n", 1);
    if (const char* folder = std::getenv("WEFT_TEST_MODULES")) ::setenv("WEFT_MODULE_PATH", folder, 1);
  }
  ~Inherited() override {
    for (const char* name : {"WEFT_TRANSPORT", "WEFT_NET", "WEFT_MODULE_PATH"}) ::unsetenv(name);
  }
  testing::Watchdog watchdog_;
};

TEST_P(Inherited, nothing_that_a_server_of_two_nodes_opens) {
  data::Infos infos;
  const std::array<std::byte, 32> key{};
  infos.add(PMIX_SERVER_NSPACE, data::Value::of("session"));
  infos.add(PMIX_SERVER_RANK, data::Value::of_rank(0));
  infos.add(PMIX_NUM_NODES, data::Value::of(std::uint32_t{2}));
  infos.add(PMIX_HOSTNAME, data::Value::of("host"));
  infos.add("weft.key", data::Value::of_bytes(key));
  const auto before = inherited();
  const auto server = Server::start(nullptr, infos.data(), infos.size());
  if (!server) GTEST_SKIP() << "no transport " << GetParam() << " here";
  EXPECT_EQ(inherited(), before);
}

INSTANTIATE_TEST_SUITE_P(Over, Inherited, ::testing::Values("shm", "tcp", "ofi", "ucx"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace weft::server
