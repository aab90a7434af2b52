// SPDX-License-Identifier: BSD-3-Clause
// What waits for a process ends with it, however the server learns of its end.
#include "core/server/clients/process_ends.hpp"

#include "tests/unit/core/server/groups/one_node_groups.hpp"

namespace weft::server {
namespace {

using How = ProcessEnds::How;

class ProcessEndsTest : public OneNodeGroups {
 protected:
  static int events_on(const Line& line, pmix_status_t code) {
    int out = 0;
    while (const auto frame = line.read())
      if (frame->type == link::MessageType::event)
        out += link::decode<link::EventMessage>(frame->payload)->code == code ? 1 : 0;
    return out;
  }
  void take_away(std::uint32_t rank) {
    std::optional<pmix_status_t> status;
    rooms->clients.remove(job(), rank, [&](pmix_status_t done) { status = done; });
    for (int turns = 0; turns < 10 && !status; ++turns) {
      io.restart();
      io.poll();
    }
    EXPECT_EQ(status, PMIX_SUCCESS);
    EXPECT_EQ(state(rank), store::Local::gone);
  }
  void end(std::uint32_t rank, How how) {
    rooms->ends.process_ended(job(), job().view().local_index(rank), how);
  }
  /// Another namespace of one rank, which has come.
  Line& enter_other() {
    data::Infos infos;
    infos.add(PMIX_JOB_SIZE, data::Value::of(std::uint32_t{1}));
    auto& other = rooms->jobs.announce("other");
    other.clients[0] = {::getuid(), ::getgid(), nullptr};
    EXPECT_EQ(rooms->register_nspace("other", 1, infos), PMIX_SUCCESS);
    auto hello = hello_of(0);
    hello.nspace = "other";
    hello.token = tokens.token_of(link::make_proc("other", 0));
    auto& line = arrive(hello);
    const auto reply = line.read();
    EXPECT_TRUE(reply && reply->type == link::MessageType::welcome);
    return line;
  }
};

// ---- a rank that the host takes away

TEST_F(ProcessEndsTest, a_construct_does_not_wait_for_a_rank_that_never_came) {
  auto &first = enter(0), &second = enter(1);
  construct(first, ranks({0, 1, 2}));
  construct(second, ranks({0, 1, 2}));
  EXPECT_FALSE(status_on(first));
  take_away(2);
  EXPECT_EQ(status_on(first), PMIX_ERR_PROC_ABORTED);
  EXPECT_EQ(status_on(second), PMIX_ERR_PROC_ABORTED);
}

TEST_F(ProcessEndsTest, a_construct_does_not_wait_for_a_rank_that_is_thrown_out) {
  auto& first = enter(0);
  enter(1);
  construct(first, ranks({0, 1}));
  EXPECT_FALSE(status_on(first));
  take_away(1);
  EXPECT_EQ(status_on(first), PMIX_ERR_PROC_ABORTED);
}

TEST_F(ProcessEndsTest, an_optional_construct_goes_on_without_it) {
  auto& first = enter(0);
  data::Infos directives;
  directives.add(PMIX_GROUP_OPTIONAL, data::Value::of(true));
  construct(first, ranks({0, 2}), std::move(directives));
  EXPECT_FALSE(status_on(first));
  take_away(2);
  EXPECT_EQ(status_on(first), PMIX_ERR_PARTIAL_SUCCESS);
}

TEST_F(ProcessEndsTest, an_invitation_does_not_wait_for_it) {
  auto& leader = enter(0);
  request(by(leader), link::GroupInvite{"group", ranks({0, 2}), {}});
  EXPECT_FALSE(status_on(leader));
  take_away(2);
  EXPECT_EQ(status_on(leader), PMIX_GROUP_INVITE_FAILED);
}

TEST_F(ProcessEndsTest, a_bootstrap_does_not_wait_for_it) {
  auto& leader = enter(0);
  data::Infos directives;
  directives.add(PMIX_GROUP_BOOTSTRAP, data::Value::of(std::uint64_t{1}));
  const auto added = proc(2);
  directives.add(PMIX_GROUP_ADD_MEMBERS, *data::value_of_array(PMIX_PROC, &added, 1));
  construct(leader, ranks({0}), std::move(directives));
  EXPECT_FALSE(status_on(leader));
  take_away(2);
  EXPECT_EQ(status_on(leader), PMIX_ERR_PROC_ABORTED);
}

TEST_F(ProcessEndsTest, a_join_does_not_wait_for_its_approval) {
  auto &first = enter(0), &second = enter(1), &joins = enter(2);
  make_group({&first, &second});
  ASSERT_TRUE(rooms->events.subscribe(*second.connection, {PMIX_GROUP_JOIN_REQUEST}));
  request(by(joins), link::GroupJoin{"group", {}, 1, {}});
  EXPECT_FALSE(status_on(joins));
  take_away(1);
  EXPECT_EQ(status_on(joins), PMIX_SUCCESS);
}

TEST_F(ProcessEndsTest, its_own_join_is_not_made) {
  auto &first = enter(0), &second = enter(1), &joins = enter(2);
  make_group({&first, &second});
  ASSERT_TRUE(rooms->events.subscribe(*second.connection, {PMIX_GROUP_JOIN_REQUEST}));
  request(by(joins), link::GroupJoin{"group", {}, 1, {}});
  EXPECT_FALSE(status_on(joins));
  EXPECT_EQ(rooms->group_reports.open_parts().size(), 1u);
  take_away(2);
  EXPECT_TRUE(rooms->group_reports.open_parts().empty());
}

TEST_F(ProcessEndsTest, the_end_of_a_group_does_not_wait_for_it) {
  auto &first = enter(0), &second = enter(1);
  make_group({&first, &second});
  request(by(first), link::GroupDestruct{"group", {}});
  EXPECT_FALSE(status_on(first));
  take_away(1);
  EXPECT_EQ(status_on(first), PMIX_ERR_PROC_ABORTED);
}

// ---- other ends

TEST_F(ProcessEndsTest, members_hear_once_of_one_that_finalizes_and_ends_later) {
  auto &first = enter(0), &second = enter(1);
  make_group({&first, &second}, PMIX_GROUP_NOTIFY_TERMINATION);
  ASSERT_TRUE(rooms->events.subscribe(*first.connection, {PMIX_GROUP_MEMBER_FAILED}));
  end(1, How::finalized_for_now);
  EXPECT_EQ(state(1), store::Local::finalized);
  EXPECT_EQ(events_on(first, PMIX_GROUP_MEMBER_FAILED), 1);
  end(1, How::finalized);
  EXPECT_EQ(events_on(first, PMIX_GROUP_MEMBER_FAILED), 0);
}

TEST_F(ProcessEndsTest, a_connection_that_is_closed_leaves_no_request_behind) {
  auto& asks = enter(0);
  rooms->gets.get({.proc = proc(1), .key = "never", .directives = {}, .requester = asks.connection.get()},
                  [](pmix_status_t, const store::Encoded&) {
                    ADD_FAILURE() << "the call has ended with its connection";
                  });
  ASSERT_TRUE(rooms->events.subscribe(*asks.connection, {PMIX_GROUP_JOIN_REQUEST}));
  bool was_answered = false;
  link::GroupQuestion question;
  question.codes = {PMIX_GROUP_JOIN_REQUEST};
  rooms->questions.ask(proc(0), std::move(question), [&](const link::GroupVerdict& verdict) {
    was_answered = verdict.by == link::GroupVerdict::By::no_process;
  });
  asks.turn();
  EXPECT_FALSE(was_answered);
  asks.other.reset();
  asks.turn();
  EXPECT_TRUE(was_answered) << "its handlers say nothing any more";
  take_away(1);
}

// ---- a namespace that the host ends

TEST_F(ProcessEndsTest, a_namespace_that_ends_holds_up_no_other) {
  auto& first = enter(0);
  auto& other = enter_other();
  const Procs both{proc(0), link::make_proc("other", 0)};
  construct(other, both);
  request(by(first), link::Connect{both, {}});
  EXPECT_FALSE(status_on(other));
  EXPECT_FALSE(status_on(first));
  ends_are_expected = true;
  bool has_ended = false;
  rooms->clients.remove_all(*rooms->jobs.find("other"), [&] { has_ended = true; });
  for (int turns = 0; turns < 10 && !has_ended; ++turns) first.turn();
  ASSERT_TRUE(has_ended);
  rooms->ends.namespace_ended(*rooms->jobs.find("other"));
  EXPECT_EQ(status_on(first), PMIX_ERR_UNREACH);
  EXPECT_TRUE(rooms->group_reports.open_parts().empty()) << "of its own call nothing stays";
  EXPECT_EQ(rooms->jobs.find("other"), nullptr);
}

TEST_F(ProcessEndsTest, a_namespace_that_was_in_an_operation_with_others_is_known_for_a_while) {
  auto& first = enter(0);
  auto& other = enter_other();
  const Procs both{proc(0), link::make_proc("other", 0)};
  for (auto* line : {&first, &other}) request(by(*line), link::Connect{both, {}});
  EXPECT_EQ(status_on(first), PMIX_SUCCESS);
  ends_are_expected = true;
  rooms->clients.remove_all(*rooms->jobs.find("other"), [] {});
  for (int turns = 0; turns < 10; ++turns) first.turn();
  rooms->ends.namespace_ended(*rooms->jobs.find("other"));
  EXPECT_EQ(rooms->jobs.find("other"), nullptr);
  ASSERT_NE(rooms->jobs.known("other"), nullptr);
  request(by(first), link::Disconnect{both, {}});
  EXPECT_EQ(status_on(first), PMIX_ERR_PROC_ABORTED) << "its processes have ended, and are known to have";
  rooms->ends.make_room_for("other");
  EXPECT_EQ(rooms->jobs.known("other"), nullptr);
}

TEST_F(ProcessEndsTest, of_a_namespace_that_was_alone_nothing_stays) {
  enter_other();
  ends_are_expected = true;
  rooms->clients.remove_all(*rooms->jobs.find("other"), [] {});
  for (int turns = 0; turns < 10; ++turns) lines.front()->turn();
  rooms->ends.namespace_ended(*rooms->jobs.find("other"));
  EXPECT_EQ(rooms->jobs.known("other"), nullptr);
}

class ProcessEndsOfHostTest : public ProcessEndsTest {
 protected:
  const pmix_server_module_t* module() override {
    static pmix_server_module_t with_groups{};
    calls = 0;
    with_groups.group = [](pmix_group_operation_t, char*, const pmix_proc_t*, size_t, const pmix_info_t*,
                           size_t, pmix_info_cbfunc_t, void*) -> pmix_status_t {
      ++calls;
      return PMIX_ERR_NOT_SUPPORTED;
    };
    return &with_groups;
  }
  static inline int calls = 0;
};

TEST_F(ProcessEndsOfHostTest, is_not_called_for_a_namespace_that_it_ends) {
  construct(enter(0), ranks({0, 1}));
  EXPECT_EQ(rooms->group_reports.open_parts().size(), 1u);
  ends_are_expected = true;
  lines.front()->connection->finalized = true;
  lines.front()->other.reset();
  lines.front()->turn();
  rooms->ends.namespace_ended(job());
  EXPECT_TRUE(rooms->group_reports.open_parts().empty());
  EXPECT_EQ(calls, 0);
}

TEST_F(ProcessEndsOfHostTest, hears_of_a_rank_that_it_takes_away) {
  auto& first = enter(0);
  construct(first, ranks({0, 1}));
  take_away(1);
  EXPECT_EQ(status_on(first), PMIX_ERR_PROC_ABORTED);
  EXPECT_EQ(calls, 1) << "its other daemons wait for this one";
}

}  // namespace
}  // namespace weft::server
