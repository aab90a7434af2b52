// SPDX-License-Identifier: BSD-3-Clause
// A server of this process without jobs, and where it listens.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "core/link/servers.hpp"
#include "core/server/server.hpp"
#include "tests/unit/transport/shm/testing.hpp"

namespace weft::server {

class ServerHere : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = Server::start(nullptr, nullptr, 0);
    ASSERT_TRUE(started);
    server_ = std::move(*started);
    const auto here = link::servers_here();
    ASSERT_TRUE(here);
    for (const auto& socket : *here)
      if (socket.pid == ::getpid()) name_ = socket.name;
    ASSERT_NE(name_, "");
  }

  testing::Watchdog watchdog_;
  Server::Owned server_;
  std::string name_;
};

}  // namespace weft::server
