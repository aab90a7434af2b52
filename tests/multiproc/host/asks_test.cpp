// SPDX-License-Identifier: BSD-3-Clause
// What a client asks its host for: each call becomes the upcall that it is for, with what the Standard has it
// given, and the host's answer comes back, in each style in which a host may give it. The programs are in
// asks_programs.cpp.
#include "tests/multiproc/host/asks_host.hpp"

namespace weft::test {
namespace {

class AsksTest : public Multiproc {
 protected:
  void SetUp() override {
    Multiproc::SetUp();
    ask_into(asked_);
  }
  static Upcalls all() {
    Upcalls upcalls;
    upcalls.others = set_all;
    return upcalls;
  }
  Asked asked_;
};

const std::vector<std::string> every_call = {
    "publish 0 directive=mine user group ",
    "lookup 0 port missing directive=mine user group ",
    "unpublish 0 all directive=mine user group ",
    "spawn 0 directive=mine user group pmix.spawned pmix.parent=0 pmix.req.client app program program word "
    "NAME=value 3 "
    "directive=mine ",
    "connect 0 directive=mine ",
    "disconnect 0 directive=mine ",
    "allocate 0 2 directive=mine user group ",
    "job_control 0 of 0 directive=mine user group ",
    "monitor 0 pmix.monitor.fmon=a file PMIX_ERR_TIMEOUT directive=mine user group ",
    "get_credential 0 directive=mine user group ",
    "validate_credential 0 mine directive=mine user group ",
    "iof_pull 0 2 directive=mine user group weft.puller=0 ",
    "push_stdin 0 to 0 input directive=mine user group ",
    "fabric 0 0 directive=mine user group ",
    "fabric 0 1 user group ",
};

/// What the server says of a client that has gone, of its pulls and of the input that it has pushed, comes
/// when the server sees that.
void leave_out_ends(std::vector<std::string>& lines) {
  std::erase_if(lines, [](const auto& line) {
    return line.find("pmix.iof.stop") != std::string::npos || line.find("pmix.iof.cmp") != std::string::npos;
  });
}

TEST_F(AsksTest, each_call_is_the_upcall_that_it_is_for) {
  for (const auto style : {Style::later, Style::in_the_upcall, Style::twice}) {
    asked_.style = style;
    asked_.lines.clear();
    Host host(all());
    host.add_job("asks", 1);
    host.start("asks", 0, "asks_for_everything", {std::to_string(PMIX_SUCCESS)}).expect_success();
    auto lines = asked_.all();
    leave_out_ends(lines);
    EXPECT_EQ(lines, every_call);
  }
}
/// The host hears of processes of the job, as it registered them: it knows no groups.
TEST_F(AsksTest, a_groups_name_is_its_members_for_the_host) {
  auto upcalls = all();
  upcalls.abort = [this](const pmix_proc_t& by, int, std::string, std::vector<pmix_proc_t> procs,
                         pmix_op_cbfunc_t, void*) {
    std::string line = "abort by " + std::to_string(by.rank) + " of ";
    for (const auto& proc : procs) line += std::string(proc.nspace) + ":" + std::to_string(proc.rank) + " ";
    asked_.add(std::move(line));
    return PMIX_OPERATION_SUCCEEDED;
  };
  Host host(std::move(upcalls));
  host.add_job("asks", 2);
  auto members = host.start_all("asks", 2, "asks_about_a_group");
  expect_success(members);
  auto lines = asked_.all();
  leave_out_ends(lines);
  std::vector<std::string> wanted;
  for (const std::string procs : {"0 ", "1 0 "}) {
    wanted.push_back("job_control 0 of " + procs + "directive=mine user group ");
    wanted.push_back("iof_pull " + procs + "2 directive=mine user group weft.puller=0 ");
    wanted.push_back(procs == "0 " ? "abort by 0 of asks:0 " : "abort by 0 of asks:1 asks:0 ");
  }
  EXPECT_EQ(lines, wanted);
}
TEST_F(AsksTest, a_tools_calls_are_the_same_upcalls) {
  Host host(all());
  Child("asks_as_a_tool", {std::to_string(PMIX_SUCCESS)}, {}).expect_success();
  auto lines = asked_.all();
  leave_out_ends(lines);
  auto wanted = every_call;
  std::erase_if(wanted, [](const auto& line) { return line.find("connect ") != std::string::npos; });
  const std::string client = "pmix.req.client", tool = "pmix.req.tool";
  for (auto& line : wanted)
    if (const auto at = line.find(client); at != std::string::npos) line.replace(at, client.size(), tool);
  EXPECT_EQ(lines, wanted);
}
TEST_F(AsksTest, a_refusal_is_the_tools) {
  asked_.style = Style::refused;
  Host host(all());
  Child("asks_as_a_tool", {std::to_string(PMIX_ERR_NO_PERMISSIONS)}, {}).expect_success();
}
TEST_F(AsksTest, a_host_without_upcalls_tells_tools_as_well) {
  Host host;
  Child("asks_as_a_tool", {std::to_string(PMIX_ERR_NOT_SUPPORTED)}, {}).expect_success();
}
TEST_F(AsksTest, with_callbacks) {
  Host host(all());
  host.add_job("asks", 1);
  host.start("asks", 0, "asks_without_waiting").expect_success();
}
TEST_F(AsksTest, a_refusal_is_the_callers) {
  asked_.style = Style::refused;
  Host host(all());
  host.add_job("asks", 1);
  host.start("asks", 0, "asks_for_everything", {std::to_string(PMIX_ERR_NO_PERMISSIONS)}).expect_success();
}
TEST_F(AsksTest, success_at_once_has_no_results) {
  asked_.style = Style::at_once;
  Host host(all());
  host.add_job("asks", 1);
  host.start("asks", 0, "asks_for_everything", {"empty"}).expect_success();
}
TEST_F(AsksTest, a_host_without_upcalls) {
  Host host;
  host.add_job("asks", 1);
  host.start("asks", 0, "asks_for_everything", {std::to_string(PMIX_ERR_NOT_SUPPORTED)}).expect_success();
}
TEST_F(AsksTest, bad_arguments) {
  Host host(all());
  host.add_job("asks", 1);
  host.start("asks", 0, "asks_badly").expect_success();
  EXPECT_TRUE(asked_.all().empty());
}
TEST_F(AsksTest, a_host_that_never_answers_ends) {
  asked_.style = Style::never;
  Child client;
  {
    Host host(all());
    host.add_job("asks", 1);
    client = host.start("asks", 0, "asks_for_everything", {std::to_string(PMIX_ERR_LOST_CONNECTION)});
    EXPECT_TRUE(asked_.wait_for(every_call[0]));
  }
  EXPECT_NE(client.wait(), -1) << "the client's call went on without its server";
}
TEST_F(AsksTest, the_last_participant_calls_the_host) {
  Host host(all());
  host.add_job("asks", 3);
  auto clients = host.start_all("asks", 3, "connects", {std::to_string(PMIX_SUCCESS)});
  expect_success(clients);
  auto lines = asked_.all();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].substr(0, 8), "connect ");
  EXPECT_EQ(lines[1].substr(0, 11), "disconnect ");
}
TEST_F(AsksTest, a_participant_that_dies_or_leaves) {
  const std::pair<const char*, pmix_status_t> ways[] = {{"die", PMIX_ERR_PROC_ABORTED},
                                                        {"finalize", PMIX_ERR_UNREACH}};
  for (const auto& [way, status] : ways) {
    asked_.lines.clear();
    Host host(all());
    host.add_job("asks", 2);
    auto clients = host.start_all("asks", 2, "connects", {std::to_string(status), "1", way});
    clients[1].expect("here");
    std::string(way) == "die" ? clients[1].kill() : clients[1].tell("go");
    clients[0].expect_success();
    EXPECT_TRUE(asked_.wait_for(std::string("connect 0 1 ") + PMIX_LOCAL_COLLECTIVE_STATUS + "=" +
                                PMIx_Error_string(status) + " "))
        << way << ": the host heard nothing";
  }
}
TEST_F(AsksTest, a_participant_that_has_died_or_left_before) {
  const std::pair<const char*, pmix_status_t> ways[] = {{"die", PMIX_ERR_PROC_ABORTED},
                                                        {"finalize", PMIX_ERR_UNREACH}};
  for (const auto& [way, status] : ways) {
    Host host(all());
    host.add_job("asks", 2);
    const Words words{std::to_string(status), "1", way};
    auto gone = host.start("asks", 1, "connects", words);
    gone.expect("here");
    std::string(way) == "die" ? gone.kill() : gone.tell("go");
    EXPECT_NE(gone.wait(), -1);
    host.start("asks", 0, "connects", words).expect_success();
  }
}
TEST_F(AsksTest, a_participant_that_is_late) {
  Host host(all());
  host.add_job("asks", 2);
  auto clients = host.start_all("asks", 2, "connects", {std::to_string(PMIX_ERR_TIMEOUT), "1", "timeout"});
  clients[0].expect_success();
  EXPECT_TRUE(
      asked_.wait_for(std::string("connect 0 1 ") + PMIX_LOCAL_COLLECTIVE_STATUS + "=PMIX_ERR_TIMEOUT "));
  clients[1].tell("go");
  clients[1].expect_success();
}
void deliver_output_to(Child& puller) {
  puller.expect("pulling");
  const auto deliver = [](const char* nspace, pmix_iof_channel_t channel) {
    char text[] = "text";
    const pmix_byte_object_t bytes{text, 4};
    const auto source = proc_of(nspace, 3);
    EXPECT_EQ(PMIx_server_IOF_deliver(&source, channel, &bytes, nullptr, 0, nullptr, nullptr),
              PMIX_OPERATION_SUCCEEDED);
  };
  deliver("source", PMIX_FWD_STDERR_CHANNEL);
  deliver("another", PMIX_FWD_STDOUT_CHANNEL);
  deliver("source", PMIX_FWD_STDOUT_CHANNEL);
  puller.expect("stopped");
  deliver("source", PMIX_FWD_STDOUT_CHANNEL);
  puller.tell("delivered");
  puller.expect_success();
}
TEST_F(AsksTest, output_reaches_the_client_that_pulls_it) {
  Host host(all());
  host.add_job("asks", 1);
  auto client = host.start("asks", 0, "pulls_output");
  deliver_output_to(client);
}
TEST_F(AsksTest, output_reaches_the_tool_that_pulls_it) {
  Host host(all());
  Child tool("pulls_output_as_a_tool", {}, {});
  deliver_output_to(tool);
}
TEST_F(AsksTest, queries_that_the_server_cannot_answer_go_to_the_host) {
  const std::pair<Style, Words> ways[] = {{Style::later, {std::to_string(PMIX_SUCCESS), "3"}},
                                          {Style::at_once, {std::to_string(PMIX_SUCCESS), "2"}},
                                          {Style::refused, {std::to_string(PMIX_ERR_PARTIAL_SUCCESS), "2"}}};
  for (const auto& [style, words] : ways) {
    asked_.style = style;
    asked_.lines.clear();
    Host host(all());
    host.add_job("asks", 1);
    host.start("asks", 0, "queries", words).expect_success();
    EXPECT_EQ(asked_.all(), std::vector<std::string>{"query 0 of.the.host qualifier=mine user group "});
  }
}
TEST_F(AsksTest, the_host_hears_which_events_are_wanted) {
  Host host(all());
  host.add_job("asks", 2);
  const std::string down = std::string(PMIx_Error_string(PMIX_EVENT_NODE_DOWN)) + " ",
                    offline = std::string(PMIx_Error_string(PMIX_EVENT_NODE_OFFLINE)) + " ";
  host.start("asks", 0, "watches_codes").expect_success();
  EXPECT_TRUE(asked_.wait_for("deregister_events " + offline + down));  // the lowest code first
  EXPECT_EQ(asked_.all().front(), "register_events " + down + offline + "user group ");
  EXPECT_EQ(asked_.all().size(), 2u) << "the second handler of a code asked again";
}
TEST_F(AsksTest, the_host_hears_which_events_are_wanted_no_more) {
  Host host(all());
  host.add_job("asks", 1);
  const std::string down = std::string(PMIx_Error_string(PMIX_EVENT_NODE_DOWN)) + " ",
                    of_program = std::string(PMIx_Error_string(7)) + " ", user = "user group ";
  const auto hears = [&](const std::vector<std::string>& lines) {
    EXPECT_TRUE(eventually([&] { return asked_.all().size() >= lines.size(); }));
    EXPECT_EQ(asked_.all(), lines);
    const std::lock_guard lock(asked_.mutex);
    asked_.lines.clear();
  };
  auto client = host.start("asks", 0, "watches_codes_for_a_while");
  hears({"register_events " + down + of_program + user});
  client.tell("leave 7");
  hears({"deregister_events " + of_program});
  client.tell("leave the other");
  hears({"deregister_events " + down});
  client.tell("come back");
  EXPECT_TRUE(asked_.wait_for("register_events " + down + user));
  client.tell("a default handler");
  EXPECT_TRUE(asked_.wait_for("deregister_events "));
  client.tell("a one-shot");
  EXPECT_TRUE(asked_.wait_for("deregister_events " + of_program));
  client.tell("end");
  client.expect_success();
  EXPECT_TRUE(eventually([&] { return asked_.all().back() == "deregister_events " + down; }));
  const auto all = asked_.all();
  const auto count = [&](const std::string& line) { return std::count(all.begin(), all.end(), line); };
  EXPECT_EQ(count("register_events " + down + user), count("deregister_events " + down));
  EXPECT_EQ(count("register_events " + user), 1);
  EXPECT_EQ(count("deregister_events "), 1);
}
TEST_F(AsksTest, a_code_that_another_client_or_the_host_wants_stays_registered) {
  Host host(all());
  host.add_job("asks", 2);
  size_t own = 0;
  {
    own = handler_of({PMIX_EVENT_NODE_DOWN});
    auto first = host.start("asks", 0, "watches_codes");
    first.expect_success();
    const std::string codes = std::string(PMIx_Error_string(PMIX_EVENT_NODE_OFFLINE)) + " ";
    EXPECT_TRUE(asked_.wait_for("deregister_events " + codes));
  }
  host.start("asks", 1, "watches_codes").expect_success();
  EXPECT_TRUE(eventually([&] { return asked_.all().size() == 4; }));
  EXPECT_EQ(PMIx_Deregister_event_handler(own, nullptr, nullptr), PMIX_OPERATION_SUCCEEDED);
  EXPECT_TRUE(
      asked_.wait_for("deregister_events " + std::string(PMIx_Error_string(PMIX_EVENT_NODE_DOWN)) + " "));
}

}  // namespace
}  // namespace weft::test
