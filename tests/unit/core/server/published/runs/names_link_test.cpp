// SPDX-License-Identifier: BSD-3-Clause
// A guest's connection to the run that keeps its names; the other end is the test's.
#include "core/server/published/runs/names_link.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "core/link/messages.hpp"
#include "core/server/published/runs/far_names.hpp"
#include "transport/mesh/version.hpp"

namespace weft::server {
namespace {

using link::MessageType;
using Call = link::GuestRequest::Call;

class Link : public ::testing::Test {
 protected:
  /// Until nothing is ready.
  void turn() {
    io_.restart();
    io_.poll();
    loop_.run_due();
  }
  void open() {
    int ends[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    other_ = base::Fd(ends[1]);
    link_.open(base::Fd(ends[0]), link::make_proc("server", 0),
               [this](pmix_status_t status) { begun_ = status; });
    turn();
  }
  void open_and_begin() {
    open();
    const auto request = read();
    ASSERT_TRUE(request);
    write(MessageType::guest_reply, tag_, link::encode(link::GuestReply{PMIX_SUCCESS, {}}));
    ASSERT_EQ(begun_, PMIX_SUCCESS);
  }
  /// What the link has sent.
  std::optional<link::GuestRequest> read() {
    const auto frame = link::receive_frame(other_.get());
    if (!frame || frame->type != MessageType::guest_request) return std::nullopt;
    tag_ = frame->tag;
    auto request = link::decode<link::GuestRequest>(frame->payload);
    return request ? std::optional(std::move(*request)) : std::nullopt;
  }
  void write(MessageType type, std::uint64_t tag, const std::vector<std::byte>& payload) {
    (void)link::send_frame(other_.get(), type, tag, payload);
    turn();
  }
  /// A request whose end is in ended_.
  void ask() {
    (void)link_.send(Call::publish, 1, {}, [this](pmix_status_t status, Bytes) { ended_.push_back(status); });
  }

  asio::io_context io_;
  Loop::TimePoint now_{};
  Loop loop_{io_, &now_};
  std::vector<link::GuestTaken> taken_;
  int lost_ = 0;
  NamesLink link_{loop_,
                  {[this](const link::GuestTaken& taken) { taken_.push_back(taken); },
                   [this](const pmix_proc_t&) { ++lost_; }}};
  base::Fd other_;
  pmix_status_t begun_ = PMIX_ERROR;
  std::vector<pmix_status_t> ended_;
  std::uint64_t tag_ = 0;
};

TEST_F(Link, begins_with_the_word_of_the_other_run) {
  open();
  EXPECT_FALSE(link_.is_used());
  const auto request = read();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->call, Call::begin);
  EXPECT_EQ(request->format, mesh::protocol_version);
  write(MessageType::guest_reply, tag_, link::encode(link::GuestReply{PMIX_SUCCESS, {}}));
  EXPECT_EQ(begun_, PMIX_SUCCESS);
  EXPECT_TRUE(link_.is_used());
  now_ += 2 * NamesLink::patience;
  turn();
  EXPECT_TRUE(link_.is_used());
  pmix_status_t again = PMIX_SUCCESS;
  link_.open(base::Fd(), {}, [&](pmix_status_t status) { again = status; });
  EXPECT_EQ(again, PMIX_ERR_EXISTS);
}

TEST_F(Link, is_refused_with_the_status_of_the_other_run) {
  open();
  ASSERT_TRUE(read());
  write(MessageType::guest_reply, tag_, link::encode(link::GuestReply{PMIX_ERR_NO_PERMISSIONS, {}}));
  EXPECT_EQ(begun_, PMIX_ERR_NO_PERMISSIONS);
  EXPECT_FALSE(link_.is_used());
  EXPECT_EQ(lost_, 0);
}

TEST_F(Link, to_a_server_that_knows_nothing_of_guests_is_not_supported) {
  open();
  ASSERT_TRUE(read());
  other_.reset();
  turn();
  EXPECT_EQ(begun_, PMIX_ERR_NOT_SUPPORTED);
  EXPECT_FALSE(link_.is_used());
}

TEST_F(Link, to_a_server_that_says_nothing_ends_in_time) {
  open();
  now_ += NamesLink::patience;
  turn();
  EXPECT_EQ(begun_, PMIX_ERR_TIMEOUT);
  EXPECT_FALSE(link_.is_used());
}

TEST_F(Link, gives_each_request_its_reply) {
  open_and_begin();
  std::vector<std::byte> found;
  (void)link_.send(Call::look_up, 4, std::vector<std::byte>(3), [&](pmix_status_t status, Bytes body) {
    ended_.push_back(status);
    found.assign(body.begin(), body.end());
  });
  const auto request = read();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->call, Call::look_up);
  EXPECT_EQ(request->origin, 4u);
  EXPECT_EQ(request->body.size(), 3u);
  write(MessageType::guest_reply, tag_ + 1, link::encode(link::GuestReply{}));  // to none
  write(MessageType::guest_reply, tag_,
        link::encode(link::GuestReply{PMIX_SUCCESS, std::vector<std::byte>(7)}));
  EXPECT_EQ(ended_, std::vector<pmix_status_t>{PMIX_SUCCESS});
  EXPECT_EQ(found.size(), 7u);
  write(MessageType::guest_reply, tag_, link::encode(link::GuestReply{}));  // once more
  EXPECT_EQ(ended_.size(), 1u);
  EXPECT_EQ(link_.open(), 0u);
}

TEST_F(Link, that_is_lost_ends_what_is_open_and_what_comes_later) {
  open_and_begin();
  ask();
  ask();
  other_.reset();
  turn();
  EXPECT_EQ(ended_, std::vector<pmix_status_t>(2, PMIX_ERR_LOST_CONNECTION));
  EXPECT_EQ(lost_, 1);
  EXPECT_TRUE(link_.is_used()) << "its names are not this run's to keep";
  ask();
  EXPECT_EQ(ended_.size(), 2u) << "never inside of the call";
  turn();
  EXPECT_EQ(ended_, std::vector<pmix_status_t>(3, PMIX_ERR_LOST_CONNECTION));
  link_.end_wait(3);
  EXPECT_EQ(lost_, 1);
}

TEST_F(Link, ends_with_a_frame_that_makes_no_sense) {
  const std::pair<MessageType, std::vector<std::byte>> wrong[] = {
      {MessageType::guest_reply, std::vector<std::byte>(1)},
      {MessageType::done, std::vector<std::byte>(1)},
      {MessageType::guest_taken, std::vector<std::byte>(1)},
      {MessageType::welcome, {}},
      {MessageType{999}, {}}};
  for (const auto& [type, payload] : wrong) {
    NamesLink link(loop_,
                   {[](const link::GuestTaken&) { ADD_FAILURE(); }, [this](const pmix_proc_t&) { ++lost_; }});
    int ends[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    other_ = base::Fd(ends[1]);
    link.open(base::Fd(ends[0]), {}, [this](pmix_status_t status) { begun_ = status; });
    turn();
    ASSERT_TRUE(read());
    write(MessageType::guest_reply, tag_, link::encode(link::GuestReply{}));
    ASSERT_EQ(begun_, PMIX_SUCCESS);
    lost_ = 0;
    const auto bytes = link::make_frame(type, 0, payload);
    ASSERT_EQ(::send(other_.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    turn();
    EXPECT_EQ(lost_, 1) << link::to_text(type);
  }
}

TEST_F(Link, tells_of_names_that_have_gone) {
  open_and_begin();
  write(MessageType::event, 0, {});  // of all tools: it is left alone
  write(MessageType::guest_taken, 0, link::encode(link::GuestTaken{2, link::make_proc("job", 1), "once", 6}));
  ASSERT_EQ(taken_.size(), 1u);
  EXPECT_EQ(taken_[0].key, "once");
}

// ---- FarNames

PublishNames names_of(NodeNumber origin, std::uint64_t number, pmix_persistence_t persistence) {
  Publication by;
  by.nspace = "job";
  by.origin = origin;
  by.number = number;
  by.persistence = persistence;
  return {by, {{"a", {}}, {"b", {}}}};
}

class Far : public Link {
 protected:
  void SetUp() override { open_and_begin(); }
  void publish(NodeNumber origin, std::uint64_t number, pmix_persistence_t persistence = PMIX_PERSIST_APP) {
    far_.publish(names_of(origin, number, persistence), [](pmix_status_t) {});
    ASSERT_TRUE(read());
    write(MessageType::guest_reply, tag_, link::encode(link::GuestReply{}));
  }
  /// Keys of the next request, which takes names back.
  std::vector<std::string> taken_back() {
    const auto request = read();
    const auto message = request && request->call == Call::forget ? base::decode<ForgetNames>(request->body)
                                                                  : Result<ForgetNames>();
    std::vector<std::string> out;
    if (message)
      for (const auto& name : message->names) out.push_back(name.key);
    return out;
  }
  using Keys = std::vector<std::string>;
  FarNames far_{link_};
};

TEST_F(Far, names_are_taken_back_once) {
  publish(1, 5);
  EXPECT_FALSE(far_.forget(2, {{{"a", 5}}}, nullptr)) << "another origin's";
  EXPECT_FALSE(far_.forget(1, {{{"c", 5}, {"a", 6}}}, nullptr));
  EXPECT_TRUE(far_.forget(1, {{{"a", 5}, {"c", 5}}}, nullptr));
  EXPECT_EQ(taken_back(), Keys{"a"});
  EXPECT_FALSE(far_.forget(1, {{{"a", 5}}}, nullptr));
  far_.take({1, {}, "b", 5});
  EXPECT_FALSE(far_.forget(1, {{{"b", 5}}}, nullptr)) << "it has gone with its first read";
}

TEST_F(Far, names_that_were_refused_are_not_noted) {
  pmix_status_t published = PMIX_SUCCESS;
  far_.publish(names_of(1, 5, PMIX_PERSIST_APP), [&](pmix_status_t status) { published = status; });
  ASSERT_TRUE(read());
  write(MessageType::guest_reply, tag_, link::encode(link::GuestReply{PMIX_ERR_DUPLICATE_KEY, {}}));
  EXPECT_EQ(published, PMIX_ERR_DUPLICATE_KEY);
  EXPECT_FALSE(far_.forget(1, {{{"a", 5}}}, nullptr));
}

TEST_F(Far, names_of_what_has_ended_are_taken_back) {
  publish(1, 5, PMIX_PERSIST_PROC);
  publish(1, 6, PMIX_PERSIST_SESSION);
  publish(2, 5, PMIX_PERSIST_PROC);
  far_.forget_if([](const Publication& by) { return by.origin == 1 && by.ends_with_process(); });
  EXPECT_EQ(taken_back(), (Keys{"a", "b"}));
  EXPECT_FALSE(far_.forget(1, {{{"a", 5}}}, nullptr));
  EXPECT_TRUE(far_.forget(1, {{{"a", 6}}}, nullptr));
  EXPECT_TRUE(far_.forget(2, {{{"a", 5}}}, nullptr));
}

TEST_F(Far, a_reply_of_another_length_is_none) {
  std::vector<pmix_status_t> ended;
  const LookUpNames message{0, {}, {"a", "b"}, false};
  for (const std::size_t count : {2u, 1u}) {
    (void)far_.look_up(1, message, [&](pmix_status_t status, const LookedUp& found) {
      ended.push_back(status);
      EXPECT_EQ(found.seen.size(), status == PMIX_SUCCESS ? 2u : 0u);
    });
    ASSERT_TRUE(read());
    const LookedUp found{std::vector<SeenName>(count)};
    write(MessageType::guest_reply, tag_, link::encode(link::GuestReply{PMIX_SUCCESS, base::encode(found)}));
  }
  EXPECT_EQ(ended, (std::vector<pmix_status_t>{PMIX_SUCCESS, PMIX_ERR_UNPACK_FAILURE}));
}

}  // namespace
}  // namespace weft::server
