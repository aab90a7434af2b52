// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/rendezvous.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/transport/shm/testing.hpp"
#include "transport/shm/partial_window.hpp"

namespace weft::link {
namespace {

constexpr const char* good_token = "00112233445566778899aabbccddeeff";

/// The variables, unset again at the end.
struct FromEnvironment : ::testing::Test {
  FromEnvironment() { set("job", "3", "weft-1-2", good_token); }
  ~FromEnvironment() override { set(nullptr, nullptr, nullptr, nullptr); }
  static void set(const char* nspace, const char* rank, const char* server, const char* token) {
    const auto one = [](const char* name, const char* value) {
      if (value != nullptr)
        ::setenv(name, value, 1);
      else
        ::unsetenv(name);
    };
    one(env_nspace, nspace), one(env_rank, rank), one(env_server, server), one(env_token, token),
        one(env_segment, nullptr), one(env_server_uid, nullptr), one(env_server_file, nullptr);
  }
  Identity found;
};

TEST_F(FromEnvironment, all_four_are_an_identity) {
  EXPECT_EQ(from_environment(found), Found::identity);
  EXPECT_EQ(found.nspace, "job");
  EXPECT_EQ(found.rank, 3u);
  EXPECT_EQ(found.server, "weft-1-2");
  EXPECT_EQ(found.token.hex(), good_token);
}

TEST_F(FromEnvironment, the_segment_is_a_hint_that_may_be_missing) {
  EXPECT_EQ(from_environment(found), Found::identity);
  EXPECT_EQ(found.segment, "");
  ::setenv(env_segment, "12:3", 1);
  EXPECT_EQ(from_environment(found), Found::identity);
  EXPECT_EQ(found.segment, "12:3");
}

TEST_F(FromEnvironment, the_servers_user_is_root_if_it_is_not_said) {
  EXPECT_EQ(from_environment(found), Found::identity);
  EXPECT_EQ(found.server_uid, 0u);
  ::setenv(env_server_uid, "1001", 1);
  EXPECT_EQ(from_environment(found), Found::identity);
  EXPECT_EQ(found.server_uid, 1001u);
}

TEST_F(FromEnvironment, a_server_is_found_by_its_file_where_its_name_is_not_known) {
  std::string folder = ::testing::TempDir() + "sockets.XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const auto path = folder + "/" + new_server_name();
  ::setenv(env_server, "weft-no-such-server", 1);
  EXPECT_EQ(from_environment(found), Found::identity);
  EXPECT_EQ(found.server_file, "");
  EXPECT_EQ(connect_to(found).error().code, Errc::unreachable);
  ::setenv(env_server_file, path.c_str(), 1);
  EXPECT_EQ(from_environment(found), Found::identity);
  EXPECT_EQ(connect_to(found).error().code, Errc::unreachable);
  {
    const auto listener = base::listen_at_file(path);
    ASSERT_TRUE(listener);
    EXPECT_TRUE(connect_to(found));
    EXPECT_EQ(base::listen_at_file(path).error().sys, EADDRINUSE);
  }
  EXPECT_EQ(connect_to(found).error().code, Errc::unreachable) << "the file is there, and no server";
  EXPECT_EQ(base::listen_at_file(std::string(108, 'x')).error().code, Errc::invalid);
  ::unlink(path.c_str());
  ::rmdir(folder.c_str());
}

TEST(Rendezvous, names_of_servers_are_told_from_others) {
  EXPECT_TRUE(is_server_name(new_server_name()));
  EXPECT_TRUE(is_server_name("weft-1-0123456789abcdef"));
  for (const char* other : {"", "weft", "weft-", "weft-1", "weft--0123456789abcdef", "weft-1-0123456789abcde",
                            "weft-1-0123456789abcdef0", "weft-1-0123456789abcdeX", "weft-x-0123456789abcdef",
                            "left-1-0123456789abcdef", "weft-10123456789abcdef"})
    EXPECT_FALSE(is_server_name(other)) << other;
}

TEST(CheckServer, is_for_own_servers_and_those_of_a_named_user) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can become another user";
  constexpr uid_t stranger = 54321, friend_of_ours = 54322;
  int ready[2], done[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(done), 0);
  const auto own = new_server_name(), name = own + "0";
  const auto own_socket = listen_on(own);
  ASSERT_TRUE(own_socket);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(done[1]);
    if (::setresuid(stranger, stranger, stranger) != 0) ::_exit(1);
    const auto socket = listen_on(name);
    char byte = 0;
    if (!socket || ::write(ready[1], &byte, 1) != 1) ::_exit(2);
    (void)!::read(done[0], &byte, 1);
    ::_exit(0);
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(check_server(connect_to(own)->get(), friend_of_ours));
  const auto socket = connect_to(name);
  ASSERT_TRUE(socket);
  EXPECT_TRUE(check_server(socket->get(), stranger));
  const auto refused = check_server(socket->get(), friend_of_ours);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::denied);
  for (const int fd : {ready[0], ready[1], done[0], done[1]}) ::close(fd);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(FromEnvironment, namespace_or_rank_missing_is_no_job) {
  ::unsetenv(env_nspace);
  EXPECT_EQ(from_environment(found), Found::none);
  set("job", nullptr, "weft-1-2", good_token);
  EXPECT_EQ(from_environment(found), Found::none);
}

TEST_F(FromEnvironment, server_or_token_missing_is_another_librarys_job) {
  ::unsetenv(env_server);
  EXPECT_EQ(from_environment(found), Found::foreign);
  set("job", "3", "weft-1-2", nullptr);
  EXPECT_EQ(from_environment(found), Found::foreign);
}

TEST_F(FromEnvironment, what_cannot_be_is_malformed) {
  for (const char* rank : {"", "-1", "3x", " 3", "3 ", "0x3", "4294967296", "99999999999999999999"}) {
    set("job", rank, "weft-1-2", good_token);
    EXPECT_EQ(from_environment(found), Found::malformed) << '"' << rank << '"';
  }
  for (const char* token : {"", "0011", "00112233445566778899aabbccddeefg",
                            "00112233445566778899AABBCCDDEEFF", "00112233445566778899aabbccddeeff00"}) {
    set("job", "3", "weft-1-2", token);
    EXPECT_EQ(from_environment(found), Found::malformed) << token;
  }
  set(std::string(256, 'n').c_str(), "3", "weft-1-2", good_token);
  EXPECT_EQ(from_environment(found), Found::malformed);
}

TEST_F(FromEnvironment, the_edges_that_can_be) {
  set(std::string(255, 'n').c_str(), "4294967295", "weft-1-2", good_token);
  EXPECT_EQ(from_environment(found), Found::identity);
  EXPECT_EQ(found.rank, 0xffffffffu);
  EXPECT_EQ(found.nspace.size(), 255u);
}

TEST(Token, is_written_and_read_back) {
  const auto token = Token::random();
  EXPECT_EQ(token.hex().size(), 32u);
  const auto back = Token::parse(token.hex());
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->equals(token));
  EXPECT_FALSE(Token::random().equals(token));
}

TEST(Token, differs_in_any_bit) {
  const auto token = Token::random();
  for (std::size_t bit = 0; bit < 128; ++bit) {
    auto other = token;
    other.bytes[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    ASSERT_FALSE(token.equals(other)) << bit;
    ASSERT_FALSE(other.equals(token)) << bit;
  }
}

TEST(ServerName, is_new_each_time_and_holds_no_separator) {
  const auto one = new_server_name(), two = new_server_name();
  EXPECT_NE(one, two);
  EXPECT_EQ(one.rfind("weft-" + std::to_string(::getpid()) + "-", 0), 0u);
  EXPECT_EQ(one.find_first_of("[]*:;,= "), std::string::npos);
}

TEST(Rendezvous, connects_by_name_without_a_file) {
  const auto name = new_server_name();
  const auto listener = listen_on(name);
  ASSERT_TRUE(listener);
  const auto client = connect_to(name);
  ASSERT_TRUE(client);
  const shm::Fd server(::accept(listener->get(), nullptr, nullptr));
  ASSERT_TRUE(server);
  ASSERT_EQ(::write(client->get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(server.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
  ucred peer{};
  socklen_t length = sizeof peer;
  ASSERT_EQ(::getsockopt(server.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length), 0);
  EXPECT_EQ(peer.pid, ::getpid());
  EXPECT_NE(::access(name.c_str(), F_OK), 0);
  for (const int fd : {listener->get(), client->get()}) EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Rendezvous, a_name_without_listener_is_unreachable) {
  const auto name = new_server_name();
  EXPECT_EQ(connect_to(name).error().code, Errc::unreachable);
  { ASSERT_TRUE(listen_on(name)); }
  EXPECT_EQ(connect_to(name).error().code, Errc::unreachable);  // gone with its socket
}

TEST(Rendezvous, a_name_is_taken_once) {
  const auto name = new_server_name();
  const auto first = listen_on(name);
  ASSERT_TRUE(first);
  const auto second = listen_on(name);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::os);
  EXPECT_EQ(second.error().sys, EADDRINUSE);
}

TEST(Rendezvous, names_of_all_lengths) {
  EXPECT_EQ(connect_to("").error().code, Errc::invalid);
  EXPECT_EQ(listen_on("").error().code, Errc::invalid);
  EXPECT_EQ(connect_to(std::string(108, 'x')).error().code, Errc::invalid);
  const auto longest = new_server_name() + std::string(107, 'x');
  const auto listener = listen_on(longest.substr(0, 107));
  ASSERT_TRUE(listener);
  EXPECT_TRUE(connect_to(longest.substr(0, 107)));
  EXPECT_EQ(connect_to(longest.substr(0, 106)).error().code, Errc::unreachable);  // no prefix will do
}

TEST(OpenSegment, of_a_process_of_the_same_user) {
  auto segment = shm::Segment::create(1 << 20);
  ASSERT_TRUE(segment);
  const auto at = segment->clients.make(2 * shm::page_bytes).value();
  auto* const clients = segment->clients.base() + at;
  clients[7] = segment->server.base()[7] = std::byte{42};
  const auto where = segment_place(::getpid(), segment->server.fd(), segment->clients.fd(at));
  const auto child = testing::start_child([&] {
    const auto fds = open_segment(where);
    if (!fds) return false;
    for (const auto* fd : {&fds->server, &fds->clients})
      if ((::fcntl(fd->get(), F_GETFD) & FD_CLOEXEC) == 0) return false;
    auto windows =
        shm::SegmentWindows::map(shm::Fd(::dup(fds->server.get())), shm::Fd(::dup(fds->clients.get())));
    if (!windows || windows->server.base()[7] != std::byte{42} || windows->clients.base()[7] != std::byte{42})
      return false;
    if (!windows->clients.make_writable(0, shm::page_bytes)) return false;
    windows->clients.base()[8] = std::byte{43};
    return !windows->server.make_writable(0, shm::page_bytes);
  });
  EXPECT_TRUE(testing::ended_well(testing::reap(child)));
  EXPECT_EQ(clients[8], std::byte{43});
}

TEST(OpenSegment, opens_nothing_but_a_segment) {
  const shm::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto me = std::to_string(::getpid());
  auto segment = shm::Segment::create(1 << 20);
  ASSERT_TRUE(segment);
  const auto at = segment->clients.make(shm::page_bytes).value();
  const auto server = std::to_string(segment->server.fd()), clients = std::to_string(segment->clients.fd(at));
  ASSERT_TRUE(open_segment(me + ':' + server + ':' + clients));
  for (const auto& where :
       {me + ':' + std::to_string(null.get()), me + ':' + server, me + ':' + clients + ':' + server,
        me + ':' + server + ':' + std::to_string(null.get()), me + ':' + server + ':' + clients + ':',
        me + ':' + server + ':', me + ":9999", std::string("4194304:3"), std::string(""), std::string(":"),
        me + ':', ':' + me, me, std::string("self:3"), me + ":3/../4", me + ":-1", me + ":3 ",
        std::string("99999999999:3"), me + ":3:4"})
    EXPECT_EQ(open_segment(where).error().code, Errc::not_found) << where;
}

TEST(Rendezvous, nothing_is_left_by_a_server_that_is_killed) {
  const auto name = new_server_name();
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const auto child = testing::start_child([&] {
    const auto listener = listen_on(name);
    (void)!::write(ready[1], "r", 1);
    ::pause();
    return listener.has_value();
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(connect_to(name));
  ::kill(child, SIGKILL);
  (void)testing::reap(child);
  EXPECT_EQ(connect_to(name).error().code, Errc::unreachable);
  EXPECT_TRUE(listen_on(name));
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace weft::link
