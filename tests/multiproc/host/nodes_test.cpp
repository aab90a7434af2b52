// SPDX-License-Identifier: BSD-3-Clause
// A job of two nodes: two servers in two processes, whose hosts speak over a socket. What the library hands
// to its host and takes from it, in all styles; and what the clients see of it.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <map>
#include <thread>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

constexpr const char* job = "two";
constexpr std::uint32_t ranks_a_node = 2;

// ---- the hosts

/// How the hosts of a test behave; the words of the program "node".
struct Manner {
  int node = 0;
  Segment segment = Segment::mapped;
  std::string program;
  bool fence = true, modex = true;
  bool inline_answers = false;  ///< callbacks inside the upcall where possible
  bool first_fence_fails = false;
  bool first_fence_late = false;  ///< answered only after the clients gave up
  bool second_first = false;      ///< the second node's first answer comes behind its second
  bool no_modex_expected = false;
  bool deaf = false;       ///< does not know PMIX_LOCAL_COLLECTIVE_STATUS
  bool tells_own = false;  ///< each host says of its own ranks what the other does not know
  std::string modex_key;   ///< PMIX_REQUIRED_KEY of every request for a card, with PMIX_TIMEOUT 30

  static Manner parse(const Words& words) {
    Manner m;
    m.node = std::stoi(words[0]);
    m.segment = static_cast<Segment>(std::stoi(words[1]));
    m.program = words[2];
    for (std::size_t i = 3; i < words.size(); ++i) {
      if (words[i] == "no_fence") m.fence = false;
      if (words[i] == "no_modex") m.modex = false;
      if (words[i] == "inline") m.inline_answers = true;
      if (words[i] == "first_fails") m.first_fence_fails = true;
      if (words[i] == "first_late") m.first_fence_late = true;
      if (words[i] == "second_first") m.second_first = true;
      if (words[i] == "expect_no_modex") m.no_modex_expected = true;
      if (words[i] == "deaf") m.deaf = true;
      if (words[i] == "tells_own") m.tells_own = true;
      if (words[i].rfind("expect_key=", 0) == 0) m.modex_key = words[i].substr(11);
    }
    return m;
  }
};

struct HostMessage {
  char kind =
      0;  ///< F a fence's part, D a request for a card, R its reply, E all clients of the node have ended
  std::uint32_t number = 0;
  std::int32_t status = 0;
  std::string name, bytes;
};

/// One node's host: pairs its own part of a fence with the other node's, in the order in which each signature
/// occurs.
class Bridge {
 public:
  explicit Bridge(const Manner& manner) : manner_(manner) {}
  ~Bridge() { reader_.join(); }

  /// Once the server is there to be asked.
  void start() {
    reader_ = std::thread([this] { read(); });
  }
  /// The answer that was kept back.
  void answer_late() {
    const std::lock_guard lock(mutex_);
    later_.run(std::exchange(late_, nullptr));
  }

  /// Takes the directives of the call of fence() that follows.
  void hear(const Infos& directives) {
    const auto* status = manner_.deaf ? nullptr : directives.find(PMIX_LOCAL_COLLECTIVE_STATUS);
    local_status_ = status == nullptr ? PMIX_SUCCESS : status->value.data.status;
  }

  pmix_status_t fence(const std::vector<pmix_proc_t>& procs, bool collect, std::string card,
                      pmix_modex_cbfunc_t done, void* open) {
    std::string name;
    for (const auto& proc : procs) name += std::string(proc.nspace) + ":" + std::to_string(proc.rank) + ",";
    // A host may tell one kind of fence from the other by the bytes, so nodes without anything new have some
    // too.
    check(collect != card.empty(), "each part of a fence with PMIX_COLLECT_DATA has bytes, and no other");
    std::unique_lock lock(mutex_);
    ++fences_;
    if (manner_.first_fence_fails && fences_ == 1) {
      if (manner_.node == 0) return PMIX_ERR_COMM_FAILURE;  // at once here, later there
      later_.run([done, open] { done(PMIX_ERR_COMM_FAILURE, nullptr, 0, open, nullptr, nullptr); });
      return PMIX_SUCCESS;
    }
    send({'F', 0, local_status_, name, card});
    auto& exchange = exchanges_[name];
    exchange.mine.push_back({{std::move(card), local_status_}, done, open});
    auto end = match(name);
    if (end && manner_.inline_answers) {
      lock.unlock();
      end();
    } else {
      answer(std::move(end));
    }
    return PMIX_SUCCESS;
  }

  pmix_status_t modex(const pmix_proc_t& proc, pmix_modex_cbfunc_t done, void* open) {
    const std::lock_guard lock(mutex_);
    ++modexes_;
    check(proc.rank / ranks_a_node != static_cast<std::uint32_t>(manner_.node),
          "direct modex of a rank of this node");
    const auto number = next_++;
    requests_[number] = {done, open};
    send({'D', number, static_cast<std::int32_t>(proc.rank), proc.nspace, {}});
    return PMIX_SUCCESS;
  }

  /// This node's clients have ended; the other's may still ask for cards.
  void end() {
    if (manner_.no_modex_expected) check_equal(modexes_, 0);
    {
      const std::lock_guard lock(mutex_);
      send({'E', 0, 0, {}, {}});
    }
    check(eventually([this] { return over_.load(); }), "the other node did not end");
    ::shutdown(4, SHUT_RD);  // the reader may wait for more, and neither node has anything to say
  }

 private:
  struct Part {
    std::string card;
    pmix_status_t status;  ///< of the fence on that node
  };
  struct Mine {
    Part part;
    pmix_modex_cbfunc_t done;
    void* open;
  };
  struct OpenExchange {
    std::deque<Mine> mine;
    std::deque<Part> theirs;
  };
  struct Answer {  // what a callback's data lives in until the library says that it has it
    std::string bytes;
    static void release(void* self) { delete static_cast<Answer*>(self); }
  };
  struct Request {
    Bridge* bridge;
    std::uint32_t number;
    static void on_card(pmix_status_t status, char* data, size_t size, void* self) {
      const std::unique_ptr<Request> request(static_cast<Request*>(self));
      const std::lock_guard lock(request->bridge->mutex_);
      request->bridge->send(
          {'R', request->number, status, {}, data == nullptr ? "" : std::string(data, size)});
    }
  };

  std::function<void()> match(const std::string& name) {
    auto& exchange = exchanges_[name];
    if (exchange.mine.empty() || exchange.theirs.empty()) return {};
    auto mine = std::move(exchange.mine.front());
    // In any order: each node puts the other's part first.
    const auto theirs = std::move(exchange.theirs.front());
    const auto status = theirs.status != PMIX_SUCCESS ? theirs.status : mine.part.status;
    auto* answer = new Answer{theirs.card + mine.part.card};
    exchange.mine.pop_front();
    exchange.theirs.pop_front();
    return [mine, answer, status] {
      mine.done(status, answer->bytes.data(), answer->bytes.size(), mine.open, Answer::release, answer);
    };
  }

  void answer(std::function<void()> end) {
    if (!end) return;
    const bool is_kept = manner_.first_fence_late || (manner_.second_first && manner_.node == 1);
    if (is_kept && !late_ && answers_++ == 0) {
      late_ = std::move(end);
      return;
    }
    later_.run(std::move(end));
    if (manner_.second_first && late_) later_.run(std::exchange(late_, nullptr));
  }

  void read() {
    for (;;) {
      HostMessage message;
      if (!receive(message)) break;
      std::unique_lock lock(mutex_);
      if (message.kind == 'F') {
        exchanges_[message.name].theirs.push_back({message.bytes, message.status});
        answer(match(message.name));
      } else if (message.kind == 'D') {
        const auto proc = proc_of(message.name, static_cast<pmix_rank_t>(message.status));
        lock.unlock();
        check_status(PMIx_server_dmodex_request(&proc, Request::on_card, new Request{this, message.number}),
                     PMIX_SUCCESS);
      } else if (message.kind == 'R') {
        const auto [done, open] = requests_[message.number];
        requests_.erase(message.number);
        lock.unlock();
        done(message.status, message.bytes.data(), message.bytes.size(), open, nullptr, nullptr);
      } else if (message.kind == 'E') {
        over_ = true;  // answers to our own clients may still come
      }
    }
    over_ = true;
  }

  // A message: kind, number, status, two lengths, name, bytes. Under the mutex.
  void send(const HostMessage& message) {
    std::uint32_t head[5] = {
        static_cast<std::uint32_t>(message.kind), message.number, static_cast<std::uint32_t>(message.status),
        static_cast<std::uint32_t>(message.name.size()), static_cast<std::uint32_t>(message.bytes.size())};
    const std::string all =
        std::string(reinterpret_cast<char*>(head), sizeof head) + message.name + message.bytes;
    for (std::size_t at = 0; at < all.size();) {
      const auto sent = ::send(4, all.data() + at, all.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) return;
      at += static_cast<std::size_t>(sent);
    }
  }
  static bool receive_all(void* to, std::size_t size) {
    for (std::size_t at = 0; at < size;) {
      const auto got = ::read(4, static_cast<char*>(to) + at, size - at);
      if (got <= 0) return false;
      at += static_cast<std::size_t>(got);
    }
    return true;
  }
  static bool receive(HostMessage& message) {
    std::uint32_t head[5];
    if (!receive_all(head, sizeof head)) return false;
    message.kind = static_cast<char>(head[0]);
    message.number = head[1];
    message.status = static_cast<std::int32_t>(head[2]);
    message.name.resize(head[3]);
    message.bytes.resize(head[4]);
    return receive_all(message.name.data(), message.name.size()) &&
           receive_all(message.bytes.data(), message.bytes.size());
  }

  const Manner manner_;
  std::mutex mutex_;
  std::map<std::string, OpenExchange> exchanges_;
  std::map<std::uint32_t, std::pair<pmix_modex_cbfunc_t, void*>> requests_;
  std::uint32_t next_ = 1;
  int fences_ = 0, answers_ = 0, modexes_ = 0;
  pmix_status_t local_status_ = PMIX_SUCCESS;  // in the upcalls only
  std::function<void()> late_;
  std::atomic<bool> over_{false};
  Later later_;
  std::thread reader_;
};

int node(const Words& words) {
  const auto manner = Manner::parse(words);
  Bridge bridge(manner);
  Upcalls upcalls;
  if (manner.fence)
    upcalls.fence = [&](std::vector<pmix_proc_t> procs, bool collect, std::string card,
                        pmix_modex_cbfunc_t done,
                        void* open) { return bridge.fence(procs, collect, std::move(card), done, open); };
  upcalls.fence_directives = [&](const Infos& infos) { bridge.hear(infos); };
  if (manner.modex)
    upcalls.modex = [&](const pmix_proc_t& proc, pmix_modex_cbfunc_t done, void* open) {
      return bridge.modex(proc, done, open);
    };
  if (!manner.modex_key.empty())
    upcalls.modex_directives = [&](const Infos& infos) {
      const auto* key = infos.find(PMIX_REQUIRED_KEY);
      const auto* timeout = infos.find(PMIX_TIMEOUT);
      check(key != nullptr && key->value.type == PMIX_STRING && manner.modex_key == key->value.data.string,
            "no PMIX_REQUIRED_KEY");
      check(timeout != nullptr && timeout->value.type == PMIX_INT && timeout->value.data.integer == 30,
            "no PMIX_TIMEOUT");
      check_equal(infos.size(), 2);
    };
  bool good = true;
  {
    Host host(std::move(upcalls));
    Infos infos;
    infos.number(PMIX_JOB_SIZE, 2 * ranks_a_node)
        .number(PMIX_NUM_NODES, 2)
        .number(PMIX_NODEID, static_cast<std::uint32_t>(manner.node));
    infos.text(PMIX_NODE_MAP, "first,second").text(PMIX_PROC_MAP, "0,1;2,3");
    for (std::uint32_t i = 0; manner.tells_own && i < ranks_a_node; ++i) {
      const auto rank = static_cast<pmix_rank_t>(manner.node) * ranks_a_node + i;
      infos.array(
          PMIX_PROC_INFO_ARRAY,
          std::move(Infos().rank(PMIX_RANK, rank).text(PMIX_CPUSET, "cpus of " + std::to_string(rank))));
    }
    host.add_job(job, ranks_a_node, infos);
    std::vector<Child> children;
    for (std::uint32_t i = 0; i < ranks_a_node; ++i) {
      const auto rank = static_cast<pmix_rank_t>(manner.node) * ranks_a_node + i;
      host.add_client(proc_of(job, rank));
      children.push_back(host.start(job, rank, manner.program, {}, reach(manner.segment, rank)));
    }
    bridge.start();
    if (manner.first_fence_late) {
      for (auto& child : children) child.expect("gave up");
      bridge.answer_late();
    }
    for (auto& child : children) {
      const int status = child.wait();
      good = good &&
             (status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1));  // SIGUSR1: it was to die
    }
    bridge.end();
  }
  return good ? 0 : 1;
}

// ---- clients

bool here(const Client& client, pmix_rank_t rank) {
  return rank / ranks_a_node == client.me.rank / ranks_a_node;
}

/// Right after PMIx_Init, of every rank on either node; nothing was committed, and no server is asked.
int map_of_all(const Words&) {
  Client client;
  for (pmix_rank_t r = 0; r < client.size; ++r) {
    const auto rank = client.peer(r);
    check_equal(get(rank, PMIX_NODEID).u32(), r / ranks_a_node);
    check_equal(get(rank, PMIX_LOCAL_RANK).u16(), r % ranks_a_node);
    check_equal(get(rank, PMIX_NODE_RANK).u16(), r % ranks_a_node);
    check_equal(get(rank, PMIX_GLOBAL_RANK).rank(), r);
    check_equal(get(rank, PMIX_APPNUM).u32(), 0);
    check_equal(get(rank, PMIX_APP_RANK).rank(), r);
    check_equal(get(rank, PMIX_APPLDR).rank(), 0);
    check_equal(get(rank, PMIX_APP_SIZE).u32(), client.size);
    check_equal(get(rank, PMIX_REINCARNATION).u32(), 0);
    check_equal(get(rank, PMIX_LOCAL_SIZE).u32(), ranks_a_node);
    check_equal(get(rank, PMIX_NODE_SIZE).u32(), ranks_a_node);
    check_equal(get(rank, PMIX_LOCALLDR).rank(), r / ranks_a_node * ranks_a_node);
    check(get(rank, PMIX_HOSTNAME).text() == (r < ranks_a_node ? "first" : "second"), "HOSTNAME");
    check(get(rank, PMIX_LOCAL_PEERS).text() == (r < ranks_a_node ? "0,1" : "2,3"), "LOCAL_PEERS");
    // What only its own node could know is not there at once, instead of being waited for.
    for (const auto* key : {PMIX_CPUSET, PMIX_LOCALITY_STRING, PMIX_PACKAGE_RANK})
      check_status(get(rank, key).status, PMIX_ERR_NOT_FOUND);
  }
  check_equal(get(client.job, PMIX_UNIV_SIZE).u32(), client.size);
  check(get(client.job, PMIX_NODE_LIST).text() == "first,second", "NODE_LIST");
  check(get(client.job, PMIX_ANL_MAP).text() == "(vector,(0,2,2))", "ANL_MAP");
  check(get(client.job, PMIX_PROC_MAP).text() == "0,1;2,3", "PROC_MAP");
  check(get(client.job, PMIX_PROC_MAP_RAW).text() == "0,1;2,3", "PROC_MAP_RAW");
  client.finalize();
  return 0;
}

/// Rounds of full fences with barriers between: each round's values are on each node, by a local read.
int full_fences(const Words&) {
  Client client;
  check_equal(client.size, 4);
  check_equal(get(client.job, PMIX_LOCAL_SIZE).u32(), 2);
  check_equal(get(client.job, PMIX_NUM_NODES).u32(), 2);
  check_equal(get(client.peer(3), PMIX_HOSTNAME).text(), "second");
  check_equal(get(client.peer(3), PMIX_LOCAL_RANK).u16(), 1);
  check_equal(get(client.job, PMIX_LOCAL_PEERS, Infos().text(PMIX_HOSTNAME, "second")).text(), "2,3");
  for (std::uint64_t round = 1; round <= 20; ++round) {
    const auto mine = round * 100 + client.me.rank;
    check_status(put("global", mine), PMIX_SUCCESS);
    check_status(put("remote", mine, PMIX_REMOTE), PMIX_SUCCESS);
    check_status(put("local", mine, PMIX_LOCAL), PMIX_SUCCESS);
    if (round % 5 == 0)
      check_status(put_bytes("large", std::string(70000, static_cast<char>('a' + client.me.rank))),
                   PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence({}, collect()), PMIX_SUCCESS);
    for (pmix_rank_t r = 0; r < client.size; ++r) {
      check_equal(get(client.peer(r), "global", optional()).u64(), round * 100 + r);
      if (round % 5 == 0)
        check_equal(get(client.peer(r), "large", optional()).bytes() ==
                        std::string(70000, static_cast<char>('a' + r)),
                    1);
      if (r == client.me.rank) continue;
      if (here(client, r)) {
        check_equal(get(client.peer(r), "local", optional()).u64(), round * 100 + r);
        check_status(get(client.peer(r), "remote", optional()).status, PMIX_ERR_NOT_FOUND);
      } else {
        check_equal(get(client.peer(r), "remote", optional()).u64(), round * 100 + r);
        check_status(get(client.peer(r), "local", optional()).status, PMIX_ERR_NOT_FOUND);
      }
    }
    check_status(fence(), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// Nothing travels at the fence; a Get of another node's rank fetches it, once, and the other node's is asked
/// again only where the caller says so.
int fetch_on_demand(const Words&) {
  Client client;
  check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  const auto far = client.peer((client.me.rank + 2) % 4);
  check_status(get(far, "card", optional()).status, PMIX_ERR_NOT_FOUND);
  check_equal(get(far, "card").u64(), far.rank);
  check_equal(get(far, "card", optional()).u64(), far.rank);
  check_status(get(far, "no such key").status, PMIX_ERR_NOT_FOUND);
  check_status(fence(), PMIX_SUCCESS);
  check_status(put("card", std::uint64_t{100 + client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  check_equal(get(far, "card", Infos().flag(PMIX_GET_REFRESH_CACHE)).u64(), 100 + far.rank);
  check_equal(get(far, "card").u64(), 100 + far.rank);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// What the caller of PMIx_Get said, and the key, reach the host that fetches.
int fetch_with_directives(const Words&) {
  Client client;
  check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  const auto far = client.peer((client.me.rank + 2) % 4);
  check_status(get(far, "card", std::move(Infos().flag(PMIX_IMMEDIATE))).status,
               PMIX_ERR_NOT_FOUND);  // not asked
  check_equal(get(far, "card", std::move(Infos().integer(PMIX_TIMEOUT, 30))).u64(), far.rank);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Asks before the other side has committed: the Get waits, and so does its callback.
int ask_early(const Words&) {
  Client client;
  const auto far = client.peer((client.me.rank + 2) % 4);
  if (client.me.rank < ranks_a_node) {
    Waiter waiter;
    check_status(PMIx_Get_nb(&far, "card", nullptr, 0, Waiter::on_value, &waiter), PMIX_SUCCESS);
    const pmix_proc_t pair[] = {client.me, far};
    check_status(fence({pair[0], pair[1]}), PMIX_SUCCESS);  // the other side commits after this
    check_status(waiter.wait(), PMIX_SUCCESS);
    check_equal(waiter.number, far.rank);
    check_equal(get(far, "card").u64(), far.rank);
  } else {
    check_status(fence({far, client.me}), PMIX_SUCCESS);
    check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
  }
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Sets that cross the nodes, with and without data, in different spellings.
int sets_across(const Words&) {
  Client client;
  for (std::uint64_t round = 0; round < 20; ++round) {
    const auto twin = client.peer((client.me.rank + 2) % 4);
    check_status(put("pair", round * 10 + client.me.rank), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence({twin, client.me}, collect()), PMIX_SUCCESS);
    check_equal(get(twin, "pair", optional()).u64(), round * 10 + twin.rank);
    check_status(fence({client.me, twin}), PMIX_SUCCESS);
    if (client.me.rank != 1)
      check_status(fence({client.peer(0), client.peer(2), client.peer(3)}), PMIX_SUCCESS);
  }
  check_status(fence({}, collect()), PMIX_SUCCESS);
  for (pmix_rank_t r = 0; r < client.size; ++r)
    check_equal(get(client.peer(r), "pair", optional()).u64(), 190 + r);
  client.finalize();
  return 0;
}

/// Background exchange: Gets of all peers while the fence is open, and a barrier behind it.
int get_during_fence(const Words&) {
  Client client;
  check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  Waiter exchange, barrier;
  check_status(PMIx_Fence_nb(nullptr, 0, collect().data(), collect().size(), Waiter::on_status, &exchange),
               PMIX_SUCCESS);
  check_status(PMIx_Fence_nb(nullptr, 0, nullptr, 0, Waiter::on_status, &barrier), PMIX_SUCCESS);
  for (pmix_rank_t r = 0; r < client.size; ++r) check_equal(get(client.peer(r), "card").u64(), r);
  check_status(exchange.wait(), PMIX_SUCCESS);
  check_status(barrier.wait(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

int first_fence_fails(const Words&) {
  Client client;
  check_status(fence({}, collect()), PMIX_ERR_COMM_FAILURE);
  check_status(fence({}, collect()), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// The hosts answer the first exchange only when no rank waits for it any more.
int first_fence_late(const Words&) {
  Client client;
  check_status(fence({}, Infos().flag(PMIX_COLLECT_DATA).integer(PMIX_TIMEOUT, 1)), PMIX_ERR_TIMEOUT);
  say("gave up");
  check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence({}, collect()), PMIX_SUCCESS);
  for (pmix_rank_t r = 0; r < client.size; ++r) check_equal(get(client.peer(r), "card", optional()).u64(), r);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Rank 0 goes from one full fence to the next, of another set, which ends first on the other node.
int fences_overtake(const Words&) {
  Client client;
  const std::vector<pmix_proc_t> pair{client.peer(0), client.peer(2)};
  const auto put_card = [](std::uint64_t value) {
    check_status(put("card", value), PMIX_SUCCESS);
    check_status(put(("card." + std::to_string(value)).c_str(), value), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
  };
  const auto check_card = [&] {
    check_equal(get(client.peer(0), "card", optional()).u64(), 2);
    for (const std::uint64_t value : {1, 2})
      check_equal(get(client.peer(0), ("card." + std::to_string(value)).c_str(), optional()).u64(), value);
  };
  if (client.me.rank == 0) put_card(1);
  Waiter all;
  check_status(PMIx_Fence_nb(nullptr, 0, collect().data(), collect().size(), Waiter::on_status, &all),
               PMIX_SUCCESS);
  if (client.me.rank == 0) {
    check_status(all.wait(), PMIX_SUCCESS);
    put_card(2);
  }
  if (client.me.rank % 2 == 0) check_status(fence(pair, collect()), PMIX_SUCCESS);
  if (client.me.rank == 2) check_card();
  if (client.me.rank != 0) check_status(all.wait(), PMIX_SUCCESS);
  if (client.me.rank == 2) check_card();
  // Rank 3 may know of the second commit, or not yet.
  if (client.me.rank == 3) check_equal(get(client.peer(0), "card.1", optional()).u64(), 1);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

int no_way_across(const Words&) {
  Client client;
  const auto far = client.peer((client.me.rank + 2) % 4);
  check_status(fence(), PMIX_ERR_NOT_SUPPORTED);
  check_status(fence({client.me, far}), PMIX_ERR_NOT_SUPPORTED);
  check_status(get(far, "card").status, PMIX_ERR_NOT_SUPPORTED);
  check_status(get(far, "card", optional()).status, PMIX_ERR_NOT_FOUND);
  // What stays on the node works.
  const auto near = client.peer(client.me.rank ^ 1);
  check_status(fence({client.me, near}, collect()), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// A rank of the other node dies before it committed.
int far_rank_dies(const Words&) {
  Client client;
  if (client.me.rank == 3) {
    check_status(fence({client.peer(0), client.me}), PMIX_SUCCESS);
    ::signal(SIGUSR1, SIG_DFL);
    ::kill(::getpid(), SIGUSR1);
  }
  if (client.me.rank == 0) {
    check_status(fence({client.me, client.peer(3)}), PMIX_SUCCESS);
    check_status(get(client.peer(3), "card").status, PMIX_ERR_UNREACH);
  }
  client.finalize();
  return 0;
}

/// The ranks of the first node want the cards to travel: what the second has not handed over is fetched.
int one_node_collects(const Words&) {
  Client client;
  const bool wants = client.me.rank < ranks_a_node;
  for (const auto* key : {"first", "second"}) {
    check_status(put(key, std::uint64_t{client.me.rank}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(wants ? fence({}, collect()) : fence(), PMIX_SUCCESS);
    for (pmix_rank_t r = 0; r < client.size; ++r) {
      if (!wants && r < ranks_a_node) check_equal(get(client.peer(r), key, optional()).u64(), r);
      if (wants) check_equal(get(client.peer(r), key).u64(), r);
    }
    check_status(fence(), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// What one host says of its ranks comes to the other node with a fence that asks for it, and with no other.
int generated_keys(const Words&) {
  Client client;
  auto generated = std::move(Infos().flag(PMIX_COLLECT_GENERATED_JOB_INFO));
  PMIX_INFO_REQUIRED(&generated.data()[0]);
  for (const bool is_brought : {false, true}) {
    check_status(is_brought ? fence({}, generated) : fence({}, collect()), PMIX_SUCCESS);
    for (pmix_rank_t r = 0; r < client.size; ++r) {
      const auto cpus = get(client.peer(r), PMIX_CPUSET, optional());
      check_status(cpus.status, is_brought || here(client, r) ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
      if (cpus.status == PMIX_SUCCESS) check_equal(cpus.text(), "cpus of " + std::to_string(r));
    }
    check_status(fence(), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// The ranks of the other node hear of it through the hosts, in each fence: no rank waits.
int rank_dies_before_a_fence(const Words&) {
  Client client;
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank == 1) {
    ::signal(SIGUSR1, SIG_DFL);
    ::kill(::getpid(), SIGUSR1);
  }
  for (int i = 0; i < 3; ++i) check_status(fence(), PMIX_ERR_PROC_ABORTED);
  client.finalize();
  return 0;
}

/// The bytes of the fence say it where the hosts do not: to ranks of the other node, in each fence with data.
int rank_dies_before_full_fences(const Words&) {
  Client client;
  for (int i = 0; i < 2; ++i) {
    check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(i == 0 ? fence({}, collect()) : fence(), PMIX_SUCCESS);
  }
  if (client.me.rank == 1) {
    ::signal(SIGUSR1, SIG_DFL);
    ::kill(::getpid(), SIGUSR1);
  }
  for (int i = 0; i < 3; ++i) check_status(fence({}, collect()), PMIX_ERR_PROC_ABORTED);
  check_status(fence({}, std::move(Infos().flag(PMIX_COLLECT_GENERATED_JOB_INFO))), PMIX_ERR_PROC_ABORTED);
  client.finalize();
  return 0;
}

}  // namespace

void add_node_programs(Programs& programs) {
  programs.add("node", node);
  programs.add("map_of_all", map_of_all);
  programs.add("full_fences", full_fences);
  programs.add("fetch_on_demand", fetch_on_demand);
  programs.add("ask_early", ask_early);
  programs.add("sets_across", sets_across);
  programs.add("get_during_fence", get_during_fence);
  programs.add("first_fence_fails", first_fence_fails);
  programs.add("first_fence_late", first_fence_late);
  programs.add("fences_overtake", fences_overtake);
  programs.add("no_way_across", no_way_across);
  programs.add("fetch_with_directives", fetch_with_directives);
  programs.add("far_rank_dies", far_rank_dies);
  programs.add("one_node_collects", one_node_collects);
  programs.add("generated_keys_by_host", generated_keys);
  programs.add("rank_dies_before_a_fence", rank_dies_before_a_fence);
  programs.add("rank_dies_before_full_fences", rank_dies_before_full_fences);
}

// ---- tests

void run_two_nodes(Segment segment, const std::string& program, const Words& manner) {
  int line[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line), 0);
  std::vector<Child> nodes;
  for (int id = 0; id < 2; ++id) {
    Words words{std::to_string(id), std::to_string(static_cast<int>(segment)), program};
    words.insert(words.end(), manner.begin(), manner.end());
    Child::Options options;
    options.keep_fd = line[id];
    nodes.emplace_back("node", words, options);
    ::close(line[id]);
  }
  expect_success(nodes);
}

class NodesTest : public Multiproc, public ::testing::WithParamInterface<Segment> {
 protected:
  void run(const std::string& program, const Words& manner = {}) {
    run_two_nodes(GetParam(), program, manner);
  }
};

INSTANTIATE_TEST_SUITE_P(Segment, NodesTest,
                         ::testing::ValuesIn(ways({Segment::mapped, Segment::refused, Segment::mixed})),
                         [](const auto& way) { return name_of(way.param); });

TEST_P(NodesTest, map_of_all) {
  run("map_of_all", {"expect_no_modex"});
}
TEST_P(NodesTest, full_fences) {
  run("full_fences", {"expect_no_modex"});
}
TEST_P(NodesTest, full_fences_answered_inside_the_upcall) {
  run("full_fences", {"expect_no_modex", "inline"});
}
TEST_P(NodesTest, fetch_on_demand) {
  run("fetch_on_demand");
}
TEST_P(NodesTest, ask_early) {
  run("ask_early");
}
TEST_P(NodesTest, sets_across) {
  run("sets_across", {"expect_no_modex"});
}
TEST_P(NodesTest, get_during_fence) {
  run("get_during_fence");
}
TEST_P(NodesTest, the_host_reports_an_error) {
  run("first_fence_fails", {"first_fails"});
}
TEST_P(NodesTest, the_host_is_late) {
  run("first_fence_late", {"first_late"});
}
TEST_P(NodesTest, a_fence_overtakes_another) {
  run("fences_overtake", {"second_first"});
}
TEST_P(NodesTest, directives_and_the_key_reach_direct_modex) {
  run("fetch_with_directives", {"expect_key=card"});
}
TEST_P(NodesTest, no_way_across) {
  run("no_way_across", {"no_fence", "no_modex"});
}
TEST_P(NodesTest, far_rank_dies) {
  run("far_rank_dies");
}
TEST_P(NodesTest, one_node_collects) {
  run("one_node_collects");
}
TEST_P(NodesTest, keys_of_the_other_host) {
  run("generated_keys_by_host", {"expect_no_modex", "tells_own"});
}
TEST_P(NodesTest, rank_dies_before_a_fence) {
  run("rank_dies_before_a_fence");
}
TEST_P(NodesTest, rank_dies_and_the_hosts_do_not_say_it) {
  run("rank_dies_before_full_fences", {"deaf"});
}

}  // namespace weft::test
