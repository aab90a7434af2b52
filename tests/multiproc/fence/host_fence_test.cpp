// SPDX-License-Identifier: BSD-3-Clause
// Fences that a host carries: what it hears of them beside the cards. The host is that of the first of two
// nodes, and answers for the second.
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <sstream>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

// ---- a client

Infos directives_of(std::istringstream& words) {
  Infos out;
  for (std::string word; words >> word;) {
    if (word == "generated") out.flag(PMIX_COLLECT_GENERATED_JOB_INFO);
    if (word == "generated!") out.flag(PMIX_COLLECT_GENERATED_JOB_INFO);
    if (word == "generated!") PMIX_INFO_REQUIRED(&out.data()[out.size() - 1]);
    if (word == "collect") out.flag(PMIX_COLLECT_DATA);
    if (word == "late") out.integer(PMIX_TIMEOUT, 1);
    if (word == "patient") out.integer(PMIX_TIMEOUT, 1000);
    const auto equals = word.find('=');
    if (equals == std::string::npos) continue;
    const bool is_required = word.back() == '!';
    out.text(word.substr(0, equals).c_str(), word.substr(equals + 1, word.size() - equals - 1 - is_required));
    if (is_required) PMIX_INFO_REQUIRED(&out.data()[out.size() - 1]);
  }
  return out;
}

/// Fences as its host says, a line each, and says how each ended: "fence", or "fence_nb", of all, "set" of
/// all but the last rank, "here" of those of the node.
int fences_by_line(const Words&) {
  Client client;
  std::vector<pmix_proc_t> set;
  for (pmix_rank_t rank = 0; rank + 1 < client.size; ++rank) set.push_back(client.peer(rank));
  const std::vector<pmix_proc_t> here{client.peer(0), client.peer(1), client.peer(2)};
  say("ready");
  for (;;) {
    std::istringstream words(listen());
    std::string what;
    words >> what;
    if (what == "end") break;
    const auto infos = directives_of(words);
    if (what == "fence_nb") {
      Waiter waiter;
      check_status(PMIx_Fence_nb(nullptr, 0, infos.data(), infos.size(), Waiter::on_status, &waiter),
                   PMIX_SUCCESS);
      say(PMIx_Error_string(waiter.wait()));
    } else {
      say(PMIx_Error_string(fence(what == "set"    ? set
                                  : what == "here" ? here
                                                   : std::vector<pmix_proc_t>(),
                                  infos)));
    }
  }
  client.finalize();
  say("finalized");
  return 0;
}

// ---- the host

std::string text_of(const Infos& infos) {
  std::string out;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const auto& info = infos.data()[i];
    out += " " + std::string(info.key) + "=";
    if (info.value.type == PMIX_STRING) out += info.value.data.string;
    if (info.value.type == PMIX_INT) out += std::to_string(info.value.data.integer);
    if (info.value.type == PMIX_BOOL) out += info.value.data.flag ? "1" : "0";
    if (info.value.type == PMIX_STATUS) out += PMIx_Error_string(info.value.data.status);
    if ((info.flags & PMIX_INFO_REQD) != 0) out += "!";
  }
  return out;
}

/// A line for each fence that the host was called for; the answer comes at once, unless the test keeps it
/// back.
class FirstNode {
 public:
  explicit FirstNode(Segment segment) : segment_(segment), host_(upcalls()) {
    Infos infos;
    infos.number(PMIX_JOB_SIZE, ranks + 2).number(PMIX_NUM_NODES, 2).number(PMIX_NODEID, 0);
    infos.text(PMIX_NODE_MAP, "first,second").text(PMIX_PROC_MAP, "0,1,2;3,4");
    host_.add_job("job", ranks, infos);
    for (pmix_rank_t rank = 0; rank < ranks; ++rank) host_.add_client(proc_of("job", rank));
    for (pmix_rank_t rank = 0; rank < ranks; ++rank) start(rank);
  }
  void start(pmix_rank_t rank) {
    children.push_back(host_.start("job", rank, "fences_by_line", {}, reach(segment_, rank)));
    children.back().expect("ready");
  }

  void tell(const std::string& line) {
    for (auto& child : children) child.tell(line);
  }
  /// Each has left the fence that it was in.
  void expect(const char* status) {
    for (auto& child : children) child.expect(status);
  }
  void end() {
    tell("end");
    expect("finalized");
    expect_success(children);
  }
  Words calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  bool was_called(std::size_t times) {
    return eventually([&] { return calls().size() >= times; });
  }
  void keep_answers() { keeps_ = true; }
  void answer(pmix_status_t status) {
    const std::lock_guard lock(mutex_);
    is_open_ = false;
    answer_(status, nullptr, 0, open_, nullptr, nullptr);
  }

  static constexpr std::uint32_t ranks = 3;
  std::atomic<pmix_status_t> refuses{PMIX_SUCCESS};
  std::vector<Child> children;

 private:
  Upcalls upcalls() {
    Upcalls out;
    out.fence_directives = [this](const Infos& infos) { heard_ = text_of(infos); };
    out.fence = [this](std::vector<pmix_proc_t> procs, bool, std::string, pmix_modex_cbfunc_t done,
                       void* open) {
      const std::lock_guard lock(mutex_);
      EXPECT_FALSE(is_open_) << "a host knows the fences of a set by their order";
      calls_.push_back((procs.front().rank == PMIX_RANK_WILDCARD ? "all" : "set") + heard_);
      if (refuses != PMIX_SUCCESS) return refuses.load();
      is_open_ = true;
      answer_ = done;
      open_ = open;
      if (!keeps_) Host::now()->later.run([this] { answer(PMIX_SUCCESS); });
      return PMIX_SUCCESS;
    };
    return out;
  }

  const Segment segment_;
  std::mutex mutex_;
  Words calls_;
  std::string heard_;
  bool is_open_ = false;
  std::atomic<bool> keeps_{false};
  pmix_modex_cbfunc_t answer_ = nullptr;
  void* open_ = nullptr;
  Host host_;
};

const std::string no_data = " " PMIX_COLLECT_DATA "=0";
const std::string timeout = " " PMIX_TIMEOUT "=1000";
std::string failed(const char* status) {
  return no_data + " " PMIX_LOCAL_COLLECTIVE_STATUS "=" + status;
}

}  // namespace

class HostFenceTest : public Multiproc, public ::testing::WithParamInterface<Segment> {};

INSTANTIATE_TEST_SUITE_P(Segment, HostFenceTest,
                         ::testing::ValuesIn(ways({Segment::mapped, Segment::refused, Segment::mixed})),
                         [](const auto& way) { return name_of(way.param); });

TEST_P(HostFenceTest, directives_of_the_callers_reach_the_host) {
  FirstNode node(GetParam());
  Words calls;
  for (const std::string what : {"fence", "fence_nb", "set", "set", "set"}) {
    const std::string whole = what == "set" ? "set" : "all";
    node.tell(what + " patient way=short!");
    node.expect("PMIX_SUCCESS");
    calls.push_back(whole + no_data + timeout + " way=short!");
    node.tell(what + " collect");
    node.expect("PMIX_SUCCESS");
    calls.push_back(whole + " " PMIX_COLLECT_DATA "=1");
    EXPECT_EQ(node.calls(), calls);
  }
  node.end();
}

TEST_P(HostFenceTest, directives_of_some_reach_the_host_and_required_ones_first) {
  FirstNode node(GetParam());
  node.children[0].tell("fence way=long");
  node.children[1].tell("fence hint=1 way=short!");
  node.children[2].tell("fence");
  node.expect("PMIX_SUCCESS");
  node.tell("fence");
  node.expect("PMIX_SUCCESS");
  EXPECT_EQ(node.calls(), Words({"all" + no_data + " way=short! hint=1", "all" + no_data}));
  node.end();
}

TEST_P(HostFenceTest, a_host_may_refuse_a_required_directive) {
  FirstNode node(GetParam());
  node.refuses = PMIX_ERR_NOT_SUPPORTED;
  node.tell("fence way=short!");
  node.expect("PMIX_ERR_NOT_SUPPORTED");
  node.refuses = PMIX_SUCCESS;
  node.tell("fence");
  node.expect("PMIX_SUCCESS");
  node.end();
}

/// A fence that stays on the node is not the host's.
TEST_P(HostFenceTest, a_required_directive_of_a_fence_on_the_node_is_refused) {
  FirstNode node(GetParam());
  for (int i = 0; i < 3; ++i) {
    node.tell("here way=short!");
    node.expect("PMIX_ERR_NOT_SUPPORTED");
    node.tell("here way=short");
    node.expect("PMIX_SUCCESS");
  }
  EXPECT_EQ(node.calls(), Words());
  node.end();
}

TEST_P(HostFenceTest, generated_job_info_is_data_that_a_host_carries) {
  FirstNode node(GetParam());
  Words calls;
  for (int i = 0; i < 3; ++i) {
    node.tell("here generated!");
    node.expect("PMIX_SUCCESS");
    for (const std::string what : {"fence", "set"}) {
      node.tell(what + " generated!");
      node.expect("PMIX_SUCCESS");
      calls.push_back((what == "set" ? "set" : "all") +
                      std::string(" " PMIX_COLLECT_DATA "=1 " PMIX_COLLECT_GENERATED_JOB_INFO "=1!"));
    }
  }
  EXPECT_EQ(node.calls(), calls);
  node.end();
}

/// The other nodes would wait for ever.
TEST_P(HostFenceTest, the_host_hears_of_a_rank_that_died_while_others_wait) {
  for (const std::string what : {"fence", "set"}) {
    const std::string whole = what == "set" ? "set" : "all";
    FirstNode node(GetParam());
    node.tell("set");
    node.expect("PMIX_SUCCESS");  // the set knows its board
    node.children[0].tell(what);
    node.children[1].tell(what + " patient");
    node.children[2].kill();
    node.children[2].wait();
    node.children.pop_back();
    node.expect("PMIX_ERR_PROC_ABORTED");
    // A rank that came after the death was turned away, one that came before was in the fence that failed.
    EXPECT_TRUE(node.was_called(2));
    EXPECT_EQ(node.calls()[1].rfind(whole + failed("PMIX_ERR_PROC_ABORTED"), 0), 0) << node.calls()[1];
    const auto calls = node.calls().size();
    node.tell(what);
    node.expect("PMIX_ERR_PROC_ABORTED");
    EXPECT_TRUE(node.was_called(calls + 1));
    node.end();
  }
}

TEST_P(HostFenceTest, the_host_hears_once_of_ranks_that_come_when_one_has_left) {
  FirstNode node(GetParam());
  node.children[2].tell("end");
  node.children[2].expect("finalized");
  EXPECT_EQ(node.children[2].wait(), 0);
  node.children.pop_back();
  for (const std::string what : {"fence", "fence_nb", "fence"}) {
    node.tell(what);
    node.expect("PMIX_ERR_UNREACH");
  }
  EXPECT_TRUE(node.was_called(3));
  node.end();
  EXPECT_EQ(node.calls(), Words(3, "all" + failed("PMIX_ERR_UNREACH")));
}

TEST_P(HostFenceTest, a_rank_that_is_back_is_in_the_next_fence) {
  FirstNode node(GetParam());
  for (int i = 0; i < 5; ++i) {
    node.children[2].tell("end");
    node.children[2].expect("finalized");
    EXPECT_EQ(node.children[2].wait(), 0);
    node.children.pop_back();
    node.tell("fence way=short!");
    node.expect("PMIX_ERR_UNREACH");
    node.start(2);
    node.tell("fence way=long!");
    node.expect("PMIX_SUCCESS");
  }
  node.end();
}

TEST_P(HostFenceTest, the_host_hears_of_a_deadline_and_is_called_again_when_it_has_answered) {
  FirstNode node(GetParam());
  node.keep_answers();
  for (std::size_t rank = 0; rank < 2; ++rank) node.children[rank].tell("fence late");
  for (std::size_t rank = 0; rank < 2; ++rank) node.children[rank].expect("PMIX_ERR_TIMEOUT");
  EXPECT_TRUE(node.was_called(1));
  node.children[2].tell("fence");
  node.children[2].expect("PMIX_ERR_TIMEOUT");  // it was the one that the others had waited for
  node.tell("fence way=short!");
  EXPECT_EQ(node.calls().size(), 1u);
  node.answer(PMIX_ERR_TIMEOUT);
  EXPECT_TRUE(node.was_called(2));
  node.answer(PMIX_SUCCESS);
  node.expect("PMIX_SUCCESS");
  EXPECT_EQ(node.calls(), Words({"all" + failed("PMIX_ERR_TIMEOUT") + " " PMIX_TIMEOUT "=1",
                                 "all" + no_data + " way=short!"}));
  node.end();
}

void add_host_fence_programs(Programs& programs) {
  programs.add("fences_by_line", fences_by_line);
}

}  // namespace weft::test
