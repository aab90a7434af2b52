// SPDX-License-Identifier: BSD-3-Clause
// A resource manager of two nodes that carries nothing but launch information between its servers: the
// launcher, which is the test, and a process with a server a node. None of them has fence_nb or direct_modex,
// nor says a word of ours. docs/design/launch.md.
#include <algorithm>
#include <future>
#include <memory>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

constexpr const char* launched_job = "launched";

std::string in_hex(const std::string& bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string out;
  for (const unsigned char c : bytes) (out += digits[c >> 4]) += digits[c & 15];
  return out;
}
std::string from_hex(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    out += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return out;
}

using MapMaker = pmix_status_t (*)(const char*, char**);
std::string made_map(MapMaker make, const char* input) {
  char* text = nullptr;
  check_status(make(input, &text), PMIX_SUCCESS);
  std::string out(text);
  std::free(text);
  return out;
}
/// Three nodes, of which the second has no rank of the job.
Infos maps() {
  Infos infos;
  infos.text(PMIX_NODE_MAP, made_map(&PMIx_generate_regex, "first,idle,last"));
  infos.text(PMIX_PROC_MAP, made_map(&PMIx_generate_ppn, "0,1;;2,3"));
  return infos;
}

// ---- a rank: cards by a fence with data, by a Get of a card that no fence brought, and values of another
// node's host

int launched_rank(const Words&) {
  Client client;
  check_status(put("card", std::uint64_t{100} + client.me.rank), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence({}, collect()), PMIX_SUCCESS);
  for (pmix_rank_t rank = 0; rank < client.size; ++rank)
    check_equal(get(client.peer(rank), "card", optional()).u64(), 100 + rank);
  check_status(put("later", std::uint64_t{200} + client.me.rank), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  for (pmix_rank_t rank = 0; rank < client.size; ++rank)
    check_equal(get(client.peer(rank), "later").u64(), 200 + rank);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

// ---- a node: words are its name and its ranks; it hears the launch information, and says what came of it

/// words: as above.
int serve_launched(Host& host, const Words& words) {
  auto infos = maps();
  infos.number(PMIX_JOB_SIZE, 4).number(PMIX_NUM_NODES, 3);
  host.add_job(launched_job, static_cast<int>(words.size()) - 1, infos);
  Infos launch;
  launch.bytes("weft.launch", from_hex(listen()));
  const auto limit = listen();
  if (limit != "none") launch.integer(PMIX_TIMEOUT, std::stoi(limit));
  const auto local_support = [&launch] {
    return PMIx_server_setup_local_support(launched_job, launch.data(), launch.size(), nullptr, nullptr);
  };
  const auto status = local_support();
  const auto& before = host.fork_variables(proc_of(launched_job, 0));
  const bool has_variable =
      std::find(before.begin(), before.end(), std::pair<std::string, std::string>("OF_THE_LAUNCH", "42")) !=
      before.end();
  say(std::string(PMIx_Error_string(status)) + (has_variable ? " with its variables" : ""));
  if (status != PMIX_OPERATION_SUCCEEDED) return 0;
  check_status(local_support(), PMIX_OPERATION_SUCCEEDED);  // the same again
  await("start");
  std::vector<Child> ranks;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto rank = static_cast<pmix_rank_t>(std::stoul(words[i]));
    host.add_client(proc_of(launched_job, rank));
    ranks.push_back(host.start(launched_job, rank, "launched_rank"));
  }
  bool is_good = true;
  for (auto& rank : ranks) is_good &= rank.wait() == 0;
  say(is_good ? "good" : "bad");
  await("end");
  return 0;
}

int launched_node(const Words& words) {
  Infos server;
  server.text(PMIX_HOSTNAME, words[0]);
  Host host({}, {}, std::move(server));
  return serve_launched(host, words);
}

// ---- a node of a cluster that its host makes, as the launcher's server is in it

void on_inventory(pmix_status_t, pmix_info_t* infos, size_t count, void* contact,
                  pmix_release_cbfunc_t release, void* release_data) {
  std::string out;
  for (size_t i = 0; i < count; ++i)
    if (PMIX_CHECK_KEY(&infos[i], "weft.contact"))
      out.assign(infos[i].value.data.bo.bytes, infos[i].value.data.bo.size);
  if (release != nullptr) release(release_data);
  static_cast<std::promise<std::string>*>(contact)->set_value(out);
}
std::string own_contact() {
  std::promise<std::string> contact;
  check_status(PMIx_server_collect_inventory(nullptr, 0, on_inventory, &contact), PMIX_SUCCESS);
  return contact.get_future().get();
}
/// Server `number`, on `host`, of a cluster of `servers`.
Infos keyed_server(const std::string& host, std::uint32_t number, std::uint32_t servers) {
  Infos out;
  out.text(PMIX_SERVER_NSPACE, "keyed").rank(PMIX_SERVER_RANK, number).number(PMIX_NUM_NODES, servers);
  out.text(PMIX_HOSTNAME, host).bytes("weft.key", std::string(32, 'k'));
  return out;
}
/// words: the server's number, the number of servers, then as above. It says its contact first.
int keyed_node(const Words& words) {
  Host host({}, {},
            keyed_server(words[2], static_cast<std::uint32_t>(std::stoul(words[0])),
                         static_cast<std::uint32_t>(std::stoul(words[1]))));
  say(in_hex(own_contact()));
  return serve_launched(host, {words.begin() + 2, words.end()});
}

// ---- the launcher

struct GatheredLaunch {
  Infos infos;
  Waiter over;
  static void on_made(pmix_status_t status, pmix_info_t info[], size_t ninfo, void* self,
                      pmix_op_cbfunc_t release, void* open) {
    auto& launch = *static_cast<GatheredLaunch*>(self);
    for (size_t i = 0; i < ninfo; ++i) launch.infos.copy(info[i]);
    if (release != nullptr) release(PMIX_SUCCESS, open);
    Waiter::on_status(status, &launch.over);
  }
};

std::string launch_information(Infos directives) {
  directives.flag(PMIX_SETUP_APP_NONENVARS).variable("OF_THE_LAUNCH", "42");
  GatheredLaunch launch;
  EXPECT_EQ(PMIx_server_setup_application(launched_job, directives.data(), directives.size(),
                                          GatheredLaunch::on_made, &launch),
            PMIX_SUCCESS);
  EXPECT_EQ(launch.over.wait(), PMIX_SUCCESS);
  if (launch.infos.size() != 1) return {};
  const auto& object = launch.infos.data()[0].value.data.bo;
  return {object.bytes, object.size};
}

class LaunchFabricTest : public Multiproc, public ::testing::WithParamInterface<std::string> {
 protected:
  Variables over() const {
    return {{"WEFT_TRANSPORT", GetParam()}, {"WEFT_NET", "lo"}, {"WEFT_GET_WAIT", "0"}};
  }
  Child node(const Words& words, const std::string& launch, const std::string& limit = "none") const {
    Child::Options options;
    options.variables = over();
    Child child("launched_node", words, options);
    child.tell(in_hex(launch));
    child.tell(limit);
    return child;
  }
};

constexpr const char* taken = "PMIX_OPERATION_SUCCEEDED with its variables";

TEST_P(LaunchFabricTest, servers_that_have_launch_information_alone_fence_and_fetch) {
  Host launcher({}, over());
  const auto launch = launch_information(maps());
  auto first = node({"first", "0", "1"}, launch), last = node({"last", "2", "3"}, launch);
  auto idle = node({"idle"}, launch), stranger = node({"stranger"}, launch);
  for (auto* each : {&first, &last, &idle, &stranger}) each->expect(taken);
  for (auto* each : {&first, &last, &idle, &stranger}) each->tell("start");
  for (auto* each : {&first, &last, &idle, &stranger}) each->expect("good");
  for (auto* each : {&first, &last, &idle, &stranger}) each->tell("end");
  for (auto* each : {&first, &last, &idle, &stranger}) each->expect_success();
}

TEST_P(LaunchFabricTest, a_launcher_may_end_when_all_nodes_have_the_launch_information) {
  auto launcher = std::make_unique<Host>(Upcalls{}, over());
  const auto launch = launch_information(maps());
  auto first = node({"first", "0", "1"}, launch), last = node({"last", "2", "3"}, launch);
  for (auto* each : {&first, &last}) each->expect(taken);
  launcher.reset();
  for (auto* each : {&first, &last}) each->tell("start");
  for (auto* each : {&first, &last}) each->expect("good");
  for (auto* each : {&first, &last}) each->tell("end");
  for (auto* each : {&first, &last}) each->expect_success();
}

TEST_P(LaunchFabricTest, a_node_that_does_not_come_ends_the_wait_of_the_others) {
  Host launcher({}, over());
  auto first = node({"first", "0", "1"}, launch_information(maps()), "1");
  first.expect("PMIX_ERR_TIMEOUT");
  first.expect_success();
}

TEST_P(LaunchFabricTest, a_launcher_that_ends_too_soon_ends_the_wait_of_the_nodes) {
  auto launcher = std::make_unique<Host>(Upcalls{}, over());
  const auto launch = launch_information(maps());
  auto last = node({"last", "2", "3"}, launch, "1");
  last.expect("PMIX_ERR_TIMEOUT");  // the launcher has its contact
  auto first = node({"first", "0", "1"}, launch, "60");
  launcher.reset();
  const auto heard = first.hear();
  EXPECT_TRUE(heard == "PMIX_ERR_UNREACH" || heard == taken) << heard;  // it may have been there in time
  if (heard == taken) first.kill();
}

TEST_P(LaunchFabricTest, a_second_launch_of_a_namespace_has_another_key_and_ends_the_first) {
  Host launcher({}, over());
  const auto one = launch_information(maps()), other = launch_information(maps());
  EXPECT_NE(one, other);
  auto first = node({"first", "0", "1"}, one, "2"), last = node({"last", "2", "3"}, other, "2");
  const auto refused = [](const std::string& heard) {
    return heard == "PMIX_ERR_TIMEOUT" || heard == "PMIX_ERR_UNREACH";
  };
  EXPECT_TRUE(refused(first.hear()));
  EXPECT_TRUE(refused(last.hear()));
}

/// The second of the map's three nodes has no server here; the launcher's is the fourth.
class KeyedLaunchTest : public LaunchFabricTest {
 protected:
  static constexpr std::uint32_t servers = 4;
  Child keyed(const Words& words) const {
    Child::Options options;
    options.variables = over();
    return Child("keyed_node", words, options);
  }
  static void deliver(std::vector<Child*> nodes) {
    Infos contacts;
    for (auto* node : nodes) contacts.bytes("weft.contact", from_hex(node->hear()));
    EXPECT_EQ(PMIx_server_deliver_inventory(contacts.data(), contacts.size(), nullptr, 0, nullptr, nullptr),
              PMIX_OPERATION_SUCCEEDED);
  }
};

TEST_P(KeyedLaunchTest, servers_of_a_cluster_of_the_host_learn_where_the_others_are) {
  Host launcher({}, over(), keyed_server("launcher", 3, servers));
  auto first = keyed({"0", "4", "first", "0", "1"}), last = keyed({"2", "4", "last", "2", "3"});
  deliver({&first, &last});
  const auto launch = launch_information({});
  for (auto* each : {&first, &last}) each->tell(in_hex(launch)), each->tell("none");
  for (auto* each : {&first, &last}) each->expect(taken);
  for (auto* each : {&first, &last}) each->tell("start");
  for (auto* each : {&first, &last}) each->expect("good");
  for (auto* each : {&first, &last}) each->tell("end");
  for (auto* each : {&first, &last}) each->expect_success();
}

TEST_P(KeyedLaunchTest, a_contact_that_is_refused_leaves_no_variable) {
  Host launcher({}, over(), keyed_server("launcher", 3, servers));
  auto first = keyed({"0", "2", "first", "0", "1"}), last = keyed({"2", "4", "last", "2", "3"});
  deliver({&first, &last});
  first.tell(in_hex(launch_information({})));  // it has a server of number 2, and here there are two
  first.tell("none");
  first.expect("PMIX_ERR_UNREACH");
  first.expect_success();
  last.kill();
}

INSTANTIATE_TEST_SUITE_P(Over, KeyedLaunchTest, ::testing::Values("tcp", "shm"),
                         [](const auto& info) { return info.param; });

INSTANTIATE_TEST_SUITE_P(Over, LaunchFabricTest, ::testing::Values("tcp", "shm"),
                         [](const auto& info) { return info.param; });

using LaunchTest = Multiproc;
TEST_F(LaunchTest, a_launch_on_one_node_or_without_maps_has_no_fabric) {
  Host launcher;
  const auto alone = launch_information({});
  Infos one_node;
  one_node.text(PMIX_NODE_MAP, "first,idle").text(PMIX_PROC_MAP, "0,1;");
  EXPECT_EQ(launch_information(std::move(one_node)), alone);
  Infos misfit;
  misfit.text(PMIX_NODE_MAP, "first,last").text(PMIX_PROC_MAP, "0;1;2").flag(PMIX_SETUP_APP_ALL);
  EXPECT_EQ(PMIx_server_setup_application(launched_job, misfit.data(), misfit.size(), GatheredLaunch::on_made,
                                          nullptr),
            PMIX_ERR_BAD_PARAM);
}

}  // namespace

void add_launch_fabric_programs(Programs& programs) {
  programs.add("launched_node", launched_node);
  programs.add("keyed_node", keyed_node);
  programs.add("launched_rank", launched_rank);
}

}  // namespace weft::test
