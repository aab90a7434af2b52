// SPDX-License-Identifier: BSD-3-Clause
// What a process can do to the segment that its server handed it, beside what the library does: the server
// goes on.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <random>
#include <set>
#include <thread>

#include "core/link/rendezvous.hpp"
#include "core/store/segment/job_view.hpp"
#include "tests/multiproc/harness/cluster.hpp"
#include "tests/multiproc/harness/host.hpp"
#include "transport/shm/partial_window.hpp"

namespace weft::test {
namespace {

/// The caller's job in the segment that its environment names; its clients' memory is all writable, as any
/// rank of it can have it.
struct Reach {
  explicit Reach(const Client& client) {
    auto fds = link::open_segment(std::getenv(link::env_segment));
    check(fds.has_value(), "no segment");
    auto mapped = shm::SegmentWindows::map(shm::Fd(::dup(fds->server.get())), std::move(fds->clients));
    check(mapped.has_value(), "no mapping");
    windows = std::move(*mapped);
    check(windows.clients.make_writable(0, windows.clients.size()).has_value(),
          "the clients' memory is not writable");
    const auto at = store::find_job(windows.bytes(), client.me.nspace);
    check(at.has_value(), "no job");
    windows.own_job = at;
    auto view = store::JobView::open(windows.bytes(), *at);
    check(view.has_value(), "no view");
    job = *view;
    server = std::move(fds->server);
  }
  template <class Word>
  std::atomic<Word>& word(std::uint64_t offset) const {
    return *reinterpret_cast<std::atomic<Word>*>(windows.clients.base() + offset);
  }
  shm::Fd server;
  shm::SegmentWindows windows;
  store::JobView job;
};

/// Calls `store()` again and again until this object ends.
template <class Store>
class Again {
 public:
  explicit Again(Store store)
      : thread_([this, store] {
          while (!is_over_.load(std::memory_order_relaxed)) store();
        }) {}
  ~Again() {
    is_over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

// ---- programs

/// No way leads a client to a writable mapping of the server's memory.
int reaches_for_the_servers_memory(const Words&) {
  Client client;
  const Reach reach(client);
  const auto path = "/proc/self/fd/" + std::to_string(reach.server.get());
  const shm::Fd again(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  const std::string where = std::getenv(link::env_segment);
  const auto colon = where.find(':');
  const auto servers = "/proc/" + where.substr(0, colon) + "/fd/" +
                       where.substr(colon + 1, where.find(':', colon + 1) - colon - 1);
  const shm::Fd through_server(::open(servers.c_str(), O_RDWR | O_CLOEXEC));
  for (const auto* fd : {&again, &through_server}) {
    check(bool(*fd), "not opened");
    check(::mmap(nullptr, shm::page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd->get(), 0) == MAP_FAILED,
          "mapped for writing");
    void* const readable = ::mmap(nullptr, shm::page_bytes, PROT_READ, MAP_SHARED, fd->get(), 0);
    check(readable != MAP_FAILED, "not mapped");
    check(::mprotect(readable, shm::page_bytes, PROT_READ | PROT_WRITE) != 0, "made writable");
    check(::pwrite(fd->get(), "x", 1, 0) < 0, "written");
  }
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Rank 0 stores words of no sense into its job's board while another rank of its node leaves.
int scribbles_on_the_board(const Words&) {
  Client client;
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank == 0) {
    const Reach reach(client);
    auto& word = reach.word<std::uint64_t>(reach.job.header().board);
    std::mt19937_64 random(4711);
    const Again scribble([&] { word.store(random(), std::memory_order_relaxed); });
    check_status(put("scribbling", std::uint64_t{1}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_equal(get(client.peer(1), "about to leave").u64(), std::uint64_t{1});
    // The server answers, though it has a loss to enter on the board for each rank that leaves.
    client.finalize();
    return 0;
  }
  if (client.me.rank == 1) {
    check_equal(get(client.peer(0), "scribbling").u64(), std::uint64_t{1});
    check_status(put("about to leave", std::uint64_t{1}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// Says that the server is awake, whenever it has gone to sleep, at its own job's doorbell.
int silences_the_doorbell(const Words&) {
  Client client;
  const Reach reach(client);
  auto& bell = reach.word<std::uint32_t>(reach.job.header().doorbell);
  {
    const Again silence([&] { bell.store(0, std::memory_order_relaxed); });
    say("silent");
    await("end");
  }
  client.finalize();
  return 0;
}

/// Each Get waits for a commit that the server hears of by the doorbell.
int waits_for_commits(const Words&) {
  Client client;
  for (std::uint64_t round = 0; round < 20; ++round) {
    const auto key = "round " + std::to_string(round);
    if (client.me.rank == round % 2) {
      check_equal(get(client.peer(1 - client.me.rank), key.c_str()).u64(), round);
      continue;
    }
    check_status(put(key.c_str(), round), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// The clients' memories that this process has a descriptor of, by their files' numbers.
std::string memories() {
  std::set<ino_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    struct stat facts {};
    const auto target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.starts_with("/memfd:weft-shared") && ::stat(entry.path().c_str(), &facts) == 0)
      found.insert(facts.st_ino);
  }
  std::string out = "memories";
  for (const auto file : found) out += ' ' + std::to_string(file);
  return out;
}

/// A rank of a job of two, each of its user; reads what both have put, and rank 0 of another job. words: the
/// users, that job, its user.
int is_of_user(const Words& words) {
  const std::string me = std::getenv("PMIX_RANK");
  const auto user = static_cast<uid_t>(std::stoul(words[me == "0" ? 0 : 1]));
  check(::setresuid(user, user, user) == 0, "not another user");
  Client client;
  check_status(put("user", std::uint64_t{user}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  const pmix_proc_t both[] = {client.peer(0), client.peer(1)};
  for (int round = 0; round < 3; ++round) check_status(PMIx_Fence(both, 2, nullptr, 0), PMIX_SUCCESS);
  for (const pmix_rank_t rank : {0u, 1u})
    check_equal(get(client.peer(rank), "user").u64(), std::uint64_t{std::stoul(words[rank])});
  say("here");
  await("look");
  const auto other = proc_of(words[2], 0);
  const std::uint64_t its_user = std::stoul(words[3]);
  check_equal(get(other, "user").u64(), its_user);
  for (const char* how : {PMIX_OPTIONAL, PMIX_IMMEDIATE}) {
    check_equal(get(other, "user", std::move(Infos().flag(how))).u64(), its_user);
    check_status(get(proc_of(words[2], PMIX_RANK_UNDEF), "user", std::move(Infos().flag(how))).status,
                 PMIX_SUCCESS);
    check_status(get(other, "none", std::move(Infos().flag(how))).status, PMIX_ERR_NOT_FOUND);
  }
  check_status(get(other, nullptr).status, PMIX_SUCCESS);
  check_status(get(other, PMIX_LOCAL_RANK).status, PMIX_SUCCESS);
  say(memories());
  client.finalize();
  return 0;
}

}  // namespace

void add_segment_programs(Programs& programs) {
  programs.add("reaches_for_the_servers_memory", reaches_for_the_servers_memory);
  programs.add("scribbles_on_the_board", scribbles_on_the_board);
  programs.add("silences_the_doorbell", silences_the_doorbell);
  programs.add("waits_for_commits", waits_for_commits);
  programs.add("is_of_user", is_of_user);
}

// ---- tests

class SegmentTest : public Multiproc {};

TEST_F(SegmentTest, no_client_gets_the_servers_memory_writable) {
  all_run(Segment::mapped, 2, "reaches_for_the_servers_memory");
}

/// Jobs under one host, the last two of one user, and the first with ranks of two; the namespace is
/// registered before its clients, and after them.
TEST_F(SegmentTest, a_jobs_memory_is_its_own_ranks_and_one_users) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can be two users";
  const Words first = {"54321", "54322"}, second = {"54322", "54322"};
  for (const bool is_nspace_first : {true, false}) {
    Host host;
    std::vector<Child> children;
    const auto add = [&](const std::string& name, Words words, const std::string& other) {
      Infos infos;
      infos.number(PMIX_JOB_SIZE, 2);
      if (is_nspace_first) host.add_job(name, 2, infos);
      for (const pmix_rank_t rank : {0u, 1u})
        host.add_client(proc_of(name, rank), nullptr, static_cast<uid_t>(std::stoul(words[rank])));
      if (!is_nspace_first) host.add_job(name, 2, infos);
      words.insert(words.end(), {other, other == "first" ? first[0] : second[0]});
      for (auto& child : host.start_all(name, 2, "is_of_user", words)) children.push_back(std::move(child));
    };
    add("first", first, "second");
    add("second", second, "third");
    add("third", second, "first");
    for (auto& child : children) child.expect("here");
    for (auto& child : children) child.tell("look");
    std::vector<std::string> heard;
    for (auto& child : children) heard.push_back(child.hear());
    for (auto& child : children) child.expect_success();
    EXPECT_NE(heard[0] == "memories", heard[1] == "memories") << "the user that came first has it";
    const std::set<std::string> of_jobs{std::max(heard[0], heard[1]), heard[2], heard[4]};
    EXPECT_EQ(of_jobs.size(), 3u);
    EXPECT_EQ(heard[2], heard[3]);
    EXPECT_EQ(heard[4], heard[5]);
    for (const auto& memory : of_jobs)
      EXPECT_EQ(std::count(memory.begin(), memory.end(), ' '), 1) << memory << ": one each";
  }
}

TEST_F(SegmentTest, a_servers_loop_ends_whatever_a_board_says) {
  Cluster cluster(2, Segment::mapped, "scribbles_on_the_board",
                  {{"WEFT_TRANSPORT", "shm"}, {"WEFT_NET", "lo"}, {"WEFT_GET_WAIT", "inf"}});
  cluster.finish();
}

TEST_F(SegmentTest, a_damaged_doorbell_silences_its_own_job_only) {
  Host host({}, {{"WEFT_GET_WAIT", "inf"}});
  host.add_job("damaged", 1);
  host.add_job("job", 2);
  auto silent = host.start("damaged", 0, "silences_the_doorbell");
  silent.expect("silent");
  auto children = start_all(host, Segment::mapped, "job", 2, "waits_for_commits");
  expect_success(children);
  silent.tell("end");
  silent.expect_success();
}

}  // namespace weft::test
