// SPDX-License-Identifier: BSD-3-Clause
// A file system that hangs: the server that cleans up there goes on with all else.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/fd.hpp"
#include "tests/multiproc/harness/cluster.hpp"

namespace {
constexpr const char* fifo_variable = "WEFT_TEST_HANGING_FIFO";
constexpr const char* hanging_name = "hangs";
}  // namespace

/// In the place of libc's, also for the library: a file of that name is removed when the other end of a FIFO
/// is let go.
extern "C" [[gnu::visibility("default")]] int unlinkat(int parent, const char* name, int flags) noexcept {
  const char* const fifo = std::getenv(fifo_variable);
  if (fifo != nullptr && std::strcmp(name, hanging_name) == 0) {
    const weft::base::Fd end(::open(fifo, O_RDONLY | O_CLOEXEC));
    char byte;
    while (::read(end.get(), &byte, 1) > 0) {
    }
  }
  return static_cast<int>(::syscall(SYS_unlinkat, parent, name, flags));
}

namespace weft::test {
namespace {

/// Rank 1 leaves a file behind that its server removes for as long as the test likes. The others fence
/// meanwhile.
int leaves_a_file(const Words& words) {
  Client client;
  if (client.me.rank == 1) {
    Infos infos;
    infos.text(PMIX_REGISTER_CLEANUP, words[0]);
    check_status(PMIx_Job_control_nb(&client.me, 1, infos.data(), infos.size(), nullptr, nullptr),
                 PMIX_SUCCESS);
    client.finalize();
    return 0;
  }
  if (client.me.rank == 3) await("the file hangs");
  const std::vector<pmix_proc_t> others{client.peer(0), client.peer(2), client.peer(3)};
  for (int round = 0; round < 10; ++round) check_status(fence(others), PMIX_SUCCESS);
  if (client.me.rank == 3) say("fenced");
  client.finalize();
  return 0;
}

/// The end of a FIFO that another process reads.
base::Fd writing_end(const std::string& fifo) {
  base::Fd end;
  EXPECT_TRUE(eventually([&] {
    end = base::Fd(::open(fifo.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    return bool(end);
  }));
  return end;
}

}  // namespace

void add_slow_file_programs(Programs& programs) {
  programs.add("leaves_a_file", leaves_a_file);
}

class SlowFilesTest : public Multiproc {
 protected:
  SlowFilesTest() {
    EXPECT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    std::ofstream(file) << "x";
  }
  bool is_there() const { return ::access(file.c_str(), F_OK) == 0; }
  Scratch scratch;
  const std::string fifo = scratch.path() + "/fifo", file = scratch.path() + "/" + hanging_name;
};

TEST_F(SlowFilesTest, a_clean_up_that_hangs_keeps_no_fence_and_no_node_waiting) {
  Cluster cluster(2, Segment::mapped, "leaves_a_file",
                  {{"WEFT_TRANSPORT", "shm"}, {"WEFT_NET", "lo"}, {fifo_variable, fifo}}, true, {file});
  auto hanging = writing_end(fifo);  // node 0 is at it
  cluster.nodes[1].tell("the file hangs");
  cluster.nodes[1].tell("listen");
  cluster.nodes[1].expect("fenced");
  EXPECT_TRUE(is_there());
  for (auto& node : cluster.nodes) node.tell("wait");
  for (auto& node : cluster.nodes) node.expect("good");
  hanging.reset();
  for (auto& node : cluster.nodes) node.tell("end");
  for (auto& node : cluster.nodes) {
    node.expect_success();
    EXPECT_EQ(node.errors(), "");
  }
  EXPECT_FALSE(is_there());  // the server has waited for it at its end
}

TEST_F(SlowFilesTest, a_server_does_not_wait_for_ever_and_says_for_what) {
  Cluster cluster(2, Segment::mapped, "leaves_a_file",
                  {{"WEFT_TRANSPORT", "shm"}, {"WEFT_NET", "lo"}, {fifo_variable, fifo}}, true, {file});
  const auto hanging = writing_end(fifo);
  cluster.nodes[1].tell("the file hangs");
  cluster.finish();
  const auto errors = cluster.nodes[0].errors();
  EXPECT_NE(errors.find("clean-up of rank 1 of wide, " + file), std::string::npos) << errors;
  EXPECT_TRUE(is_there());
}

}  // namespace weft::test
