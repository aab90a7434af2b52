// SPDX-License-Identifier: BSD-3-Clause
// Looking into a running cluster: weftinfo as users run it, and the functions of the C API that it uses.
#include <pmix_tool.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "tests/multiproc/harness/cluster.hpp"

namespace weft::test {
namespace {

/// What weftinfo prints, errors included. status: how it ended.
std::string look(const std::string& arguments, int* status = nullptr) {
  std::FILE* pipe = ::popen((WEFTINFO " " + arguments + " 2>&1").c_str(), "re");
  if (pipe == nullptr) return "popen failed";
  std::string out;
  char bytes[4096];
  for (std::size_t got; (got = std::fread(bytes, 1, sizeof bytes, pipe)) != 0;) out.append(bytes, got);
  const int ended = ::pclose(pipe);
  if (status != nullptr) *status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
  return out;
}

std::string look(const Child& server, const std::string& options = "") {
  return look(options + " " + std::to_string(server.pid()));
}

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// The numbers that stand behind each `name`.
std::vector<std::uint64_t> numbers(const std::string& text, std::string_view name) {
  std::vector<std::uint64_t> out;
  for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
    out.push_back(std::strtoull(text.c_str() + at + name.size(), nullptr, 10));
  return out;
}

/// Looks until all parts are in the report at once; a failure of the test shows the last one.
void expect_report(const Child& server, const Words& parts, const std::string& options = "") {
  std::string report;
  const bool is_there = eventually([&] {
    report = look(server, options);
    return std::all_of(parts.begin(), parts.end(), [&](const auto& part) { return holds(report, part); });
  });
  EXPECT_TRUE(is_there) << report;
}

// ---- programs

/// Rank 4 waits for 5 on its own node, rank 0 for both of them; 5 comes when the test says so.
int sets_are_late(const Words&) {
  Client client;
  const auto me = client.me.rank;
  if (me == 5) await("come");
  if (me >= 4) check_status(fence({client.peer(4), client.peer(5)}), PMIX_SUCCESS);
  if (me == 0 || me >= 4) check_status(fence({client.peer(0), client.peer(4), client.peer(5)}), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// A sparse fence, then each needs the card of every rank.
int sparse_gets(const Words&) {
  Client client;
  check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  for (pmix_rank_t r = 0; r < client.size; ++r) check_equal(get(client.peer(r), "card").u64(), r);
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank % 2 == 1) {
    say("done");
    await("end");
  }
  client.finalize();
  return 0;
}

/// Cards that get longer with each sparse fence; the first rank reads what is new of one of them.
int growing_cards(const Words&) {
  Client client;
  for (std::uint64_t round = 0; round < 10; ++round) {
    const auto key = "key." + std::to_string(round);
    check_status(put_bytes(key.c_str(), std::string(200, static_cast<char>('a' + round))), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence(), PMIX_SUCCESS);
    if (client.me.rank == 0)
      check_equal(
          get(client.peer(2), key.c_str()).bytes() == std::string(200, static_cast<char>('a' + round)), 1);
    check_status(fence(), PMIX_SUCCESS);  // no rank commits the next before that
  }
  if (client.me.rank == 0)
    for (std::uint64_t round = 0; round < 10; ++round)
      check_status(get(client.peer(2), ("key." + std::to_string(round)).c_str()).status, PMIX_SUCCESS);
  if (client.me.rank % 2 == 1) {
    say("done");
    await("end");
  }
  client.finalize();
  return 0;
}

/// Full fences: of cards that are alike, then of random bytes.
int fences_of_both_kinds(const Words&) {
  Client client;
  const auto alike = [](pmix_rank_t rank) { return std::string(5000, static_cast<char>('a' + rank)); };
  const auto noise = [](pmix_rank_t rank) {
    std::mt19937 random(rank);
    std::string out(5000, 0);
    for (auto& byte : out) byte = static_cast<char>(random());
    return out;
  };
  const auto exchange = [&](const char* key, const auto& value) {
    check_status(put_bytes(key, value(client.me.rank)), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence({}, Infos().flag(PMIX_COLLECT_DATA)), PMIX_SUCCESS);
    for (pmix_rank_t r = 0; r < client.size; ++r)
      check(get(client.peer(r), key, Infos().flag(PMIX_OPTIONAL)).bytes() == value(r), "another card");
    if (client.me.rank % 2 == 0) return;
    say(key);
    await("go on");
  };
  exchange("alike", alike);
  exchange("noise", noise);
  client.finalize();
  return 0;
}

struct InfoAnswer {
  pmix_status_t status;
  std::string text;  ///< of the first result, if it is a string
  std::size_t count = 0;
};

InfoAnswer answer_to(std::vector<const char*> keys) {
  keys.push_back(nullptr);
  pmix_query_t query{const_cast<char**>(keys.data()), nullptr, 0};
  pmix_info_t* results = nullptr;
  InfoAnswer out{PMIX_SUCCESS, {}};
  out.status = PMIx_Query_info(&query, 1, &results, &out.count);
  if (out.count != 0 && results[0].value.type == PMIX_STRING) out.text = results[0].value.data.string;
  PMIX_INFO_FREE(results, out.count);
  return out;
}

struct Heard {
  std::atomic<bool> came{false};
  pmix_status_t status = PMIX_ERROR;
  std::string text;
  static void on_answer(pmix_status_t status, pmix_info_t* infos, std::size_t count, void* self,
                        pmix_release_cbfunc_t release, void* held) {
    auto& heard = *static_cast<Heard*>(self);
    heard.status = status;
    if (count == 1 && infos[0].value.type == PMIX_STRING) heard.text = infos[0].value.data.string;
    if (release != nullptr) release(held);
    heard.came = true;
  }
};

/// What a query for the table of the caller's job brings.
std::vector<pmix_proc_info_t> table_of_processes(pmix_info_t*& results, std::size_t& count) {
  const char* keys[] = {PMIX_QUERY_PROC_TABLE, nullptr};
  pmix_query_t query{const_cast<char**>(keys), nullptr, 0};
  check_status(PMIx_Query_info(&query, 1, &results, &count), PMIX_SUCCESS);
  check(count == 1 && results[0].value.type == PMIX_DATA_ARRAY, "a table");
  const auto& array = *results[0].value.data.darray;
  check(array.type == PMIX_PROC_INFO, "of processes");
  const auto* rows = static_cast<const pmix_proc_info_t*>(array.array);
  return {rows, rows + array.size};
}

/// Every process of the job, on all its nodes, with its pid. PMIx_Init does not wait until the server has
/// read of it.
void check_table(const Client& client) {
  pmix_info_t* results = nullptr;
  std::size_t count = 0;
  check(eventually([&] {
          PMIX_INFO_FREE(results, count);
          const auto rows = table_of_processes(results, count);
          return std::all_of(rows.begin(), rows.end(),
                             [](const pmix_proc_info_t& row) { return row.pid > 0; });
        }),
        "a process has no pid");
  PMIX_INFO_FREE(results, count);
  const auto rows = table_of_processes(results, count);
  check_equal(rows.size(), client.size);
  for (pmix_rank_t rank = 0; rank < client.size; ++rank) {
    check_equal(rows[rank].proc.rank, rank);
    check(rows[rank].hostname != nullptr, "a host");
    check_equal(rows[rank].state, PMIX_PROC_STATE_CONNECTED);
  }
  check(rows[client.me.rank].pid == ::getpid(), "its own pid");
  PMIX_INFO_FREE(results, count);
  check_status(fence(), PMIX_SUCCESS);
}

/// What is about the library needs no server and no PMIx_Init.
int queries_the_library(const Words&) {
  for (const char* key : {PMIX_QUERY_STABLE_ABI_VERSION, PMIX_QUERY_PROVISIONAL_ABI_VERSION}) {
    const auto answer = answer_to({key});
    check_status(answer.status, PMIX_SUCCESS);
    check(answer.text.find('.') != std::string::npos, answer.text);
  }
  const auto version = answer_to({PMIX_VERSION_INFO});
  check_status(version.status, PMIX_SUCCESS);
  check(version.text == PMIx_Get_version(), version.text);
  check_status(answer_to({PMIX_QUERY_NAMESPACES}).status, PMIX_ERR_INIT);
  check_status(answer_to({}).status, PMIX_ERR_INIT);
  pmix_proc_t me{};
  const auto began = PMIx_Init(&me, nullptr, 0);  // a singleton
  check(began == PMIX_SUCCESS || began == PMIX_ERR_UNREACH, PMIx_Error_string(began));
  check_status(answer_to({PMIX_QUERY_STABLE_ABI_VERSION}).status, PMIX_SUCCESS);
  check_status(answer_to({PMIX_QUERY_NAMESPACES}).status, PMIX_ERR_UNREACH);
  check_status(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  check_status(answer_to({PMIX_QUERY_STABLE_ABI_VERSION}).status, PMIX_SUCCESS);
  return 0;
}

/// A rank may ask, too.
int query_of_a_client(const Words&) {
  Client client;
  auto answer = answer_to({PMIX_QUERY_NAMESPACES});
  check_status(answer.status, PMIX_SUCCESS);
  check(answer.text == cluster_job, answer.text);
  check_status(answer_to({"weft.cluster"}).status, PMIX_SUCCESS);
  check_status(answer_to({PMIX_QUERY_NAMESPACES, "nobody.knows"}).status, PMIX_ERR_PARTIAL_SUCCESS);
  check_status(answer_to({"nobody.knows", PMIX_QUERY_QUEUE_LIST}).status, PMIX_ERR_NOT_FOUND);
  check_status(answer_to({}).status, PMIX_ERR_BAD_PARAM);
  check(answer_to({PMIX_QUERY_STABLE_ABI_VERSION, PMIX_QUERY_NAMESPACES}).count == 2,
        "of the library and of the server");
  check_status(answer_to({PMIX_VERSION_INFO, "nobody.knows"}).status, PMIX_ERR_PARTIAL_SUCCESS);
  check_status(answer_to({PMIX_JOB_SIZE, PMIX_QUERY_JOB_STATUS}).status, PMIX_SUCCESS);
  check_table(client);
  Heard heard;
  const char* keys[] = {PMIX_QUERY_NAMESPACES, nullptr};
  pmix_query_t query{const_cast<char**>(keys), nullptr, 0};
  check_status(PMIx_Query_info_nb(&query, 1, Heard::on_answer, &heard), PMIX_SUCCESS);
  check(eventually([&] { return heard.came.load(); }), "no answer");
  check_status(heard.status, PMIX_SUCCESS);
  check(heard.text == cluster_job, heard.text);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

pmix_status_t attach(Infos&& infos, pmix_proc_t* proc = nullptr) {
  return PMIx_tool_init(proc, infos.data(), infos.size());
}

Infos pid_info(pid_t pid) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
  Infos out;
  out.copy(info);
  PMIX_INFO_DESTRUCT(&info);
  return out;
}

/// Words: the pid of a server.
int tool(const Words& words) {
  const auto server = static_cast<pid_t>(std::stol(words[0]));
  pmix_info_t* results = nullptr;
  std::size_t count = 0;
  pmix_query_t query = PMIX_QUERY_STATIC_INIT;
  check_status(PMIx_tool_finalize(), PMIX_ERR_INIT);
  check(!PMIx_tool_is_connected(), "connected before it was a tool");
  check_status(PMIx_Query_info(&query, 1, &results, &count), PMIX_ERR_INIT);
  check_status(attach(std::move(Infos().number(PMIX_SERVER_PIDINFO, 1))), PMIX_ERR_BAD_PARAM);
  check_status(attach(std::move(Infos().text(PMIX_SERVER_URI, "weft:1"))), PMIX_ERR_NOT_SUPPORTED);
  check_status(attach(pid_info(::getpid())), PMIX_ERR_UNREACH);
  check_status(PMIx_tool_init(nullptr, nullptr, 1), PMIX_ERR_BAD_PARAM);

  check_status(attach(std::move(Infos().flag(PMIX_TOOL_DO_NOT_CONNECT))), PMIX_SUCCESS);
  check(!PMIx_tool_is_connected(), "connected without a wish");
  check_status(answer_to({PMIX_QUERY_AVAIL_SERVERS}).status, PMIX_SUCCESS);
  check_status(answer_to({PMIX_QUERY_NAMESPACES}).status, PMIX_ERR_UNREACH);
  check_status(PMIx_tool_finalize(), PMIX_SUCCESS);

  pmix_proc_t me{};
  check_status(attach(pid_info(server), &me), PMIX_SUCCESS);
  check(me.nspace[0] != '\0' && PMIx_Initialized() != 0, "no name");
  check_status(attach(pid_info(server)), PMIX_SUCCESS);
  check_status(PMIx_tool_finalize(), PMIX_SUCCESS);
  check(PMIx_tool_is_connected(), "the first of two ended it");
  check(answer_to({PMIX_QUERY_NAMESPACES}).text == cluster_job, "namespaces");
  say("attached");
  await("the server is gone");
  check(eventually([] { return !PMIx_tool_is_connected(); }), "still connected");
  check_status(answer_to({PMIX_QUERY_NAMESPACES}).status, PMIX_ERR_LOST_CONNECTION);
  check_status(PMIx_tool_finalize(), PMIX_SUCCESS);
  return 0;
}

}  // namespace

void add_info_programs(Programs& programs) {
  programs.add("sets_are_late", sets_are_late);
  programs.add("sparse_gets", sparse_gets);
  programs.add("growing_cards", growing_cards);
  programs.add("fences_of_both_kinds", fences_of_both_kinds);
  programs.add("query_of_a_client", query_of_a_client);
  programs.add("queries_the_library", queries_the_library);
  programs.add("tool", tool);
}

// ---- tests

class InfoTest : public Multiproc, public ::testing::WithParamInterface<std::string> {
 protected:
  Variables over() const { return {{"WEFT_TRANSPORT", GetParam()}, {"WEFT_NET", "lo"}}; }
};

/// What the fabric itself decides: reads of cards, and when a node is lost.
class FabricInfoTest : public InfoTest {};

INSTANTIATE_TEST_SUITE_P(Over, InfoTest, ::testing::ValuesIn(two_fabrics()),
                         [](const auto& transport) { return transport.param; });
INSTANTIATE_TEST_SUITE_P(Over, FabricInfoTest, ::testing::ValuesIn(fabrics({"shm", "ofi", "ucx"})),
                         [](const auto& transport) { return transport.param; });

TEST_P(InfoTest, names_the_missing_ranks_and_their_nodes_whichever_node_is_asked) {
  Cluster cluster(3, Segment::mapped, "last_is_late", over());
  for (const auto& node : cluster.nodes) {
    expect_report(node, {"cluster wide-cluster: 3 nodes", "host1", "transport " + GetParam(), "2 connected",
                         "job wide: 6 ranks on 3 nodes: 6 connected", "fence 1 of wide, exchange by ",
                         "5 of 6 ranks are in it, with all their ranks 2 of 3 nodes",
                         "  missing on host2: 5 (rank 5 pid "});
    expect_report(node,
                  {"\"ranks\": 6, \"ranks_arrived\": 5, \"missing\": [{\"namespace\": \"wide\", \"rank\": 5"},
                  "--json");
  }
  cluster.nodes[2].tell("come");
  cluster.finish();
}

TEST_P(InfoTest, names_the_missing_ranks_of_a_group) {
  for (const char* what : {"construct", "destruct"}) {
    Cluster cluster(3, Segment::mapped, "last_is_late_for", over(), false, {what});
    cluster.go();
    const auto title = std::string(what) + " of group late of wide";
    for (const auto& node : cluster.nodes)
      expect_report(node, {title, "5 of 6 ranks are in it", "missing on host2: 5 (rank 5 pid"});
    cluster.nodes[2].tell("come");
    cluster.finish();
  }
}
TEST_P(InfoTest, names_the_algorithm_of_what_is_under_way) {
  auto variables = over();
  variables.emplace_back("WEFT_COLLECTIVE", "ring");
  Cluster cluster(3, Segment::mapped, "last_is_late", variables);
  expect_report(cluster.nodes[1], {"fence 1 of wide, exchange by ring: open for at least "});
  cluster.nodes[2].tell("come");
  cluster.finish();
}

TEST_P(InfoTest, a_node_tells_its_part_in_a_fence_that_it_has_not_heard_of) {
  Cluster cluster(3, Segment::mapped, "sets_are_late", over());
  for (const auto& node : cluster.nodes)
    expect_report(node, {"of wide ranks 0,4-5", "1 of 3 ranks are in it, with all their ranks 1 of 2 nodes",
                         "  missing on host2: 4-5 (rank 4 pid ", "of wide ranks 4-5: open for at least ",
                         "1 of 2 ranks are in it\n", "  missing on host2: 5 (rank 5 pid "});
  cluster.nodes[2].tell("come");
  cluster.finish();
}

TEST_P(FabricInfoTest, direct_modex_is_reads_and_no_requests) {
  Cluster cluster(3, Segment::mapped, "sparse_gets", over());
  for (auto& node : cluster.nodes) node.tell("listen");
  for (auto& node : cluster.nodes) node.expect("done");
  const auto report = look(cluster.nodes[1], "--json");
  // Four ranks live on other nodes; two here want each card, and it is read once.
  EXPECT_EQ(count_of(report, "\"modex.fetches\": 4, \"modex.gets\": 4, "), 3U) << report;
  EXPECT_EQ(count_of(report, "\"modex.requests\": 0, \"fences.begun\": 2, \"fences.ended_well\": 2, "), 3U)
      << report;
  EXPECT_EQ(count_of(report, "\"fences\": []"), 1U) << report;
  const auto text = look(cluster.nodes[1], "--stats");
  EXPECT_TRUE(holds(text, "modex.gets                           12   4 on each")) << text;
  EXPECT_TRUE(holds(text, "no process waits in a fence")) << text;
  for (auto& node : cluster.nodes) node.tell("end");
  cluster.finish();
}

TEST_P(FabricInfoTest, of_a_card_that_was_read_before_only_the_news_are_read) {
  Cluster cluster(2, Segment::mapped, "growing_cards", over());
  for (auto& node : cluster.nodes) node.tell("listen");
  for (auto& node : cluster.nodes) node.expect("done");
  // One read, then each time the length and what is new, at once. 2.4 kB in all: of the whole it would be a
  // second round.
  const auto report = look(cluster.nodes[0], "--json");
  EXPECT_EQ(count_of(report, "\"modex.fetches\": 10, \"modex.gets\": 19, "), 1U) << report;
  for (auto& node : cluster.nodes) node.tell("end");
  cluster.finish();
}

TEST_P(InfoTest, full_fences_send_cards_that_are_alike_compressed_and_random_bytes_as_they_are) {
  Cluster cluster(3, Segment::mapped, "fences_of_both_kinds", over());
  const auto counted = [&](const std::string& after) {
    for (auto& node : cluster.nodes) node.tell("listen");
    for (auto& node : cluster.nodes) node.expect(after);
    const auto report = look(cluster.nodes[1], "--json");
    return std::pair(numbers(report, "\"fences.bytes\": "), numbers(report, "\"fences.packed\": "));
  };
  const auto [alike, alike_packed] = counted("alike");
  for (auto& node : cluster.nodes) node.tell("go on");
  const auto [all, all_packed] = counted("noise");
  ASSERT_TRUE(alike.size() == 3 && alike_packed.size() == 3 && all.size() == 3 && all_packed.size() == 3);
  for (std::size_t node = 0; node < 3; ++node) {  // two ranks each
    EXPECT_GE(alike[node], 10'000U);
    EXPECT_LE(alike_packed[node], 1000U);
    EXPECT_GE(all[node] - alike[node], 10'000U);
    EXPECT_EQ(all_packed[node] - alike_packed[node], all[node] - alike[node]);
  }
  for (auto& node : cluster.nodes) node.tell("go on");
  cluster.finish();
}

TEST_P(InfoTest, a_node_that_is_stopped_is_silent_and_the_report_comes_all_the_same) {
  Cluster cluster(3, Segment::mapped, "last_is_late", over());
  expect_report(cluster.nodes[0], {"  missing on host2: 5 (rank 5 pid "});
  cluster.nodes[2].kill(SIGSTOP);
  const auto report = look(cluster.nodes[0]);
  EXPECT_TRUE(holds(report, "host2                silent") || holds(report, "host2                lost"))
      << report;
  EXPECT_TRUE(holds(report, "cluster wide-cluster: 3 nodes")) << report;
}

TEST_P(FabricInfoTest, a_node_that_is_lost_is_said_to_be) {
  Cluster cluster(3, Segment::mapped, "node_dies", over());
  for (auto& node : cluster.nodes) node.tell("listen");
  for (auto& node : cluster.nodes) node.expect("ready");
  cluster.nodes[2].kill();
  cluster.nodes[2].wait();
  expect_report(cluster.nodes[0], {"host2                lost", "mesh.nodes_lost                       "},
                "--stats");
  cluster.nodes.pop_back();
  cluster.finish();
}

TEST_P(InfoTest, ranks_may_ask) {
  Cluster cluster(2, Segment::mixed, "query_of_a_client", over());
  cluster.finish();
}

class InfoOfOne : public Multiproc {};

TEST_F(InfoOfOne, what_is_about_the_library_needs_no_server) {
  Child child("queries_the_library", {}, {});
  child.expect_success();
}

TEST_F(InfoOfOne, a_job_of_one_node) {
  Host host;
  host.add_job("alone", 2);
  host.add_client(proc_of("alone", 0));
  host.add_client(proc_of("alone", 1));
  auto first = host.start("alone", 0, "last_is_late");
  const auto me = std::to_string(::getpid());
  std::string report;
  EXPECT_TRUE(eventually([&] {
    report = look(me);
    return holds(report, "1 of 2 ranks are in it\n  missing on") &&
           holds(report, ": 1 (rank 1 not in PMIx_Init yet)");
  })) << report;
  EXPECT_TRUE(holds(look("--list"), me)) << look("--list");
  auto second = host.start("alone", 1, "last_is_late");
  second.tell("come");
  first.expect_success();
  second.expect_success();
}

TEST_F(InfoOfOne, says_in_one_line_why_it_cannot) {
  int status = 0;
  const auto line = [&](const std::string& arguments) {
    auto text = look(arguments, &status);
    EXPECT_EQ(count_of(text, "\n"), 1U) << text;
    return text;
  };
  EXPECT_TRUE(holds(line("--no-such-option"), "weftinfo --help"));
  EXPECT_EQ(status, 2);
  EXPECT_TRUE(holds(line("0"), "is no process id"));
  EXPECT_EQ(status, 2);
  EXPECT_TRUE(holds(line(std::to_string(::getpid())), "is no PMIx server of Weft"));
  EXPECT_EQ(status, 1);
  Cluster cluster(2, Segment::mapped, "last_is_late", {{"WEFT_TRANSPORT", "shm"}});
  cluster.nodes[0].kill(SIGSTOP);
  EXPECT_TRUE(holds(line(std::to_string(cluster.nodes[0].pid())), "does not answer: is it stopped?"));
  EXPECT_EQ(status, 1);
}

/// A process of another user that listens under the name of a server: how many bytes each of its visitors
/// says, a line each.
struct FalseServer {
  explicit FalseServer(const std::string& digits) {
    int ends[2], ready[2];
    EXPECT_EQ(::pipe(ends), 0);
    EXPECT_EQ(::pipe(ready), 0);
    pid = ::fork();
    if (pid == 0) serve(digits, ready[1], ends[1]);
    ::close(ready[1]);
    ::close(ends[1]);
    char byte;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    said_ = ::fdopen(ends[0], "r");
  }
  ~FalseServer() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    std::fclose(said_);
  }
  int bytes_of_next() {
    int count = -1;
    EXPECT_EQ(std::fscanf(said_, "%d", &count), 1);
    return count;
  }
  pid_t pid = 0;

 private:
  [[noreturn]] static void serve(const std::string& digits, int ready, int said) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto name = "weft-" + std::to_string(::getpid()) + "-" + digits;
    std::copy(name.begin(), name.end(), address.sun_path + 1);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::setresuid(54321, 54321, 54321) != 0 ||
        ::bind(listener, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
        ::listen(listener, 8) != 0 || ::write(ready, "r", 1) != 1)
      ::_exit(1);
    for (;;) {
      const int visitor = ::accept(listener, nullptr, nullptr);
      char bytes[64];
      const auto count = ::read(visitor, bytes, sizeof bytes);
      ::close(visitor);
      ::dprintf(said, "%d\n", static_cast<int>(count));
    }
  }
  std::FILE* said_ = nullptr;
};

TEST_F(InfoOfOne, root_asks_another_users_server_only_by_its_pid) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can become another user";
  FalseServer server("0123456789abcdef");
  (void)look("--list");
  (void)look("");
  (void)look(std::to_string(server.pid));
  int silent = 0;  // those of tests beside this one, too
  while (server.bytes_of_next() == 0) ++silent;
  EXPECT_GE(silent, 2);
}

TEST_F(InfoOfOne, a_tool_calls) {
  Cluster cluster(2, Segment::mapped, "last_is_late", {{"WEFT_TRANSPORT", "shm"}});
  Child caller("tool", {std::to_string(cluster.nodes[0].pid())}, {});
  caller.expect("attached");
  cluster.nodes[1].tell("come");
  cluster.finish();
  caller.tell("the server is gone");
  caller.expect_success();
}

}  // namespace weft::test
