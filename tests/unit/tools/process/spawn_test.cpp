// SPDX-License-Identifier: BSD-3-Clause
// Which descriptors a program gets that a Spawner starts.
#include "tools/process/spawn.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "tools/process/fd.hpp"

namespace weft::process {
namespace {

/// A number above all that this process has open, so that none of its own stands between those of a test.
constexpr int high = 700;

Fd open_at(int number, bool outlives_exec) {
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return Fd(::fcntl(null.get(), outlives_exec ? F_DUPFD : F_DUPFD_CLOEXEC, number));
}

/// The descriptors from `high` up that a program started by `spawner` has open, as "701 705 ".
std::string inherited(const Spawner& spawner) {
  Pipe output = make_pipe(true, true);
  std::string shell = "/bin/sh", option = "-c";
  std::string script = "for f in /proc/self/fd/[7-9]??; do test -e $f && echo -n ${f##*/}' '; done";
  char* argv[] = {shell.data(), option.data(), script.data(), nullptr};
  char* envp[] = {nullptr};
  SpawnRequest request;
  request.path = shell.c_str();
  request.argv = argv;
  request.envp = envp;
  request.streams[1] = output.write.get();
  const SpawnResult started = spawner.spawn(request);
  EXPECT_GT(started.pid, 0);
  output.write.reset();
  std::string text;
  for (char c; ::read(output.read.get(), &c, 1) == 1;) text += c;
  EXPECT_EQ(::waitpid(started.pid, nullptr, 0), started.pid);
  return text;
}

TEST(Spawner, what_was_there_before_it_is_inherited_as_exec_would) {
  const Fd first = open_at(high + 1, true), second = open_at(high + 2, true), third = open_at(high + 9, true);
  const Fd hidden = open_at(high + 5, false);
  EXPECT_EQ(inherited(Spawner()), "701 702 709 ");
}

TEST(Spawner, what_was_opened_later_is_not_inherited) {
  const Fd given = open_at(high + 4, true);
  const Spawner spawner;
  const Fd below = open_at(high + 3, true), above = open_at(high + 5, true), last = open_at(high + 99, true);
  EXPECT_EQ(inherited(spawner), "704 ");
  EXPECT_EQ(inherited(Spawner()), "703 704 705 799 ");
}

TEST(Spawner, this_process_keeps_its_own) {
  const Spawner spawner;
  const Fd later = open_at(high, true);
  EXPECT_EQ(inherited(spawner), "");
  EXPECT_EQ(::fcntl(later.get(), F_GETFD), 0);
}

}  // namespace
}  // namespace weft::process
