// SPDX-License-Identifier: BSD-3-Clause
// Members that leave a group, or die, and processes that join it, while others wait in a fence or in the end
// of it.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <optional>
#include <thread>

#include "tests/multiproc/group/group_calls.hpp"
#include "tests/multiproc/group/programs.hpp"
#include "tests/multiproc/harness/cluster.hpp"

namespace weft::test {
namespace {

enum class Sleep { none, at_a_board, elsewhere };

/// On a word of the segment it has arrived at a board.
Sleep sleep_of(pid_t thread) {
  std::ifstream call("/proc/self/task/" + std::to_string(thread) + "/syscall");
  long number = -1;
  std::string word;
  if (!(call >> number >> word) || number != SYS_futex) return Sleep::none;
  const auto address = std::stoull(word, nullptr, 16);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto dash = line.find('-');
    const auto first = std::stoull(line.substr(0, dash), nullptr, 16);
    const auto end = std::stoull(line.substr(dash + 1), nullptr, 16);
    const bool is_it = first <= address && address < end;
    if (is_it) return line.find("weft") != std::string::npos ? Sleep::at_a_board : Sleep::elsewhere;
  }
  return Sleep::elsewhere;
}

/// A blocking call of an operation of a group in a thread of its own. When this is made it waits at a board;
/// or for the server, which has it, where a slow machine has left the board's patience no time.
class CallAtBoard {
 public:
  CallAtBoard(const std::string& operation, std::function<pmix_status_t()> call)
      : thread_([this, call = std::move(call)] {
          number_ = static_cast<pid_t>(::syscall(SYS_gettid));
          status_ = call();
          is_over_ = true;
        }) {
    const auto is_at_the_server = [&] {
      const auto open = operations_open_here();
      return std::any_of(open.begin(), open.end(),
                         [&](const std::string& each) { return each.starts_with(operation); });
    };
    check(eventually([&] {
            const auto sleep = number_ == 0 ? Sleep::none : sleep_of(number_);
            return is_over_ || sleep == Sleep::at_a_board ||
                   (sleep == Sleep::elsewhere && is_at_the_server());
          }),
          "it does not wait");
  }
  pmix_status_t wait() {
    thread_.join();
    return status_;
  }

 private:
  std::atomic<pid_t> number_{0};
  std::atomic<bool> is_over_{false};
  std::atomic<pmix_status_t> status_{PMIX_SUCCESS};
  std::thread thread_;
};

/// Rank 1 leaves while the others are at their boards. The set comes back in each round. Words: fence or
/// destruct; all: others wait there, or some: rank 0, of its node, calls after the leave. adjusts: the fence
/// says that it goes on without members that leave.
int leaves_while_others_are_at_a_board(const Words& words) {
  Client client;
  const bool is_fence = words.at(0) != "destruct";
  const bool adjusts = words.at(0) == "adjusts";
  const bool leaves = client.me.rank == 1;
  const bool calls = !leaves && (words.at(1) == "all" || client.me.rank != 0);
  const auto group = all_of("stiff");
  Infos infos;
  if (adjusts) infos.flag(PMIX_GROUP_FT_COLLECTIVE);
  auto others = ranks_of(client, 2, client.size - 1);
  others.insert(others.begin(), client.peer(0));
  for (int round = 0; round < 3; ++round) {
    check_status(construct("stiff", {client.job}).status, PMIX_SUCCESS);
    check_status(fence({group}), PMIX_SUCCESS);
    std::optional<CallAtBoard> call;
    const auto* operation = is_fence ? "fence of group stiff" : "destruct of group stiff";
    if (calls) call.emplace(operation, [&] { return is_fence ? fence({group}, infos) : destruct("stiff"); });
    check_status(fence(), PMIX_SUCCESS);  // behind their arrivals
    if (leaves) check_status(leave("stiff"), PMIX_SUCCESS);
    if (calls) check_status(call->wait(), adjusts ? PMIX_SUCCESS : PMIX_ERR_UNREACH);
    check_status(fence(), PMIX_SUCCESS);
    const bool is_owed = !leaves && !calls;  // the end that the others have had
    if (is_owed) check_status(is_fence ? fence({group}) : destruct("stiff"), PMIX_ERR_UNREACH);
    if (!leaves) {
      check(eventually([&] { return is_same(members_of("stiff"), others); }), "the members");
      check_status(put("round", static_cast<std::uint64_t>(round)), PMIX_SUCCESS);
      check_status(PMIx_Commit(), PMIX_SUCCESS);
      for (int again = 0; again < 2; ++again) check_status(fence({group}), PMIX_SUCCESS);
      for (const auto& proc : others)
        check_equal(get(proc, "round").u64(), static_cast<std::uint64_t>(round));
      check_status(destruct("stiff"), PMIX_SUCCESS);
    }
    check_status(fence(), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// The last rank joins while those with even ranks are in a fence of the group, on every node: that ends
/// among the members before the join, also for those that call later, and the one that has joined is in the
/// next. Words: board: they wait at their boards; message: for the server.
int joins_while_others_fence(const Words& words) {
  Client client;
  const bool is_at_board = words.at(0) == "board";
  const auto last = client.size - 1;
  const bool joins = client.me.rank == last;
  const bool calls_before = !joins && client.me.rank % 2 == 0;
  const auto group = all_of("grows");
  const auto members = ranks_of(client, 0, last - 1), all = ranks_of(client, 0, last);
  for (int round = 0; round < 3; ++round) {
    if (!joins) {
      check_status(construct("grows", members).status, PMIX_SUCCESS);
      check_status(fence({group}), PMIX_SUCCESS);
    }
    std::optional<CallAtBoard> call;
    Waiter ended;
    if (calls_before && is_at_board) {
      call.emplace("fence of group grows", [&] { return fence({group}); });
    } else if (calls_before) {
      check_status(PMIx_Fence_nb(&group, 1, nullptr, 0, Waiter::on_status, &ended), PMIX_SUCCESS);
      hear_from_server();
    }
    check_status(fence(), PMIX_SUCCESS);  // behind their arrivals
    if (joins) check_status(join("grows", nullptr).status, PMIX_SUCCESS);
    check_status(fence(), PMIX_SUCCESS);
    check(eventually([&] { return is_same(members_of("grows"), all); }), "the members");
    if (!joins && !calls_before) check_status(fence({group}), PMIX_SUCCESS);
    if (calls_before) check_status(is_at_board ? call->wait() : ended.wait(), PMIX_SUCCESS);
    check_status(fence(), PMIX_SUCCESS);
    check_status(put("round", static_cast<std::uint64_t>(round)), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    for (int again = 0; again < 2; ++again) check_status(fence({group}), PMIX_SUCCESS);
    for (const auto& proc : all) check_equal(get(proc, "round").u64(), static_cast<std::uint64_t>(round));
    check_status(destruct("grows"), PMIX_SUCCESS);
    check_status(fence(), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// A process joins while members wait in the end of the group: it is waited for.
int joins_while_others_end_the_group(const Words&) {
  Client client;
  const auto last = client.size - 1;
  const bool joins = client.me.rank == last;
  if (!joins) check_status(construct("ends", ranks_of(client, 0, last - 1)).status, PMIX_SUCCESS);
  Waiter ended;
  if (client.me.rank == 0) {
    check_status(PMIx_Group_destruct_nb("ends", nullptr, 0, Waiter::on_status, &ended), PMIX_SUCCESS);
    hear_from_server();
  }
  check_status(fence(), PMIX_SUCCESS);
  if (joins) check_status(join("ends", nullptr).status, PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank != 0) check_status(destruct("ends"), PMIX_SUCCESS);
  if (client.me.rank == 0) check_status(ended.wait(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  check_equal(groups_known_here(), 0);
  client.finalize();
  return 0;
}

/// All but the last wait in the end of a group that tells of ends, and the last dies: that completes it, and
/// all that wait hear of the death, once.
int dies_when_the_others_end_the_group(const Words&) {
  Client client;
  const auto last = client.size - 1;
  group_events().listen(PMIX_GROUP_MEMBER_FAILED);
  const auto tells = std::move(Infos().flag(PMIX_GROUP_NOTIFY_TERMINATION));
  check_status(construct("mourns", {client.job}, tells).status, PMIX_SUCCESS);
  Waiter ended;
  if (client.me.rank != last) {
    check_status(PMIx_Group_destruct_nb("mourns", nullptr, 0, Waiter::on_status, &ended), PMIX_SUCCESS);
    hear_from_server();
  }
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank == last) {
    ::signal(SIGUSR1, SIG_DFL);
    ::kill(::getpid(), SIGUSR1);
  }
  check_status(ended.wait(), PMIX_SUCCESS);
  check_equal(group_events().wait(PMIX_GROUP_MEMBER_FAILED, "mourns").about->rank, last);
  const auto left = ranks_of(client, 0, last - 1);
  check_status(fence(left), PMIX_SUCCESS);
  check(eventually([] { return groups_known_here() == 0 && operations_open_here().empty(); }),
        "something is left");
  check_status(fence(left), PMIX_SUCCESS);
  check_equal(group_events().count(PMIX_GROUP_MEMBER_FAILED), 1);
  PMIx_Finalize(nullptr, 0);
  return 0;
}

constexpr std::pair<const char*, const char*> manners[] = {
    {"fence", "all"}, {"fence", "some"}, {"destruct", "all"}, {"destruct", "some"}};

class DepartureTest : public Multiproc {};

TEST_F(DepartureTest, one_leaves_while_others_are_at_a_board) {
  for (const auto& [what, who] : manners) {
    SCOPED_TRACE(std::string(what) + " " + who);
    all_run(Segment::mapped, 4, "leaves_while_others_are_at_a_board", {what, who});
  }
  all_run(Segment::mapped, 4, "leaves_while_others_are_at_a_board", {"adjusts", "all"});
}
TEST_F(DepartureTest, one_joins_while_others_fence) {
  for (const char* where : {"message", "board"}) {
    SCOPED_TRACE(where);
    all_run(Segment::mapped, 4, "joins_while_others_fence", {where});
  }
}
TEST_F(DepartureTest, one_joins_while_others_end_the_group) {
  all_run(Segment::mapped, 4, "joins_while_others_end_the_group");
}
TEST_F(DepartureTest, one_dies_when_the_others_end_the_group) {
  Host host;
  host.add_job("job", 4);
  auto members = host.start_all("job", 4, "dies_when_the_others_end_the_group");
  EXPECT_EQ(members[3].wait(), SIGUSR1);
  members.pop_back();
  expect_success(members);
}

class ClusterDepartureTest : public ClusterTest {};
INSTANTIATE_TEST_SUITE_P(Over, ClusterDepartureTest, ::testing::ValuesIn(two_fabrics()),
                         [](const auto& transport) { return transport.param; });

TEST_P(ClusterDepartureTest, one_leaves_while_others_are_at_a_board) {
  for (const std::uint32_t nodes : {2U, 3U})
    for (const auto& [what, who] : manners) {
      SCOPED_TRACE(std::string(what) + " " + who);
      run("leaves_while_others_are_at_a_board", nodes, Segment::mapped, {what, who});
    }
}
TEST_P(ClusterDepartureTest, one_joins_while_others_fence) {
  for (const char* where : {"message", "board"}) {
    SCOPED_TRACE(where);
    run("joins_while_others_fence", 3, Segment::mapped, {where});
  }
}
TEST_P(ClusterDepartureTest, one_joins_while_others_end_the_group) {
  run("joins_while_others_end_the_group");
}
TEST_P(ClusterDepartureTest, one_dies_when_the_others_end_the_group) {
  run("dies_when_the_others_end_the_group");
}

}  // namespace

void add_departure_programs(Programs& programs) {
  programs.add("leaves_while_others_are_at_a_board", leaves_while_others_are_at_a_board);
  programs.add("joins_while_others_fence", joins_while_others_fence);
  programs.add("joins_while_others_end_the_group", joins_while_others_end_the_group);
  programs.add("dies_when_the_others_end_the_group", dies_when_the_others_end_the_group);
}

}  // namespace weft::test
