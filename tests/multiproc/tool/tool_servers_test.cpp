// SPDX-License-Identifier: BSD-3-Clause
// Which server a tool finds, and several servers of one tool.
#include <pmix_tool.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

constexpr pmix_status_t code_of_server = PMIX_EXTERNAL_ERR_BASE - 40;

// ---- the servers, each a process

/// Words: its namespace; then of its attributes "system", "no_tools", "file=" and a path. It says its URI.
int tool_server(const Words& words) {
  Infos infos;
  infos.text(PMIX_SERVER_NSPACE, words.at(0));
  for (const auto& word : words) {
    if (word == "system") infos.flag(PMIX_SERVER_SYSTEM_SUPPORT);
    if (word == "no_tools") infos.flag(PMIX_SERVER_TOOL_SUPPORT, false);
    if (word.rfind("file=", 0) == 0) infos.text(PMIX_LAUNCHER_RENDEZVOUS_FILE, word.substr(5));
  }
  Host host({}, {}, std::move(infos));
  const auto job = words[0] + ".job";
  host.add_job(job, 1);
  say(get(proc_of(job, PMIX_RANK_WILDCARD), PMIX_SERVER_URI).text());
  for (auto line = listen(); line != "end"; line = listen()) {
    check(line == "raise", "an order that is none");
    check_status(PMIx_Notify_event(code_of_server, nullptr, PMIX_RANGE_GLOBAL, nullptr, 0, nullptr, nullptr),
                 PMIX_OPERATION_SUCCEEDED);
    say("raised");
  }
  return 0;
}

struct Server {
  explicit Server(std::string nspace_now, Words more = {})
      : nspace(std::move(nspace_now)),
        child("tool_server", with(nspace, std::move(more)), {}),
        uri(child.hear()) {}
  static Words with(const std::string& first, Words more) {
    more.insert(more.begin(), first);
    return more;
  }
  std::string pid() const { return std::to_string(child.pid()); }
  void end() {
    child.tell("end");
    child.expect_success();
  }
  const std::string nspace;
  Child child;
  const std::string uri;
};

// ---- the tools

Infos wish_of(const Words& words, std::size_t from) {
  Infos out;
  for (auto i = from; i + 1 < words.size(); i += 2) {
    const auto& key = words[i];
    const auto& value = words[i + 1];
    if (key == PMIX_SERVER_PIDINFO)
      out.pid(key.c_str(), std::stoi(value));
    else if (key == PMIX_CONNECT_MAX_RETRIES || key == PMIX_CONNECT_RETRY_DELAY)
      out.number(key.c_str(), static_cast<std::uint32_t>(std::stoul(value)));
    else if (value == "yes")
      out.flag(key.c_str());
    else
      out.text(key.c_str(), value);
  }
  return out;
}

std::vector<std::string> servers() {
  pmix_proc_t* found = nullptr;
  std::size_t count = 99;
  check_status(PMIx_tool_get_servers(&found, &count), PMIX_SUCCESS);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) out.emplace_back(found[i].nspace);
  std::free(found);
  return out;
}

/// Words: the status wanted, the server's namespace ("" for none), then keys and values.
int tool_finds(const Words& words) {
  auto infos = wish_of(words, 2);
  const pmix_status_t wanted = std::stoi(words.at(0));
  check_status(PMIx_tool_init(nullptr, infos.data(), infos.size()), wanted);
  if (wanted != PMIX_SUCCESS) return 0;
  const auto now = servers();
  check_equal(now.empty() ? "" : now[0], words.at(1));
  check_status(PMIx_tool_finalize(), PMIX_SUCCESS);
  return 0;
}

void expect_found(const std::string& nspace, const Words& wish, pmix_status_t wanted = PMIX_SUCCESS) {
  Words words{std::to_string(wanted), nspace};
  words.insert(words.end(), wish.begin(), wish.end());
  Child("tool_finds", words, {}).expect_success();
}

int rank_as_a_tool(const Words& words) {
  Client client;
  pmix_proc_t me{};
  check_status(PMIx_tool_init(&me, nullptr, 0), PMIX_SUCCESS);
  check(servers() == std::vector<std::string>{words.at(0)}, "another server than its own");
  check(!PMIX_CHECK_NSPACE(me.nspace, client.me.nspace), "the tool has the rank's name");
  check_status(PMIx_tool_finalize(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

pmix_status_t attach(const std::string& uri, bool is_primary = false) {
  Infos infos;
  infos.text(PMIX_SERVER_URI, uri);
  if (is_primary) infos.flag(PMIX_PRIMARY_SERVER);
  pmix_proc_t server{};
  const auto status = PMIx_tool_attach_to_server(nullptr, &server, infos.data(), infos.size());
  if (status == PMIX_SUCCESS) check(uri.find(server.nspace) == 0, "another server was attached");
  return status;
}

pmix_status_t set_server(const std::string& nspace, Infos&& infos = {}) {
  const auto server = proc_of(nspace, 0);
  return PMIx_tool_set_server(&server, infos.data(), infos.size());
}

pmix_status_t disconnect(const std::string& nspace) {
  const auto server = proc_of(nspace, 0);
  return PMIx_tool_disconnect(&server);
}

/// Asks for what a server's job tells every process that asks; a server knows its own job alone.
pmix_status_t asks(const std::string& nspace) {
  Infos now;
  now.flag(PMIX_IMMEDIATE);
  return get(proc_of(nspace + ".job", PMIX_RANK_WILDCARD), PMIX_JOB_SIZE, now).status;
}

using List = std::vector<std::string>;

/// Words: the URIs of servers a and b.
int tool_of_two(const Words& words) {
  const auto &a = words.at(0), &b = words.at(1);
  check_status(attach(a), PMIX_ERR_INIT);
  check_status(disconnect("a"), PMIX_ERR_INIT);
  check_status(set_server("a"), PMIX_ERR_INIT);
  auto wish = wish_of({PMIX_SERVER_URI, a}, 0);
  pmix_proc_t me{}, still_me{};
  check_status(PMIx_tool_init(&me, wish.data(), wish.size()), PMIX_SUCCESS);
  check_status(PMIx_tool_attach_to_server(nullptr, nullptr, nullptr, 1), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_tool_disconnect(nullptr), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_tool_get_servers(nullptr, nullptr), PMIX_ERR_BAD_PARAM);

  check_status(attach(b), PMIX_SUCCESS);
  check(servers() == List{"a", "b"}, "a and b");
  check_status(asks("a"), PMIX_SUCCESS);
  check_status(asks("b"), PMIX_ERR_NOT_FOUND);
  check_status(set_server("b"), PMIX_SUCCESS);
  check(servers() == List{"b", "a"}, "b and a");
  check_status(asks("b"), PMIX_SUCCESS);
  check_status(asks("a"), PMIX_ERR_NOT_FOUND);
  check_status(attach(a, true), PMIX_SUCCESS);  // it is known
  check(servers() == List{"a", "b"}, "a was attached twice");

  check_status(disconnect("a"), PMIX_SUCCESS);
  check_status(disconnect("a"), PMIX_ERR_NOT_FOUND);
  check_status(asks("b"), PMIX_ERR_UNREACH);
  check(servers() == List{"b"} && PMIx_tool_is_connected(), "b is left");
  check_status(attach(a), PMIX_SUCCESS);
  check_status(asks("a"), PMIX_ERR_UNREACH);  // there was another server, and none was chosen
  check_status(set_server("b"), PMIX_SUCCESS);
  check_status(asks("b"), PMIX_SUCCESS);
  check_status(disconnect("a"), PMIX_SUCCESS);
  check_status(disconnect("b"), PMIX_SUCCESS);
  check(servers().empty() && !PMIx_tool_is_connected(), "connected to none");
  check_status(set_server("b"), PMIX_ERR_NOT_FOUND);
  check_status(attach(b), PMIX_SUCCESS);
  check_status(asks("b"), PMIX_SUCCESS);

  auto other = wish_of({PMIX_SERVER_URI, a}, 0);
  check_status(PMIx_tool_connect_to_server(&still_me, other.data(), other.size()), PMIX_SUCCESS);
  check(servers() == List{"a"}, "a instead of b");
  check(PMIX_CHECK_PROCID(&me, &still_me), "another name at another server");
  check_status(PMIx_tool_finalize(), PMIX_SUCCESS);
  return 0;
}

/// Words: the URIs of servers a and b.
int tool_that_waits_for_a_server(const Words& words) {
  Infos alone;
  alone.flag(PMIX_TOOL_DO_NOT_CONNECT);
  check_status(PMIx_tool_init(nullptr, alone.data(), alone.size()), PMIX_SUCCESS);
  check_status(set_server("b", std::move(Infos().flag(PMIX_WAIT_FOR_CONNECTION).integer(PMIX_TIMEOUT, 1))),
               PMIX_ERR_TIMEOUT);
  check_status(attach(words.at(0)), PMIX_SUCCESS);
  std::thread waits(
      [] { check_status(set_server("b", std::move(Infos().flag(PMIX_WAIT_FOR_CONNECTION))), PMIX_SUCCESS); });
  check_status(attach(words.at(1)), PMIX_SUCCESS);
  waits.join();
  check_status(asks("b"), PMIX_SUCCESS);
  std::thread waits_in_vain([] {
    check_status(set_server("c", std::move(Infos().flag(PMIX_WAIT_FOR_CONNECTION))), PMIX_ERR_INIT);
  });
  check_status(PMIx_tool_finalize(), PMIX_SUCCESS);
  waits_in_vain.join();
  return 0;
}

std::atomic<int> raised{0}, lost{0};
void count_event(size_t, pmix_status_t code, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
                 pmix_event_notification_cbfunc_fn_t done, void* open) {
  // From a callback on the thread of one server: a call that the other answers, and the tool's own calls.
  if (code == code_of_server) check_status(asks("b"), PMIX_SUCCESS);
  (code == code_of_server ? raised : lost).fetch_add(1);
  if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, open);
}

/// Words: the URIs of servers a and b.
int tool_that_hears_two(const Words& words) {
  auto wish = wish_of({PMIX_SERVER_URI, words.at(0)}, 0);
  check_status(PMIx_tool_init(nullptr, wish.data(), wish.size()), PMIX_SUCCESS);
  pmix_status_t codes[] = {code_of_server, PMIX_ERR_LOST_CONNECTION};
  check(PMIx_Register_event_handler(codes, 2, nullptr, 0, count_event, nullptr, nullptr) >= 0, "no handler");
  check_status(attach(words.at(1), true), PMIX_SUCCESS);
  say("attached");
  check(eventually([] { return raised == 1; }), "no event of the first server");
  check_status(disconnect("b"), PMIX_SUCCESS);
  say("left b");
  check(eventually([] { return lost == 1; }), "the loss of a server that went");
  check(servers().empty(), "a server that went");
  check_status(PMIx_tool_finalize(), PMIX_SUCCESS);
  check_equal(static_cast<std::uint64_t>(lost.load()), 1);  // and none of the server that the tool has left
  return 0;
}

// ---- tests

class ToolServers : public Multiproc {};

TEST_F(ToolServers, are_found_in_each_way_and_the_first_that_is_given_counts) {
  const Scratch scratch;
  const auto file = scratch.path() + "/a";
  Server a("a.found", {"file=" + file}), b("b.found", {"system"});
  expect_found(a.nspace, {PMIX_TOOL_ATTACHMENT_FILE, file});
  expect_found(a.nspace, {PMIX_SERVER_URI, a.uri});
  expect_found(b.nspace, {PMIX_SERVER_URI, b.uri});
  expect_found(a.nspace, {PMIX_SERVER_PIDINFO, a.pid()});
  expect_found(a.nspace, {PMIX_SERVER_NSPACE, a.nspace});
  expect_found(b.nspace, {PMIX_CONNECT_TO_SYSTEM, "yes"});
  expect_found(b.nspace, {PMIX_CONNECT_SYSTEM_FIRST, "yes"});

  expect_found(a.nspace, {PMIX_SERVER_URI, b.uri, PMIX_TOOL_ATTACHMENT_FILE, file});
  expect_found(b.nspace, {PMIX_SERVER_PIDINFO, a.pid(), PMIX_SERVER_URI, b.uri});
  expect_found(a.nspace, {PMIX_SERVER_NSPACE, b.nspace, PMIX_SERVER_PIDINFO, a.pid()});
  expect_found(a.nspace, {PMIX_CONNECT_TO_SYSTEM, "yes", PMIX_SERVER_NSPACE, a.nspace});
  a.end();
  b.end();
}

TEST_F(ToolServers, that_are_not_there_are_no_others) {
  const Scratch scratch;
  const auto file = scratch.path() + "/text";
  std::ofstream(file) << "another.0;tcp4://127.0.0.1:1\n";
  Server a("a.there"), closed("a.closed", {"no_tools"});
  expect_found("", {PMIX_TOOL_ATTACHMENT_FILE, scratch.path() + "/none"}, PMIX_ERR_NOT_FOUND);
  expect_found("", {PMIX_TOOL_ATTACHMENT_FILE, file}, PMIX_ERR_NOT_SUPPORTED);
  expect_found("", {PMIX_TOOL_ATTACHMENT_FILE, scratch.path()}, PMIX_ERR_NOT_SUPPORTED);
  expect_found("", {PMIX_SERVER_URI, "another.0;tcp4://127.0.0.1:1"}, PMIX_ERR_NOT_SUPPORTED);
  expect_found("", {PMIX_SERVER_URI, "a.0;weft:weft-1-0123456789abcdef"}, PMIX_ERR_UNREACH);
  expect_found("", {PMIX_TCP_URI, a.uri}, PMIX_ERR_NOT_SUPPORTED);
  expect_found("", {PMIX_TCP_URI, a.uri, PMIX_SERVER_URI, a.uri}, PMIX_ERR_BAD_PARAM);
  expect_found("", {PMIX_SERVER_NSPACE, "nowhere"}, PMIX_ERR_UNREACH);
  expect_found("", {PMIX_SERVER_NSPACE, "nowhere", PMIX_TOOL_CONNECT_OPTIONAL, "yes"});
  expect_found("", {PMIX_SERVER_URI, closed.uri}, PMIX_ERR_NOT_SUPPORTED);
  a.end();
  closed.end();
}

TEST_F(ToolServers, of_the_environment_come_first) {
  Server other("a.other");
  Host host({}, {}, std::move(Infos().text(PMIX_SERVER_NSPACE, "own.server")));
  host.add_job("job", 1);
  host.start("job", 0, "rank_as_a_tool", {"own.server"}).expect_success();
  other.end();
}

TEST_F(ToolServers, may_come_later) {
  const Scratch scratch;
  const auto file = scratch.path() + "/late";
  Child tool("tool_finds",
             {std::to_string(PMIX_SUCCESS), "a.late", PMIX_TOOL_ATTACHMENT_FILE, file,
              PMIX_CONNECT_MAX_RETRIES, "60", PMIX_CONNECT_RETRY_DELAY, "1"},
             {});
  Server late("a.late", {"file=" + file});
  tool.expect_success();
  struct stat info {};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  late.end();
  EXPECT_NE(::access(file.c_str(), F_OK), 0) << "it outlived its server";
}

TEST_F(ToolServers, do_not_start_where_they_must_do_what_they_cannot) {
  Infos infos;
  infos.flag(PMIX_SERVER_REMOTE_CONNECTIONS);
  PMIX_INFO_REQUIRED(infos.data());
  EXPECT_EQ(PMIx_server_init(nullptr, infos.data(), infos.size()), PMIX_ERR_NOT_SUPPORTED);
  PMIX_INFO_OPTIONAL(infos.data());
  EXPECT_EQ(PMIx_server_init(nullptr, infos.data(), infos.size()), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_server_finalize(), PMIX_SUCCESS);
}

TEST_F(ToolServers, are_several_of_one_tool) {
  Server a("a"), b("b");
  Child("tool_of_two", {a.uri, b.uri}, {}).expect_success();
  a.end();
  b.end();
}

TEST_F(ToolServers, are_waited_for) {
  Server a("a"), b("b");
  Child("tool_that_waits_for_a_server", {a.uri, b.uri}, {}).expect_success();
  a.end();
  b.end();
}

TEST_F(ToolServers, are_heard_together) {
  Server a("a"), b("b");
  Child tool("tool_that_hears_two", {a.uri, b.uri}, {});
  tool.expect("attached");
  a.child.tell("raise");
  a.child.expect("raised");
  tool.expect("left b");
  a.child.kill();
  EXPECT_NE(a.child.wait(), -1);
  tool.expect_success();
  b.end();
}

}  // namespace

void add_tool_server_programs(Programs& programs) {
  programs.add("tool_server", tool_server);
  programs.add("tool_finds", tool_finds);
  programs.add("rank_as_a_tool", rank_as_a_tool);
  programs.add("tool_of_two", tool_of_two);
  programs.add("tool_that_waits_for_a_server", tool_that_waits_for_a_server);
  programs.add("tool_that_hears_two", tool_that_hears_two);
}

}  // namespace weft::test
