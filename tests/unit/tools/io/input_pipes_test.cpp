// SPDX-License-Identifier: BSD-3-Clause
// The standard input of ranks: whole, in its order, at the pace of the slowest.
#include "tools/io/input/input_pipes.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace weft::io {
namespace {

using job::Rank;

struct InputPipesTest : ::testing::Test {
  InputPipesTest() { ::signal(SIGPIPE, SIG_IGN); }
  void run() {
    loop.restart();
    while (loop.poll() != 0) {
    }
  }
  process::Fd connect(std::uint32_t rank) {
    auto out = pipes.connect(Rank{rank});
    ::fcntl(out.get(), F_SETFL, O_NONBLOCK);
    return out;
  }
  void write(char letter, std::size_t length) {
    pipes.write(std::string(length, letter), [this, letter] { taken += letter; });
  }
  /// All that is there; '.' behind it: the end.
  static std::string read_all(const process::Fd& pipe) {
    std::string out(1 << 20, '\0');
    std::size_t length = 0;
    for (;;) {
      const auto got = ::read(pipe.get(), out.data() + length, out.size() - length);
      if (got <= 0) {
        out.resize(length);
        if (got == 0) out.push_back('.');
        return out;
      }
      length += static_cast<std::size_t>(got);
    }
  }

  asio::io_context loop{1};
  int unwanted = 0;
  InputPipes pipes{loop, [this] { ++unwanted; }};
  std::string taken;  // by letter
};

TEST_F(InputPipesTest, buffers_come_to_all_readers_in_their_order_and_then_the_end) {
  const auto first = connect(0), second = connect(1);
  write('a', 10);
  write('b', 20);
  pipes.end();
  std::string all(10, 'a');
  all.append(20, 'b').push_back('.');
  EXPECT_EQ(read_all(first), all);
  EXPECT_EQ(read_all(second), all);
  EXPECT_EQ(taken, "ab");
  EXPECT_EQ(unwanted, 0);
}

TEST_F(InputPipesTest, the_slowest_is_waited_for) {
  const auto quick = connect(0), slow = connect(1);
  constexpr std::size_t length = 200'000;  // more than a pipe holds
  write('a', length);
  write('b', length);
  write('c', 5);
  pipes.end();
  std::string from_quick, from_slow;
  for (int round = 0; round < 20; ++round) {
    run();
    from_quick += read_all(quick);
  }
  EXPECT_EQ(from_quick.size(), length) << "the second buffer waits for the other reader";
  EXPECT_EQ(taken, "");
  for (int round = 0; round < 40; ++round) {
    run();
    if (!from_slow.ends_with('.')) from_slow += read_all(slow);
    if (!from_quick.ends_with('.')) from_quick += read_all(quick);
  }
  EXPECT_EQ(taken, "abc");
  std::string all(length, 'a');
  all.append(length, 'b').append("ccccc.");
  EXPECT_TRUE(from_slow == all) << from_slow.size();
  EXPECT_TRUE(from_quick == all) << from_quick.size();
}

TEST_F(InputPipesTest, a_reader_that_goes_is_not_waited_for) {
  auto first = connect(0), second = connect(1);
  write('a', 200'000);
  write('b', 7);
  first.reset();
  for (int round = 0; round < 10; ++round) {
    run();
    read_all(second);
  }
  EXPECT_EQ(taken, "ab");
  write('c', 200'000);
  pipes.disconnect(Rank{1});
  EXPECT_EQ(taken, "abc");
  EXPECT_EQ(unwanted, 1);
}

TEST_F(InputPipesTest, what_waits_when_they_are_closed_is_taken) {
  const auto reader = connect(0);
  write('a', 200'000);
  write('b', 200'000);
  pipes.close();
  EXPECT_EQ(taken, "ab");
  EXPECT_EQ(read_all(reader).back(), '.');
  EXPECT_EQ(unwanted, 0);
}

TEST_F(InputPipesTest, the_next_may_be_written_from_inside_the_call_that_says_so) {
  const auto reader = connect(0);
  int rounds = 0;
  std::function<void()> again = [&] {
    if (++rounds < 1000) pipes.write("x", again);
  };
  again();
  EXPECT_EQ(rounds, 1000);
  EXPECT_EQ(read_all(reader), std::string(999, 'x'));
}

}  // namespace
}  // namespace weft::io
