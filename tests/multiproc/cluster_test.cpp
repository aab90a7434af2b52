// SPDX-License-Identifier: BSD-3-Clause
// A job on several nodes whose servers do the exchange themselves, over a real fabric: one process a node with a server in
// it, each with its clients. The test is the launcher: it carries contacts from one to the other.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "tests/multiproc/cluster.hpp"
#include "tests/multiproc/host.hpp"

namespace weft::test {
namespace {

constexpr const char* job = cluster_job;
constexpr const char* second_job = "beside";  ///< of fences_of_two_jobs; laid out as the first
constexpr std::uint32_t ranks_a_node = 2;

std::string hex(const std::string& bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string out;
  for (const unsigned char c : bytes) (out += digits[c >> 4]) += digits[c & 15];
  return out;
}
std::string unhex(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    out += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return out;
}
Words split(const std::string& text) {
  Words out(1);
  for (const char c : text) c == ' ' ? void(out.emplace_back()) : void(out.back() += c);
  return out;
}

void on_inventory(pmix_status_t status, pmix_info_t* infos, size_t count, void* contact,
                  pmix_release_cbfunc_t release, void* release_data) {
  auto& out = *static_cast<std::pair<std::atomic<bool>, std::string>*>(contact);
  for (size_t i = 0; status == PMIX_SUCCESS && i < count; ++i)
    if (PMIX_CHECK_KEY(&infos[i], "weft.contact"))
      out.second.assign(infos[i].value.data.bo.bytes, infos[i].value.data.bo.size);
  if (release != nullptr) release(release_data);
  out.first = true;
}

/// As of a server of another release.
std::string of_another_version(std::string contact) {
  contact[0] = static_cast<char>(contact[0] ^ 0x40);
  return contact;
}

// ---- a node: words are its number, the number of nodes, how clients reach the segment, their program

int cluster_node(const Words& words) {
  const auto self = static_cast<std::uint32_t>(std::stoul(words[0]));
  const auto nodes = static_cast<std::uint32_t>(std::stoul(words[1]));
  const auto segment = static_cast<Segment>(std::stoi(words[2]));
  Infos server;
  server.text(PMIX_SERVER_NSPACE, "wide-cluster").rank(PMIX_SERVER_RANK, self).number(PMIX_NUM_NODES, nodes);
  server.text(PMIX_HOSTNAME, "host" + words[0]).bytes("weft.key", std::string(32, 'k'));
  Host host({}, {}, std::move(server));
  std::pair<std::atomic<bool>, std::string> contact;
  check_status(PMIx_server_collect_inventory(nullptr, 0, on_inventory, &contact), PMIX_SUCCESS);
  check(eventually([&] { return contact.first.load(); }), "no inventory");
  say(hex(contact.second));
  Infos contacts;
  // The last node and the others are of two releases.
  const bool two_versions = words[3] == "two_versions";
  std::uint32_t number = 0;
  for (const auto& one : split(listen())) {
    const bool is_other = two_versions && (number == nodes - 1) != (self == nodes - 1);
    contacts.bytes("weft.contact", is_other ? of_another_version(unhex(one)) : unhex(one));
    ++number;
  }
  check_status(PMIx_server_deliver_inventory(contacts.data(), contacts.size(), nullptr, 0, nullptr, nullptr),
               two_versions ? PMIX_ERR_BAD_PARAM : PMIX_OPERATION_SUCCEEDED);

  std::string names, ranks;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    names += (n == 0 ? "host" : ",host") + std::to_string(n);
    for (std::uint32_t i = 0; i < ranks_a_node; ++i)
      ranks += (i != 0 ? "," : n == 0 ? "" : ";") + std::to_string(n * ranks_a_node + i);
  }
  Infos infos;
  infos.number(PMIX_JOB_SIZE, nodes * ranks_a_node).number(PMIX_NUM_NODES, nodes).number(PMIX_NODEID, self);
  infos.text(PMIX_NODE_MAP, names).text(PMIX_PROC_MAP, ranks);
  // What no other node registers.
  infos.array(PMIX_NODE_INFO_ARRAY,
              std::move(Infos().number(PMIX_NODEID, self).unsigned64(PMIX_AVAIL_PHYS_MEMORY, 10 + self)));
  for (pmix_rank_t rank = self * ranks_a_node; rank < (self + 1) * ranks_a_node; ++rank)
    infos.array(
        PMIX_PROC_INFO_ARRAY,
        std::move(Infos().rank(PMIX_RANK, rank).text(PMIX_CPUSET, "cpus of " + std::to_string(rank))));
  // And what each host says later, of all: one key of the same name, and one that no other host says.
  Infos later;
  later.text("pmix.said.by.all", "host" + words[0])
      .text(("pmix.said.by." + words[0]).c_str(), "host" + words[0]);
  std::vector<Child> children;
  // Ranks of one job may name those of the other at once.
  const Words jobs = words[3] == "fences_of_two_jobs" ? Words{job, second_job} : Words{job};
  for (const auto& nspace : jobs) host.add_job(nspace.c_str(), ranks_a_node, infos);
  for (const auto& nspace : jobs) host.add_job(nspace.c_str(), ranks_a_node, later);
  for (const auto& nspace : jobs)
    for (std::uint32_t i = 0; i < ranks_a_node; ++i) {
      const pmix_rank_t rank = self * ranks_a_node + i;
      host.add_client(proc_of(nspace.c_str(), rank));
      children.push_back(
          host.start(nspace.c_str(), rank, words[3], {words.begin() + 4, words.end()}, reach(segment, rank)));
    }
  say("started");
  bool good = true;
  const auto wait_for = [&](Child& child) {
    const int status = child.wait();
    good = good && (status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1));  // it was to die
  };
  // The test speaks with the last rank through this process, and hears the first, until the test wants it to wait for all; or to
  // start the last rank once more, after its process has ended.
  for (std::string line = listen(); !line.empty() && line != "wait"; line = listen()) {
    if (line == "listen") {
      say(children.back().hear());
    } else if (line == "listen to the first") {
      say(children.front().hear());
    } else if (line == "start again") {
      const pmix_rank_t rank = (self + 1) * ranks_a_node - 1;
      wait_for(children.back());
      children.pop_back();
      children.push_back(
          host.start(job, rank, words[3], {words.begin() + 4, words.end()}, reach(segment, rank)));
    } else {
      children.back().tell(line);
    }
  }
  for (auto& child : children) wait_for(child);
  say(good ? "good" : "bad");
  await("end");
  return good ? 0 : 1;
}

// ---- clients

/// Fences of all kinds back to back, on overlapping sets; what was committed before a full one is there after it.
int fence_storm(const Words&) {
  Client client;
  const auto me = client.me.rank;
  const auto n = client.size;
  std::vector<pmix_proc_t> odd_or_even, not_first;
  for (pmix_rank_t r = 0; r < n; ++r) {
    if (r % 2 == me % 2) odd_or_even.push_back(client.peer(r));
    if (r != 0) not_first.push_back(client.peer(r));
  }
  for (std::uint64_t round = 1; round <= 60; ++round) {
    check_status(put("round", round * 1000 + me), PMIX_SUCCESS);
    if (round % 20 == me % 20)  // only some commit more, and large values
      check_status(put_bytes("large", std::string(40'000, static_cast<char>('a' + me))), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence({}, collect()), PMIX_SUCCESS);
    for (pmix_rank_t r = 0; r < n; ++r)
      check_equal(get(client.peer(r), "round", optional()).u64(), round * 1000 + r);
    check_status(fence(odd_or_even), PMIX_SUCCESS);
    if (me != 0) check_status(fence(not_first), PMIX_SUCCESS);
    check_status(fence(), PMIX_SUCCESS);
    check_status(fence(), PMIX_SUCCESS);
  }
  for (pmix_rank_t r = 0; r < n; ++r)
    check_equal(
        get(client.peer(r), "large", optional()).bytes() == std::string(40'000, static_cast<char>('a' + r)),
        1);
  client.finalize();
  return 0;
}

/// Several threads of each rank in one set at the same time: so many consecutive fences of it, in whatever order the
/// threads come. words: the set.
int fence_of_threads(const Words& words) {
  Client client;
  constexpr std::ptrdiff_t threads = 4;
  constexpr std::uint64_t rounds = 50;
  std::vector<pmix_proc_t> set;  // empty: the whole job
  std::vector<pmix_rank_t> members;
  if (words.at(0) == "set") members = {1, 2, 3};  // one of the first node, both of the second
  for (const auto rank : members) set.push_back(client.peer(rank));
  for (pmix_rank_t r = 0; set.empty() && r < client.size; ++r) members.push_back(r);
  const bool is_member = std::find(members.begin(), members.end(), client.me.rank) != members.end();

  std::barrier together(threads);
  std::atomic<std::uint64_t> ended{0};
  const auto body = [&](bool leads) {
    // All fences of a round are of one kind; otherwise the first thread would decide the kind of each.
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      if (leads) {
        check_status(put("round", round), PMIX_SUCCESS);
        check_status(PMIx_Commit(), PMIX_SUCCESS);
      }
      together.arrive_and_wait();
      const bool travels = round % 2 == 0;
      check_status(travels ? fence(set, collect()) : fence(set), PMIX_SUCCESS);
      ++ended;
      together.arrive_and_wait();
      for (std::size_t i = 0; leads && travels && i < members.size(); ++i) {
        const auto seen = get(client.peer(members[i]), "round", optional()).u64();
        // One of this node may have written the next already.
        check(seen == round || seen == round + 1, "a card of another round");
      }
    }
    for (std::uint64_t i = 0; i < rounds; ++i) {  // each at its own pace
      check_status(fence(set), PMIX_SUCCESS);
      ++ended;
    }
  };
  if (is_member) {
    std::vector<std::thread> others;
    for (std::ptrdiff_t i = 1; i < threads; ++i) others.emplace_back(body, false);
    body(true);
    for (auto& other : others) other.join();
    check_equal(ended.load(), 2 * rounds * threads);
  }
  check_status(put("last", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence({}, collect()), PMIX_SUCCESS);
  for (pmix_rank_t r = 0; r < client.size; ++r) check_equal(get(client.peer(r), "last", optional()).u64(), r);
  client.finalize();
  return 0;
}

/// The cards are to travel as the first node has it, not as the others have: they travel, and all of them, as on one node.
int nodes_disagree(const Words&) {
  Client client;
  check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  const std::vector<pmix_proc_t> set{client.peer(1), client.peer(2), client.peer(3)};
  const bool is_member = client.me.rank >= 1 && client.me.rank <= 3;
  for (std::uint64_t round = 0; round < 10; ++round) {
    const bool wants = client.me.rank < ranks_a_node;
    check_status(wants ? fence({}, collect()) : fence(),
                 PMIX_SUCCESS);  // the first fence of all is one of them
    for (pmix_rank_t r = 0; r < client.size; ++r)
      check_equal(get(client.peer(r), "card", optional()).u64(), round == 0 ? r : 1000 * round - 500 + r);
    check_status(fence(), PMIX_SUCCESS);
    check_status(put("card", 1000 * round + client.me.rank), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    if (is_member) {
      check_status(wants ? fence(set, collect()) : fence(set), PMIX_SUCCESS);
      for (const auto& peer : set) check_equal(get(peer, "card", optional()).u64(), 1000 * round + peer.rank);
      check_status(fence(set), PMIX_SUCCESS);
    }
    check_status(fence(), PMIX_SUCCESS);
    check_status(put("card", 1000 * round + 500 + client.me.rank), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
  }
  check_status(fence({}, collect()), PMIX_SUCCESS);
  for (pmix_rank_t r = 0; r < client.size; ++r)
    check_equal(get(client.peer(r), "card", optional()).u64(), 9500 + r);
  client.finalize();
  return 0;
}

/// What a set has got in an earlier fence it does not get again; others, which have not, do.
int deltas_of_sets(const Words&) {
  Client client;
  const auto far = client.peer((client.me.rank + ranks_a_node) % client.size);
  const auto back = client.peer((client.me.rank + client.size - ranks_a_node) % client.size);
  for (std::uint64_t round = 0; round < 10; ++round) {
    check_status(put("card", round), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    Waiter there, here;
    std::vector<pmix_proc_t> ahead{client.me, far}, behind{back, client.me};
    check_status(PMIx_Fence_nb(ahead.data(), 2, collect().data(), 1, Waiter::on_status, &there),
                 PMIX_SUCCESS);
    check_status(PMIx_Fence_nb(behind.data(), 2, collect().data(), 1, Waiter::on_status, &here),
                 PMIX_SUCCESS);
    check_status(there.wait(), PMIX_SUCCESS);
    check_status(here.wait(), PMIX_SUCCESS);
    check_equal(get(far, "card", optional()).u64(), round);
  }
  check_status(fence({}, collect()), PMIX_SUCCESS);
  for (pmix_rank_t r = 0; r < client.size; ++r) check_equal(get(client.peer(r), "card", optional()).u64(), 9);
  client.finalize();
  return 0;
}

/// Fences of both jobs together, of one rank of each, and of each job by itself.
int fences_of_two_jobs(const Words&) {
  Client client;
  const auto last = client.size - 1;
  const std::vector<pmix_proc_t> both{proc_of(second_job, PMIX_RANK_WILDCARD),
                                      proc_of(job, PMIX_RANK_WILDCARD)};
  const std::vector<pmix_proc_t> pair{proc_of(job, 0), proc_of(second_job, last)};
  const bool is_first_job = std::string_view(client.me.nspace) == job;
  const bool is_of_pair = client.me.rank == (is_first_job ? 0 : last);
  const auto value = [](const char* nspace, pmix_rank_t rank, std::uint64_t round) {
    return round * 1000 + rank + (nspace == job ? 0 : 100);
  };
  for (std::uint64_t round = 0; round < 20; ++round) {
    check_status(put("round", value(is_first_job ? job : second_job, client.me.rank, round)), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence(both, collect()), PMIX_SUCCESS);
    for (const char* nspace : {job, second_job})
      for (pmix_rank_t r = 0; r < client.size; ++r)
        check_equal(get(proc_of(nspace, r), "round", optional()).u64(), value(nspace, r, round));
    if (is_of_pair) check_status(fence(pair), PMIX_SUCCESS);
    check_status(fence(), PMIX_SUCCESS);
    check_status(fence(both), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// Nothing travels at the fence; each reads the cards of all others: short ones, longer than one read, longer than a page.
int cards_of_all_sizes(const Words&) {
  Client client;
  const auto value = [](pmix_rank_t rank, std::size_t size) {
    return std::string(size, static_cast<char>('a' + rank));
  };
  const auto size_of = [](pmix_rank_t rank) { return std::size_t{50} << (3 * rank); };
  check_status(put_bytes("first", value(client.me.rank, size_of(client.me.rank))), PMIX_SUCCESS);
  check_status(put("last", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  for (pmix_rank_t i = 0; i < client.size; ++i) {
    const auto r = (client.me.rank + i) % client.size;
    check_equal(get(client.peer(r), "first").bytes(), value(r, size_of(r)));
    check_equal(get(client.peer(r), "last").u64(), r);
  }
  check_status(get(client.peer(0), "nobody has put this").status, PMIX_ERR_NOT_FOUND);
  client.finalize();
  return 0;
}

/// What the user says goes before what the program asks for. words: whether cards travel.
int mode_of_the_user(const Words& words) {
  Client client;
  const bool travels = words.at(0) == "full";
  check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  const auto far = client.peer((client.me.rank + ranks_a_node) % client.size);
  check_status(travels ? fence() : fence({}, collect()), PMIX_SUCCESS);
  check_status(get(far, "card", optional()).status, travels ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
  check_equal(get(far, "card").u64(), far.rank);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Cards are read while their ranks write them: what is found is whole and never older than what was found before.
int cards_that_grow(const Words&) {
  Client client;
  check_status(put("count", std::uint64_t{0}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  const auto far = client.peer((client.me.rank + ranks_a_node) % client.size);
  std::uint64_t seen = 0;
  for (std::uint64_t count = 1; count <= 150; ++count) {
    check_status(put("count", count), PMIX_SUCCESS);
    check_status(put_bytes("ballast", std::string(count % 90, static_cast<char>('a' + count % 26))),
                 PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    const auto now = get(far, "count", Infos().flag(PMIX_GET_REFRESH_CACHE)).u64();
    check(now >= seen && now <= 150, "a count that went back");
    seen = now;
  }
  check_status(fence(), PMIX_SUCCESS);
  check_equal(get(far, "count", Infos().flag(PMIX_GET_REFRESH_CACHE)).u64(), 150);
  client.finalize();
  return 0;
}

/// With WEFT_GET_WAIT=inf: what a full fence brought is complete, what was committed since is fetched or waited for.
int keys_of_later_commits(const Words&) {
  Client client;
  const auto far = client.peer((client.me.rank + ranks_a_node) % client.size);
  check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence({}, collect()), PMIX_SUCCESS);
  check_status(get(far, "later").status, PMIX_ERR_NOT_FOUND);
  check_status(fence(), PMIX_SUCCESS);
  check_status(put("more", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  check_equal(get(far, "more").u64(), far.rank);

  const auto near = client.peer(client.me.rank ^ 1);
  const auto patient = std::move(Infos().integer(PMIX_TIMEOUT, 30));
  Waiter waiting, bounded, of_this_node;
  check_status(PMIx_Get_nb(&far, "later", nullptr, 0, Waiter::on_value, &waiting), PMIX_SUCCESS);
  check_status(PMIx_Get_nb(&far, "later", patient.data(), patient.size(), Waiter::on_value, &bounded),
               PMIX_SUCCESS);
  check_status(PMIx_Get_nb(&near, "later", nullptr, 0, Waiter::on_value, &of_this_node), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  check(!waiting.over() && !bounded.over() && !of_this_node.over(), "a key that no rank has put");
  check_status(put("only on this node", std::uint64_t{1}, PMIX_LOCAL), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);  // the card is longer, and nothing in it is for the other nodes
  check_status(fence(), PMIX_SUCCESS);
  check(!waiting.over() && !bounded.over() && !of_this_node.over(), "a key that no rank has put");
  check_status(fence(), PMIX_SUCCESS);  // all ranks have looked before the first puts it
  check_status(put("later", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  for (auto* waiter : {&waiting, &bounded, &of_this_node}) check_status(waiter->wait(), PMIX_SUCCESS);
  check_equal(waiting.number, far.rank);
  check_equal(bounded.number, far.rank);
  check_equal(of_this_node.number, near.rank);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// A key that is never put, of ranks of both nodes: words: seconds of WEFT_GET_WAIT.
int keys_that_never_come(const Words& words) {
  using Clock = std::chrono::steady_clock;
  Client client;
  const auto far = client.peer((client.me.rank + ranks_a_node) % client.size);
  const auto near = client.peer(client.me.rank ^ 1);
  check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  const std::chrono::duration<double> limit(std::stod(words.at(0)));
  for (const auto& proc : {near, far}) {
    const auto before = Clock::now();
    check_status(get(proc, "never").status, PMIX_ERR_NOT_FOUND);
    check(Clock::now() - before >= limit, "it did not wait as long as WEFT_GET_WAIT says");
  }
  // With a deadline it is the deadline that says how long, also where a full fence has brought the card.
  check_status(fence({}, collect()), PMIX_SUCCESS);
  const auto bounded = std::move(Infos().integer(PMIX_TIMEOUT, 1));
  Waiter of_far, of_near;
  const auto before = Clock::now();
  check_status(PMIx_Get_nb(&far, "never", bounded.data(), bounded.size(), Waiter::on_value, &of_far),
               PMIX_SUCCESS);
  check_status(PMIx_Get_nb(&near, "never", bounded.data(), bounded.size(), Waiter::on_value, &of_near),
               PMIX_SUCCESS);
  check_status(of_far.wait(), PMIX_ERR_TIMEOUT);
  check_status(of_near.wait(), PMIX_ERR_TIMEOUT);
  check(Clock::now() - before >= std::chrono::seconds(1), "it did not wait as long as PMIX_TIMEOUT says");
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// PMIX_IMMEDIATE asks the server of the rank's node, and waits for no commit.
int gets_at_once(const Words&) {
  Client client;
  const auto at_once = std::move(Infos().flag(PMIX_IMMEDIATE));
  check_status(fence(), PMIX_SUCCESS);
  for (pmix_rank_t r = 0; r < client.size; ++r)
    check_status(get(client.peer(r), "card", at_once).status, PMIX_ERR_NOT_FOUND);
  check_status(fence(), PMIX_SUCCESS);
  check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  for (pmix_rank_t r = 0; r < client.size; ++r) {
    check_equal(get(client.peer(r), "card", at_once).u64(), r);
    check_status(get(client.peer(r), "never", at_once).status, PMIX_ERR_NOT_FOUND);
  }
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// The last two ranks die: one has committed, the other has not. Every way to ask for a key that is not there ends alike.
int gets_of_dead_ranks(const Words&) {
  Client client;
  const auto poor = client.peer(client.size - 2), rich = client.peer(client.size - 1);
  if (client.me.rank == rich.rank) {
    check_status(put("card", std::uint64_t{7}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
  }
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank >= poor.rank) {
    ::signal(SIGUSR1, SIG_DFL);
    ::kill(::getpid(), SIGUSR1);
  }
  check_status(fence(), PMIX_ERR_PROC_ABORTED);  // so that their server knows
  const Infos plain;
  const auto at_once = std::move(Infos().flag(PMIX_IMMEDIATE));
  const auto bounded = std::move(Infos().integer(PMIX_TIMEOUT, 30));
  for (const auto* how : {&plain, &at_once, &bounded}) {
    // One of the two deaths has ended the fence; a Get that waits for the other's rank ends with it.
    if (how != &at_once) check_status(get(poor, "card", *how).status, PMIX_ERR_UNREACH);
    check_equal(get(rich, "card", *how).u64(), 7);
  }
  check_status(get(poor, "card", at_once).status, PMIX_ERR_UNREACH);
  for (const auto* how : {&plain, &at_once, &bounded})
    check_status(get(rich, "never", *how).status, PMIX_ERR_NOT_FOUND);
  client.finalize();
  return 0;
}

/// No fence before it, so no node has said where cards lie.
int modex_without_a_fence(const Words&) {
  Client client;
  check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  for (pmix_rank_t r = 0; r < client.size; ++r) check_equal(get(client.peer(r), "card").u64(), r);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// What only the server of another node was told: asked of every rank, and of every node in each way to name it.
int keys_kept_afar(const Words&) {
  Client client;
  const auto node_of = [](pmix_rank_t rank) { return rank / ranks_a_node; };
  for (pmix_rank_t r = 0; r < client.size; ++r) {
    const auto rank = client.peer(r);
    const bool is_here = node_of(r) == node_of(client.me.rank);
    check_equal(get(rank, PMIX_CPUSET).text(), "cpus of " + std::to_string(r));
    Waiter later;
    check_status(PMIx_Get_nb(&rank, PMIX_CPUSET, nullptr, 0, Waiter::on_value, &later), PMIX_SUCCESS);
    check_status(later.wait(), PMIX_SUCCESS);
    // Of the cache of this node's server.
    for (const char* near : {PMIX_OPTIONAL, PMIX_IMMEDIATE})
      check_status(get(rank, PMIX_CPUSET, std::move(Infos().flag(near))).status,
                   is_here ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
    check_status(get(rank, "pmix.none").status, PMIX_ERR_NOT_FOUND);
    const auto node = node_of(r);
    const auto by_number = std::move(Infos().flag(PMIX_NODE_INFO).number(PMIX_NODEID, node));
    const auto by_name =
        std::move(Infos().flag(PMIX_NODE_INFO).text(PMIX_HOSTNAME, "host" + std::to_string(node)));
    check_equal(get(client.job, PMIX_AVAIL_PHYS_MEMORY, by_number).u64(), 10 + node);
    check_equal(get(client.job, PMIX_AVAIL_PHYS_MEMORY, by_name).u64(), 10 + node);
    check_equal(get(rank, PMIX_AVAIL_PHYS_MEMORY, std::move(Infos().flag(PMIX_NODE_INFO))).u64(), 10 + node);
  }
  const auto nowhere = std::move(Infos().flag(PMIX_NODE_INFO).number(PMIX_NODEID, 77));
  check_status(get(client.job, PMIX_AVAIL_PHYS_MEMORY, nowhere).status, PMIX_ERR_NOT_FOUND);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// What the servers of other nodes alone know is in this node's segment, or is not.
void expect_keys_of_all(const Client& client, bool are_here) {
  const auto of = [&](pmix_rank_t rank) { return rank / ranks_a_node; };
  for (pmix_rank_t r = 0; r < client.size; ++r) {
    const auto status = are_here || of(r) == of(client.me.rank) ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
    auto near = std::move(Infos().flag(PMIX_OPTIONAL).flag(PMIX_NODE_INFO).number(PMIX_NODEID, of(r)));
    const auto cpus = get(client.peer(r), PMIX_CPUSET, optional());
    const auto memory = get(client.job, PMIX_AVAIL_PHYS_MEMORY, near);
    const auto said = get(client.job, ("pmix.said.by." + std::to_string(of(r))).c_str(), optional());
    check_status(cpus.status, status);
    check_status(memory.status, status);
    check_status(said.status, status);
    if (status != PMIX_SUCCESS) continue;
    check_equal(cpus.text(), "cpus of " + std::to_string(r));
    check_equal(memory.u64(), 10 + of(r));
    check_equal(said.text(), "host" + std::to_string(of(r)));
  }
  // Each host has said it: its own word goes before.
  check_equal(get(client.job, "pmix.said.by.all", optional()).text(),
              "host" + std::to_string(of(client.me.rank)));
}

/// generated_keys first: in the very first fence, where nodes say besides where their cards lie.
int generated_keys(const Words& words) {
  Client client;
  auto generated = std::move(Infos().flag(PMIX_COLLECT_GENERATED_JOB_INFO));
  if (words.empty()) {
    check_status(fence({}, collect()), PMIX_SUCCESS);
    expect_keys_of_all(client, false);
  }
  // One rank that asks is enough.
  check_status(client.me.rank == 0 ? fence({}, generated) : fence(), PMIX_SUCCESS);
  expect_keys_of_all(client, true);
  PMIX_INFO_REQUIRED(&generated.data()[0]);
  check_status(fence({}, generated), PMIX_SUCCESS);
  expect_keys_of_all(client, true);
  if (client.me.rank == 0 || client.me.rank + 1 == client.size)
    check_status(fence({client.peer(0), client.peer(client.size - 1)}, generated), PMIX_SUCCESS);
  // Nodes that want this, that, both or nothing, in all combinations: all have what any of them wants.
  for (std::uint32_t round = 0; round < 16; ++round) {
    const auto wish = round >> (client.me.rank / ranks_a_node % 2 == 0 ? 0 : 2) & 3;
    check_status(put("card", std::uint64_t{round}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    Infos how;
    if ((wish & 1) != 0) how.flag(PMIX_COLLECT_DATA);
    if ((wish & 2) != 0) how.flag(PMIX_COLLECT_GENERATED_JOB_INFO);
    check_status(fence({}, how), PMIX_SUCCESS);
    if ((round & 5) == 0) continue;
    for (pmix_rank_t r = 0; r < client.size; ++r)
      check_equal(get(client.peer(r), "card", optional()).u64(), round);
    check_status(fence(), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// The last rank stays away, twice; no rank is left in a fence that another left, and the next one works.
int deadline(const Words&) {
  Client client;
  const bool is_last = client.me.rank + 1 == client.size;
  const auto limited = std::move(Infos().integer(PMIX_TIMEOUT, 1));
  for (int round = 0; round < 2; ++round) {
    if (is_last)  // the first comes here when it has given up on the fence of all
      check_status(fence({client.peer(0), client.me}), PMIX_SUCCESS);
    check_status(fence({}, limited), PMIX_ERR_TIMEOUT);
    if (client.me.rank == 0) check_status(fence({client.me, client.peer(client.size - 1)}), PMIX_SUCCESS);
    check_status(fence(), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// The last rank dies before a fence of all, and before one of the first and itself.
int last_dies(const Words&) {
  Client client;
  const auto last = client.peer(client.size - 1);
  if (client.me.rank == last.rank) {
    check_status(fence({client.peer(0), client.me}), PMIX_SUCCESS);
    ::signal(SIGUSR1, SIG_DFL);
    ::kill(::getpid(), SIGUSR1);
  }
  if (client.me.rank == 0) {
    check_status(fence({client.me, last}), PMIX_SUCCESS);
    check_status(fence({client.me, last}), PMIX_ERR_PROC_ABORTED);
  }
  check_status(fence(), PMIX_ERR_PROC_ABORTED);
  check_status(fence({}, collect()), PMIX_ERR_PROC_ABORTED);
  if (client.me.rank < 4)
    check_status(fence({client.peer(0), client.peer(1), client.peer(2), client.peer(3)}),
                 PMIX_SUCCESS);  // without it all is well
  client.finalize();
  return 0;
}

/// The last rank dies and comes back in another process, while the others of its set fence as often as they like, not the same number
/// of times: the attempts of all nodes pair up again.
int last_comes_back(const Words&) {
  Client client;
  const auto last = client.peer(client.size - 1);
  const std::vector<pmix_proc_t> set{client.peer(0), client.peer(client.size - 2), last};
  const auto again = [&] {
    for (int i = 0; i < 3; ++i) check_status(fence(set), PMIX_SUCCESS);
  };
  if (client.me.rank == last.rank) {
    if (listen() == "first") {
      again();
      say("dies");
      ::signal(SIGUSR1, SIG_DFL);
      ::kill(::getpid(), SIGUSR1);
    }
    again();
  } else if (client.me.rank == 0 || client.me.rank == client.size - 2) {
    again();
    // One rank makes some attempts, the other of its own node or of another many.
    const auto pause = std::chrono::milliseconds(client.me.rank == 0 ? 40 : 1);
    check_status(fence(set), PMIX_ERR_PROC_ABORTED);
    say("told");
    auto status = PMIX_ERR_PROC_ABORTED;
    while ((status = fence(set)) == PMIX_ERR_PROC_ABORTED) std::this_thread::sleep_for(pause);
    check_status(status, PMIX_SUCCESS);
    check_status(fence(set), PMIX_SUCCESS);
    check_status(fence(set), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// The last rank finalizes and ends while all others are in a fence with it: they are told within seconds.
int last_leaves(const Words&) {
  Client client;
  if (client.me.rank + 1 == client.size) {
    client.finalize();
    return 0;
  }
  check_status(fence(), PMIX_ERR_UNREACH);
  client.finalize();
  return 0;
}

/// The last rank comes when the test says so.
int last_is_late(const Words&) {
  Client client;
  if (client.me.rank + 1 == client.size) await("come");
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// The test kills a node when it hears that all are ready.
int node_dies(const Words&) {
  Client client;
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank % ranks_a_node == ranks_a_node - 1) say("ready");
  const bool is_doomed = client.me.rank / ranks_a_node == client.size / ranks_a_node - 1;
  if (is_doomed) {
    await("never");
    return 0;
  }
  check_status(fence(), PMIX_ERR_PROC_ABORTED);
  check_status(fence({client.peer(0), client.peer(1), client.peer(2), client.peer(3)}), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// The server of the last node speaks another version than the others: what needs both ends with a status, the rest works.
int two_versions(const Words&) {
  Client client;
  const auto others = client.size - ranks_a_node;
  const bool is_last_node = client.me.rank >= others;
  check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_ERR_PROC_ABORTED);
  check_status(fence({}, collect()), PMIX_ERR_PROC_ABORTED);
  check_status(get(client.peer(is_last_node ? 0 : others), "card").status, PMIX_ERR_UNREACH);
  std::vector<pmix_proc_t> alike;
  for (pmix_rank_t r = 0; r < client.size; ++r)
    if ((r >= others) == is_last_node) alike.push_back(client.peer(r));
  check_status(fence(alike, collect()), PMIX_SUCCESS);
  for (const auto& peer : alike) check_equal(get(peer, "card", optional()).u64(), peer.rank);
  client.finalize();
  return 0;
}

}  // namespace

void add_cluster_programs(Programs& programs) {
  programs.add("cluster_node", cluster_node);
  programs.add("fence_storm", fence_storm);
  programs.add("fence_of_threads", fence_of_threads);
  programs.add("nodes_disagree", nodes_disagree);
  programs.add("deltas_of_sets", deltas_of_sets);
  programs.add("fences_of_two_jobs", fences_of_two_jobs);
  programs.add("cards_of_all_sizes", cards_of_all_sizes);
  programs.add("cards_that_grow", cards_that_grow);
  programs.add("mode_of_the_user", mode_of_the_user);
  programs.add("keys_of_later_commits", keys_of_later_commits);
  programs.add("keys_that_never_come", keys_that_never_come);
  programs.add("gets_at_once", gets_at_once);
  programs.add("gets_of_dead_ranks", gets_of_dead_ranks);
  programs.add("modex_without_a_fence", modex_without_a_fence);
  programs.add("keys_kept_afar", keys_kept_afar);
  programs.add("generated_keys", generated_keys);
  programs.add("deadline", deadline);
  programs.add("last_dies", last_dies);
  programs.add("last_comes_back", last_comes_back);
  programs.add("last_leaves", last_leaves);
  programs.add("last_is_late", last_is_late);
  programs.add("node_dies", node_dies);
  programs.add("two_versions", two_versions);
}

// ---- tests

class ClusterTest : public Multiproc, public ::testing::WithParamInterface<std::string> {
 protected:
  /// key_wait: WEFT_GET_WAIT; tests about other things do not wait for keys that are missing.
  Variables over(const char* key_wait = "0") const {
    return {{"WEFT_TRANSPORT", GetParam()}, {"WEFT_NET", "lo"}, {"WEFT_GET_WAIT", key_wait}};
  }
  void run(const std::string& program, std::uint32_t nodes = 3, Segment segment = Segment::mapped,
           const Words& words = {}) {
    Cluster cluster(nodes, segment, program, over(), false, words);
    cluster.finish();
  }
  void run_waiting(const char* key_wait, const std::string& program, Segment segment) {
    Cluster cluster(2, segment, program, over(key_wait), false, {key_wait});
    cluster.finish();
  }
};

INSTANTIATE_TEST_SUITE_P(Over, ClusterTest, ::testing::Values("shm", "tcp", "ofi", "ucx"),
                         [](const auto& transport) { return transport.param; });

TEST_P(ClusterTest, fence_storm) {
  run("fence_storm");
}
TEST_P(ClusterTest, fence_storm_of_two_nodes_without_segments) {
  run("fence_storm", 2, Segment::refused);
}
TEST_P(ClusterTest, fence_storm_of_five_nodes) {
  run("fence_storm", 5, Segment::mixed);
}
TEST_P(ClusterTest, threads_of_a_rank_in_fences_of_the_whole_job) {
  run("fence_of_threads", 3, Segment::mapped, {"job"});
}
TEST_P(ClusterTest, threads_of_a_rank_in_fences_of_the_whole_job_by_message) {
  run("fence_of_threads", 3, Segment::mixed, {"job"});
}
TEST_P(ClusterTest, threads_of_a_rank_in_fences_of_a_set) {
  run("fence_of_threads", 3, Segment::mapped, {"set"});
}
TEST_P(ClusterTest, nodes_that_disagree_on_whether_cards_travel) {
  run("nodes_disagree");
}
TEST_P(ClusterTest, servers_of_two_versions) {
  run("two_versions");
}
TEST_P(ClusterTest, fences_of_two_jobs) {
  run("fences_of_two_jobs");
}
TEST_P(ClusterTest, fences_of_two_jobs_by_message) {
  run("fences_of_two_jobs", 2, Segment::mixed);
}
TEST_P(ClusterTest, deltas_of_sets) {
  run("deltas_of_sets");
}
TEST_P(ClusterTest, cards_of_all_sizes) {
  run("cards_of_all_sizes");
}
TEST_P(ClusterTest, cards_of_all_sizes_without_segments) {
  run("cards_of_all_sizes", 2, Segment::refused);
}
TEST_P(ClusterTest, cards_that_grow) {
  run("cards_that_grow", 2);
}
TEST_P(ClusterTest, the_user_chooses_the_mode_of_fences) {
  for (const char* mode : {"full", "sparse"}) {
    auto variables = over();
    variables.emplace_back("WEFT_FENCE", mode);
    Cluster cluster(2, Segment::mapped, "mode_of_the_user", variables, false, {mode});
    cluster.finish();
  }
}
TEST_P(ClusterTest, keys_of_later_commits_are_waited_for) {
  run_waiting("inf", "keys_of_later_commits", Segment::mapped);
}
TEST_P(ClusterTest, keys_of_later_commits_are_waited_for_without_segments) {
  run_waiting("inf", "keys_of_later_commits", Segment::refused);
}
TEST_P(ClusterTest, keys_that_never_come) {
  run_waiting("0.2", "keys_that_never_come", Segment::mixed);
}
TEST_P(ClusterTest, gets_at_once) {
  run_waiting("inf", "gets_at_once", Segment::mixed);
}
TEST_P(ClusterTest, gets_of_dead_ranks) {
  run_waiting("inf", "gets_of_dead_ranks", Segment::mixed);
}
TEST_P(ClusterTest, modex_without_a_fence) {
  run("modex_without_a_fence");
}
TEST_P(ClusterTest, keys_that_only_another_node_was_told) {
  run("keys_kept_afar");
}
TEST_P(ClusterTest, keys_that_only_another_node_was_told_without_segments) {
  run("keys_kept_afar", 2, Segment::refused);
}
// Programs of nodes_test.cpp: what they see is the same, whether hosts or servers carry it.
TEST_P(ClusterTest, keys_that_a_fence_brings_from_the_servers_of_other_nodes) {
  run("generated_keys");
}
TEST_P(ClusterTest, keys_that_a_fence_brings_from_the_servers_of_other_nodes_without_segments) {
  run("generated_keys", 2, Segment::refused);
}
TEST_P(ClusterTest, keys_that_the_first_fence_brings_from_the_servers_of_other_nodes) {
  run("generated_keys", 3, Segment::mapped, {"first"});
}

TEST_P(ClusterTest, fetch_on_demand) {
  run("fetch_on_demand", 2);
}
TEST_P(ClusterTest, ask_early) {
  run("ask_early", 2);
}
TEST_P(ClusterTest, sets_across) {
  run("sets_across", 2);
}
TEST_P(ClusterTest, get_during_fence) {
  run("get_during_fence", 2);
}
TEST_P(ClusterTest, far_rank_dies) {
  run("far_rank_dies", 2);
}
TEST_P(ClusterTest, deadline) {
  run("deadline");
}
TEST_P(ClusterTest, last_dies) {
  run("last_dies");
}
TEST_P(ClusterTest, last_comes_back) {
  for (const auto segment : {Segment::mapped, Segment::refused, Segment::mixed}) {
    Cluster cluster(2, segment, "last_comes_back", over());
    auto& node = cluster.nodes[1];
    node.tell("first");
    node.tell("listen");
    node.expect("dies");
    for (auto& each : cluster.nodes) {  // one that is late would know of no death
      each.tell("listen to the first");
      each.expect("told");
    }
    node.tell("start again");
    node.tell("second");
    cluster.finish();
  }
}
TEST_P(ClusterTest, last_leaves) {
  run("last_leaves");
}
TEST_P(ClusterTest, a_stuck_fence_is_reported_once_with_the_missing_ranks_and_their_nodes) {
  auto variables = over();
  variables.emplace_back("WEFT_STUCK_AFTER", "1");
  Cluster cluster(3, Segment::mapped, "last_is_late", variables, true);
  const auto text = cluster.nodes[0].wait_for_error("missing: 5 (rank 5 pid");
  EXPECT_NE(text.find("2 of 3 nodes are in it"), std::string::npos) << text;
  EXPECT_NE(text.find(") on host2"), std::string::npos) << text;
  cluster.nodes[2].tell("come");
  cluster.finish();
  EXPECT_EQ(cluster.nodes[1].errors(), "");
  EXPECT_EQ(cluster.nodes[2].errors(), "");
}
TEST_P(ClusterTest, node_dies) {
  Cluster cluster(3, Segment::mapped, "node_dies", over());
  for (auto& node : cluster.nodes) node.tell("listen");
  for (auto& node : cluster.nodes) node.expect("ready");
  cluster.nodes[2].kill();
  cluster.nodes[2].wait();
  cluster.nodes.pop_back();
  cluster.finish();
}

}  // namespace weft::test
