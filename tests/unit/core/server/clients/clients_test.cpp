// SPDX-License-Identifier: BSD-3-Clause
// The way of a client in and out.
#include "core/server/clients/clients.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/core/server/clients/one_node.hpp"

namespace weft::server {
namespace {

using store::Local;

class ClientsTest : public OneNode {};

TEST_F(ClientsTest, a_rank_with_its_token_is_welcome) {
  EXPECT_EQ(state(1), Local::registered);
  auto& line = arrive(hello_of(1));
  const auto reply = line.read();
  ASSERT_TRUE(reply);
  ASSERT_EQ(reply->type, link::MessageType::welcome);
  const auto welcome = link::decode<link::Welcome>(reply->payload);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->local, job().view().local_index(1));
  EXPECT_EQ(welcome->server_nspace, "server");
  EXPECT_EQ(welcome->segment_bytes, 0u);  // its hello wants none
  EXPECT_EQ(state(1), Local::connected);
  line.write(link::MessageType::get, 5, {});
  EXPECT_EQ(frames.size(), 1u);
}

TEST_F(ClientsTest, a_refusal_says_why) {
  auto other_version = hello_of(0), other_token = hello_of(0), unknown = hello_of(0), no_rank = hello_of(0);
  other_version.wire = link::wire_version + 1;
  other_token.token = tokens.token_of(proc(1));
  unknown.nspace = "nowhere";
  no_rank.rank = 99;
  no_rank.token = tokens.token_of(proc(99));
  const struct {
    const link::Hello& hello;
    pmix_status_t status;
    const char* reason;
  } rows[] = {{other_version, PMIX_ERR_NOT_SUPPORTED, "speaks version"},
              {other_token, PMIX_ERR_NO_PERMISSIONS, "token is not the one of rank 0"},
              {unknown, PMIX_ERR_NOT_FOUND, "namespace nowhere is not registered"},
              {no_rank, PMIX_ERR_NOT_FOUND, "rank 99 is not one of this node"}};
  for (const auto& row : rows) {
    const auto refused = refusal_on(arrive(row.hello));
    EXPECT_EQ(refused.status, row.status) << row.reason;
    EXPECT_NE(refused.reason.find(row.reason), std::string::npos) << refused.reason;
  }
  EXPECT_EQ(state(0), Local::registered);
}

TEST_F(ClientsTest, a_rank_is_connected_once) {
  enter(0);
  const auto refused = refusal_on(arrive(hello_of(0)));
  EXPECT_EQ(refused.status, PMIX_ERR_EXISTS);
  EXPECT_NE(refused.reason.find("connected already, as pid"), std::string::npos) << refused.reason;
  EXPECT_EQ(state(0), Local::connected);
}

TEST_F(ClientsTest, a_rank_that_finalized_may_come_again) {
  auto& first = enter(0);
  rooms->clients.finalize(first.connection, 9);
  EXPECT_EQ(first.reply_to(9), PMIX_SUCCESS);
  EXPECT_EQ(state(0), Local::finalized);
  enter(0);
  EXPECT_EQ(state(0), Local::connected);
}

TEST_F(ClientsTest, an_end_without_finalize_is_announced) {
  auto& watcher = enter(0);
  ASSERT_TRUE(rooms->events.subscribe(*watcher.connection, {PMIX_ERR_PROC_ABORTED}));
  auto& dies = enter(1);
  dies.other.reset();
  dies.turn();
  EXPECT_EQ(state(1), Local::gone);
  const auto told = watcher.read();
  ASSERT_TRUE(told);
  ASSERT_EQ(told->type, link::MessageType::event);
  const auto event = link::decode<link::EventMessage>(told->payload);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->code, PMIX_ERR_PROC_ABORTED);
  EXPECT_EQ(event->source.rank, 1u);
}

TEST_F(ClientsTest, clean_up_is_not_ordered_for_a_rank_of_unknown_user) {
  auto& orders = enter(0);
  link::JobControl message;
  message.directives.add(PMIX_REGISTER_CLEANUP, data::Value::of("/nowhere/file"));
  const auto order_for = [&](std::uint32_t rank) {
    message.targets = {proc(rank)};
    return rooms->clients.order_cleanup(*orders.connection, message);
  };
  EXPECT_EQ(order_for(1), PMIX_SUCCESS);
  job().clients[1].uid = ::getuid() + 1;
  EXPECT_EQ(order_for(1), PMIX_ERR_NO_PERMISSIONS);
  job().clients.erase(2);
  EXPECT_EQ(order_for(2), PMIX_ERR_NOT_FOUND) << "it may be registered as any user's yet";
  EXPECT_EQ(order_for(PMIX_RANK_WILDCARD), PMIX_ERR_NO_PERMISSIONS);
  enter(2);
  EXPECT_EQ(order_for(2), PMIX_SUCCESS) << "the kernel says whose it is";
}

TEST_F(ClientsTest, an_end_that_the_host_expects_is_not) {
  auto& watcher = enter(0);
  ASSERT_TRUE(rooms->events.subscribe(*watcher.connection, {PMIX_ERR_PROC_ABORTED}));
  auto& ends = enter(1);
  ends_are_expected = true;
  ends.other.reset();
  ends.turn();
  EXPECT_FALSE(watcher.read());
}

// ---- clean-up

struct CleanupTest : ::testing::Test {
  CleanupTest() {
    std::string root = ::testing::TempDir() + "cleanup.XXXXXX";
    EXPECT_NE(::mkdtemp(root.data()), nullptr);
    top = root;
    std::filesystem::create_directories(top / "dir/deep");
    for (const char* name : {"file", "kept", "dir/one", "dir/deep/two", "target"})
      std::ofstream(top / name) << "x";
    std::filesystem::create_symlink(top / "target", top / "link");
  }
  ~CleanupTest() override { std::filesystem::remove_all(top); }
  bool is_there(const char* name) const {
    return std::filesystem::symlink_status(top / name).type() != std::filesystem::file_type::not_found;
  }
  static Result<CleanupOrder> order(std::initializer_list<std::pair<const char*, data::Value>> pairs) {
    data::Infos infos;
    for (auto& [key, value] : pairs) infos.add(key, std::move(*data::Value::copy_of(value.get())));
    return CleanupOrder::parse(infos.data(), infos.size());
  }
  std::filesystem::path top;
  base::Worker::Steps steps{0};
};

TEST_F(CleanupTest, only_absolute_paths_are_taken) {
  EXPECT_FALSE(order({}).value_or(CleanupOrder{}).files.size());
  for (const char* wrong : {"relative", "/", "a/b", "/fine,relative"}) {
    data::Infos infos;
    infos.add(PMIX_REGISTER_CLEANUP, data::Value::of(wrong));
    EXPECT_FALSE(CleanupOrder::parse(infos.data(), infos.size())) << wrong;
  }
  data::Infos number;
  number.add(PMIX_REGISTER_CLEANUP, data::Value::of(std::uint32_t{7}));
  EXPECT_FALSE(CleanupOrder::parse(number.data(), number.size()));
}

TEST_F(CleanupTest, a_link_is_removed_and_not_what_it_leads_to) {
  CleanupOrder order;
  order.files = {(top / "file").string(), (top / "link").string(), (top / "not there").string()};
  order.carry_out(::getuid(), steps);
  EXPECT_FALSE(is_there("file"));
  EXPECT_FALSE(is_there("link"));
  EXPECT_TRUE(is_there("target"));
  EXPECT_TRUE(is_there("kept"));
}

TEST_F(CleanupTest, what_is_anothers_stays) {
  CleanupOrder order;
  order.files = {(top / "file").string()};
  order.directories = {(top / "dir").string()};
  order.recursive = true;
  order.carry_out(::getuid() + 1, steps);
  EXPECT_TRUE(is_there("file"));
  EXPECT_TRUE(is_there("dir/deep/two"));
}

TEST_F(CleanupTest, a_directory_goes_as_far_as_was_asked_for) {
  CleanupOrder order;
  order.directories = {(top / "dir").string()};
  order.only_empty = true;
  order.carry_out(::getuid(), steps);
  EXPECT_TRUE(is_there("dir/one"));
  order.only_empty = false;
  order.carry_out(::getuid(), steps);  // not what is below it
  EXPECT_FALSE(is_there("dir/one"));
  EXPECT_TRUE(is_there("dir/deep/two"));
  order.recursive = order.leave_top = true;
  order.ignored = {(top / "dir/deep/two").string()};
  order.carry_out(::getuid(), steps);
  EXPECT_TRUE(is_there("dir/deep/two"));
  order.ignored.clear();
  order.carry_out(::getuid(), steps);
  EXPECT_FALSE(is_there("dir/deep"));
  EXPECT_TRUE(is_there("dir"));
}

TEST_F(CleanupTest, orders_of_a_process_are_carried_out_once) {
  std::optional<CleanupBook> book(std::in_place);
  CleanupOrder one;
  one.files = {(top / "file").string()};
  EXPECT_TRUE(book->add(link::make_proc("job", 1), one, ::getuid()));
  book->carry_out(link::make_proc("job", 2));
  book->wait();
  EXPECT_TRUE(is_there("file"));
  book->carry_out(link::make_proc("job", 1));
  book->wait();
  EXPECT_FALSE(is_there("file"));
  std::ofstream(top / "file") << "again";
  book->carry_out(link::make_proc("job", 1));
  book.reset();
  EXPECT_TRUE(is_there("file"));
}

TEST_F(CleanupTest, what_is_removed_is_the_orderers_not_the_processes) {
  CleanupBook book;
  CleanupOrder one;
  one.files = {(top / "file").string()};
  EXPECT_TRUE(book.add(link::make_proc("job", 1), one, ::getuid() + 1));
  book.carry_out(link::make_proc("job", 1));
  book.wait();
  EXPECT_TRUE(is_there("file"));
}

TEST_F(CleanupTest, orders_for_a_process_are_bounded) {
  CleanupBook book;
  CleanupOrder one;
  const auto proc = link::make_proc("job", 1);
  const auto add_long_one = [&](std::size_t number) {
    one.files = {"/" + std::string(1 << 20, static_cast<char>('a' + number))};
    return book.add(proc, one, ::getuid());
  };
  const auto most = CleanupBook::most_bytes >> 20;
  for (std::size_t i = 1; i < most; ++i) EXPECT_TRUE(add_long_one(i)) << i;
  EXPECT_FALSE(add_long_one(most));
  EXPECT_TRUE(add_long_one(1)) << "the same again needs no room";
  one.files = {(top / "file").string()};
  EXPECT_TRUE(book.add(proc, one, ::getuid())) << "there is room for a short one";
  EXPECT_TRUE(book.add(link::make_proc("job", 2), one, ::getuid()))
      << "and another process has room of its own";
}

}  // namespace
}  // namespace weft::server
