// SPDX-License-Identifier: BSD-3-Clause
// Calls about groups and connections in which one process has called and dies alone, or others have called in
// vain before a member calls: what those get that have not called when it happens.
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <memory>

#include "tests/multiproc/group/group_calls.hpp"
#include "tests/multiproc/group/programs.hpp"
#include "tests/multiproc/harness/cluster.hpp"

namespace weft::test {
namespace {

void end_by_signal() {
  ::signal(SIGUSR1, SIG_DFL);
  ::kill(::getpid(), SIGUSR1);
}

/// A call that its process does not wait for, or waits for later.
class Call {
 public:
  /// kind: construct, leader (of one), connect, disconnect, fence (of the group), destruct.
  Call(const std::string& kind, const std::string& group, const Procs& procs, const Infos& infos) {
    const auto named = all_of(group);
    if (kind == "connect")
      check_status(PMIx_Connect_nb(procs.data(), procs.size(), nullptr, 0, Waiter::on_status, &ended_),
                   PMIX_SUCCESS);
    else if (kind == "disconnect")
      check_status(PMIx_Disconnect_nb(procs.data(), procs.size(), nullptr, 0, Waiter::on_status, &ended_),
                   PMIX_SUCCESS);
    else if (kind == "fence")
      check_status(PMIx_Fence_nb(&named, 1, infos.data(), infos.size(), Waiter::on_status, &ended_),
                   PMIX_SUCCESS);
    else if (kind == "destruct")
      check_status(
          PMIx_Group_destruct_nb(group.c_str(), infos.data(), infos.size(), Waiter::on_status, &ended_),
          PMIX_SUCCESS);
    else
      construct_ = std::make_unique<Construct>(group, procs, infos);
    hear_from_server();
  }
  pmix_status_t wait() { return construct_ ? construct_->wait() : ended_.wait(); }

 private:
  Waiter ended_;
  std::unique_ptr<Construct> construct_;
};

/// Makes what has to be there before the call of that kind.
void prepare(const std::string& kind, const std::string& group, const Procs& procs) {
  if (kind == "disconnect") check_status(PMIx_Connect(procs.data(), procs.size(), nullptr, 0), PMIX_SUCCESS);
  if (kind == "fence" || kind == "destruct") check_status(construct(group, procs).status, PMIX_SUCCESS);
}

/// The processes that are left make a group of themselves, and end it.
void go_on(const Procs& left) {
  check_status(construct("of those that are left", left).status, PMIX_SUCCESS);
  check_status(destruct("of those that are left"), PMIX_SUCCESS);
  check_status(fence(left), PMIX_SUCCESS);
  check(eventually([] { return operations_open_here().empty(); }), "an operation is left open");
  PMIx_Finalize(nullptr, 0);
}

/// Rank 0 calls, and dies before any other process does; these call when they know it. Word: the kind.
int dies_alone_in_a_call(const Words& words) {
  Client client;
  const auto& kind = words.at(0);
  const Procs all{client.job};
  group_events().listen(PMIX_ERR_PROC_ABORTED);
  prepare(kind, "lonely", all);
  Infos infos;
  if (kind == "leader") infos.flag(PMIX_GROUP_LEADER);
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank == 0) {
    const Call call(kind, "lonely", all, infos);
    end_by_signal();
  }
  group_events().wait(PMIX_ERR_PROC_ABORTED);
  check_status(Call(kind, "lonely", all, {}).wait(), PMIX_ERR_PROC_ABORTED);
  go_on(ranks_of(client, 1, client.size - 1));
  return 0;
}

/// The last rank ends before it calls. All but the one before it have called, without a directive, and have
/// their error; that one calls then, with a directive by which it would go on. Words: the kind, the
/// directive.
int calls_after_the_others_have_failed(const Words& words) {
  Client client;
  const auto& kind = words.at(0);
  const auto last = client.size - 1;
  const auto left = ranks_of(client, 0, last - 1);
  const Procs all{client.job};
  Infos infos;
  const bool is_late = client.me.rank == last - 1;
  if (is_late && words.at(1) != "none") infos.flag(words.at(1).c_str());
  prepare(kind, "uneven", all);
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank == last) end_by_signal();
  if (!is_late) check_status(Call(kind, "uneven", all, infos).wait(), PMIX_ERR_PROC_ABORTED);
  check_status(fence(left), PMIX_SUCCESS);
  if (is_late) check_status(Call(kind, "uneven", all, infos).wait(), PMIX_ERR_PROC_ABORTED);
  check_status(fence(left), PMIX_SUCCESS);
  // From here on each call is of the same attempt at all: one that all give the directive ends well.
  if (kind == "construct" && words.at(1) == PMIX_GROUP_OPTIONAL) {
    const auto goes_on = std::move(Infos().flag(PMIX_GROUP_OPTIONAL));
    check_status(construct("uneven", all, goes_on).status, PMIX_ERR_PARTIAL_SUCCESS);
    check(is_same(members_of("uneven"), left), "the members");
    check_status(destruct("uneven"), PMIX_SUCCESS);
  }
  go_on(left);
  return 0;
}

constexpr const char* kinds[] = {"construct", "leader", "connect", "disconnect", "fence", "destruct"};
struct Late {
  const char* kind;
  const char* directive;
};
constexpr Late late_calls[] = {{"construct", "none"},
                               {"construct", PMIX_GROUP_LEADER},
                               {"construct", PMIX_GROUP_NOTIFY_TERMINATION},
                               {"construct", PMIX_GROUP_OPTIONAL},
                               {"construct", PMIX_GROUP_FT_COLLECTIVE},
                               {"fence", PMIX_GROUP_FT_COLLECTIVE},
                               {"destruct", PMIX_GROUP_FT_COLLECTIVE}};

class UncalledTest : public Multiproc {
 protected:
  static void run_and_lose(std::size_t lost, const std::string& program, const Words& words) {
    Host host;
    host.add_job("job", 4);
    auto members = host.start_all("job", 4, program, words);
    EXPECT_EQ(members[lost].wait(), SIGUSR1);
    members.erase(members.begin() + static_cast<std::ptrdiff_t>(lost));
    expect_success(members);
  }
  static int run_under_weftrun(const Words& options, const Words& words) {
    Child::Options child;
    child.before = {WEFTRUN, "-n", "4"};
    child.before.insert(child.before.end(), options.begin(), options.end());
    return Child("dies_alone_in_a_call", words, child).wait();
  }
};

TEST_F(UncalledTest, one_dies_alone_in_a_call) {
  for (const char* kind : kinds) {
    SCOPED_TRACE(kind);
    run_and_lose(0, "dies_alone_in_a_call", {kind});
  }
}
TEST_F(UncalledTest, one_dies_alone_in_a_call_under_weftrun) {
  for (const char* kind : kinds) {
    SCOPED_TRACE(kind);
    EXPECT_EQ(run_under_weftrun({}, {kind}), W_EXITCODE(128 + SIGUSR1, 0));
    EXPECT_EQ(run_under_weftrun({"--on-failure", "continue"}, {kind}), W_EXITCODE(128 + SIGUSR1, 0));
  }
}
TEST_F(UncalledTest, a_member_calls_after_the_others_have_failed) {
  for (const auto& late : late_calls) {
    SCOPED_TRACE(std::string(late.kind) + " " + late.directive);
    run_and_lose(3, "calls_after_the_others_have_failed", {late.kind, late.directive});
  }
}

class ClusterUncalledTest : public ClusterTest {};
INSTANTIATE_TEST_SUITE_P(Over, ClusterUncalledTest, ::testing::ValuesIn(two_fabrics()),
                         [](const auto& transport) { return transport.param; });

TEST_P(ClusterUncalledTest, one_dies_alone_in_a_call) {
  for (const char* kind : kinds) {
    SCOPED_TRACE(kind);
    run("dies_alone_in_a_call", 2, Segment::mapped, {kind});
  }
}
TEST_P(ClusterUncalledTest, a_member_calls_after_the_others_have_failed) {
  for (const auto& late : late_calls) {
    SCOPED_TRACE(std::string(late.kind) + " " + late.directive);
    run("calls_after_the_others_have_failed", 3, Segment::mapped, {late.kind, late.directive});
  }
}

}  // namespace

void add_uncalled_programs(Programs& programs) {
  programs.add("dies_alone_in_a_call", dies_alone_in_a_call);
  programs.add("calls_after_the_others_have_failed", calls_after_the_others_have_failed);
}

}  // namespace weft::test
