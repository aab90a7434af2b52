// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/servers.hpp"

#include <gtest/gtest.h>

#include <unistd.h>
#include <cstring>

#include <algorithm>

#include "core/link/rendezvous.hpp"

namespace weft::link {
namespace {

constexpr const char* head = "Num       RefCount Protocol Flags    Type St Inode Path\n";

std::string listener(const std::string& path) {
  return "0000000000000000: 00000002 00000000 00010000 0001 01 24068 " + path + "\n";
}

TEST(ServersIn, finds_those_that_listen) {
  const auto found = servers_in(head + listener("@weft-200-0123456789abcdef") + listener("/run/dbus/socket") +
                                "0000000000000000: 00000003 00000000 00000000 0001 03 24071\n" +
                                listener("@weft-17-fedcba9876543210"));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].pid, 17);
  EXPECT_EQ(found[0].name, "weft-17-fedcba9876543210");
  EXPECT_EQ(found[1].pid, 200);
}

// The end of a connection that the server accepted has the same path.
TEST(ServersIn, leaves_connections_out) {
  EXPECT_TRUE(
      servers_in("0000000000000000: 00000003 00000000 00000000 0001 03 1 @weft-200-0123456789abcdef\n")
          .empty());
}

TEST(ServersIn, leaves_other_names_out) {
  for (const char* path :
       {"weft-200-0123456789abcdef", "@weft-200-0123456789abcde", "@weft-200-0123456789abcdeff",
        "@weft--0123456789abcdef", "@weft-0-0123456789abcdef", "@weft--5-0123456789abcdef",
        "@weft-99999999999-0123456789abcdef", "@weft-2x0-0123456789abcdef", "@weft-200-0123456789abcdeg",
        "@weft-200_0123456789abcdef", "@weft-", "@", "@drop-200-0123456789abcdef"})
    EXPECT_TRUE(servers_in(listener(path)).empty()) << path;
}

TEST(ServersIn, reads_what_is_cut_anywhere) {
  const auto whole = head + listener("@weft-200-0123456789abcdef");
  for (std::size_t length = 0; length < whole.size() - 1; ++length)
    EXPECT_TRUE(servers_in(std::string_view(whole).substr(0, length)).empty()) << length;
  EXPECT_EQ(servers_in(std::string_view(whole).substr(0, whole.size() - 1)).size(), 1U);
}

TEST(ServersHere, has_the_servers_that_listen_now) {
  const auto name = new_server_name();
  const auto is_there = [&] {
    const auto here = servers_here();
    return here && std::any_of(here->begin(), here->end(), [&](const ServerSocket& server) {
             return server.name == name && server.pid == ::getpid();
           });
  };
  EXPECT_FALSE(is_there());
  {
    const auto socket = listen_on(name);
    ASSERT_TRUE(socket);
    EXPECT_TRUE(is_there());
  }
  EXPECT_FALSE(is_there());
}

TEST(Uri, says_where_a_server_listens) {
  pmix_proc_t server{};
  std::strcpy(server.nspace, "name;weft:of.server");  // as its host likes
  server.rank = 7;
  const auto uri = uri_of(server, "weft-123-0123456789abcdef");
  EXPECT_EQ(uri, "name;weft:of.server.7;weft:weft-123-0123456789abcdef");
  const auto socket = socket_in(uri);
  ASSERT_TRUE(socket);
  EXPECT_EQ(socket->pid, 123);
  EXPECT_EQ(socket->name, "weft-123-0123456789abcdef");
}

TEST(Uri, of_another_library_is_none) {
  for (const auto& uri :
       {std::string(), std::string("a.0"), std::string("a.0;tcp4://127.0.0.1:1234"), std::string("weft:1"),
        std::string("a.0;weft:"), std::string("a.0;weft:weft-0-0123456789abcdef"),
        std::string("a.0;weft:other-1-0123456789abcdef"), std::string("a.0;weft:weft-1-0123456789abcdeX"),
        "a.0;weft:weft-1" + std::string(5000, '1') + "-0123456789abcdef", std::string("\0\0\0", 3)})
    EXPECT_FALSE(socket_in(uri)) << uri;
}

}  // namespace
}  // namespace weft::link
