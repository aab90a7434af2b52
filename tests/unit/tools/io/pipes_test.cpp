// SPDX-License-Identifier: BSD-3-Clause
// What ranks write on its way to a sink: whole, in its order, and no more at a time than there is credit for.
#include "tools/io/pipes.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace weft::io {
namespace {

using job::Rank;
using job::Stream;

struct PipesTest : ::testing::Test, Sink {
  PipesTest() { ::signal(SIGPIPE, SIG_IGN); }  // as weftrun and weftd
  struct Chunk {
    Flow flow;
    std::string bytes;
    Written written;
  };
  void write(const Flow& flow, std::string bytes, Written written) override {
    chunks.push_back({flow, std::move(bytes), std::move(written)});
  }
  void run() {
    loop.restart();
    while (loop.poll() != 0) {
    }
  }
  /// The sink has written the oldest chunk.
  std::string write_one() {
    auto chunk = std::move(chunks.front());
    chunks.pop_front();
    chunk.written(true);
    run();
    return chunk.bytes;
  }
  static void fill(const process::Fd& pipe, char letter, std::size_t length) {
    const std::string bytes(length, letter);
    ASSERT_EQ(::write(pipe.get(), bytes.data(), length), static_cast<ssize_t>(length));
  }
  std::size_t in_flight() const {
    std::size_t out = 0;
    for (const auto& chunk : chunks) out += chunk.bytes.size();
    return out;
  }

  asio::io_context loop{1};
  std::deque<Chunk> chunks;
  int drained = 0;
  std::unique_ptr<Pipes> pipes = make();
  std::unique_ptr<Pipes> make() {
    Sink& sink = *this;  // a base that make_unique may not see
    return std::make_unique<Pipes>(loop, "job", sink, [this] { ++drained; });
  }
};

TEST_F(PipesTest, all_bytes_come_in_their_order_and_then_the_end) {
  pipes->set_credit({3000, 1000});
  auto pipe = pipes->connect(Rank{3}, Stream::error);
  std::string sent, got;
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    fill(pipe, letter, 700);
    sent += std::string(700, letter);
  }
  pipe.reset();
  run();
  while (!chunks.empty()) {
    EXPECT_EQ(chunks.front().flow, (Flow{"job", Rank{3}, Stream::error}));
    EXPECT_LE(in_flight(), 3000u);
    EXPECT_EQ(drained, 0);
    got += write_one();
  }
  EXPECT_EQ(got, sent);
  EXPECT_EQ(drained, 1);
  EXPECT_TRUE(pipes->is_drained());
}

TEST_F(PipesTest, each_stream_has_one_chunk_in_flight_where_others_have_the_credit) {
  pipes->set_credit({2000, 1000});
  auto first = pipes->connect(Rank{0}, Stream::out), second = pipes->connect(Rank{1}, Stream::out);
  fill(first, 'a', 10'000);
  run();
  EXPECT_EQ(in_flight(), 2000u);
  fill(second, 'b', 10'000);
  run();
  EXPECT_EQ(in_flight(), 3000u);
  EXPECT_EQ(pipes->written_bytes(Rank{1}).out, 10'000u);
  std::map<Rank, std::size_t> got;
  first.reset();
  second.reset();
  while (!chunks.empty()) {
    EXPECT_LE(in_flight(), 3000u);
    const auto rank = chunks.front().flow.rank;
    got[rank] += write_one().size();
  }
  EXPECT_EQ(got[Rank{0}], 10'000u);
  EXPECT_EQ(got[Rank{1}], 10'000u);
}

TEST_F(PipesTest, what_is_closed_while_it_is_on_its_way_gives_its_credit_back) {
  pipes->set_credit({2000, 1000});
  auto out = pipes->connect(Rank{0}, Stream::out), error = pipes->connect(Rank{0}, Stream::error);
  fill(out, 'a', 10'000);
  run();
  EXPECT_EQ(in_flight(), 2000u);
  pipes->close(Stream::out);
  EXPECT_EQ(::write(out.get(), "x", 1), -1) << "the rank has no reader";
  chunks.clear();
  fill(error, 'b', 5'000);
  run();
  EXPECT_EQ(in_flight(), 2000u);
}

TEST_F(PipesTest, a_reply_may_come_when_all_is_closed_and_gone) {
  auto out = pipes->connect(Rank{0}, Stream::out);
  fill(out, 'a', 100);
  run();
  ASSERT_EQ(chunks.size(), 1u);
  pipes->close_all();
  EXPECT_EQ(drained, 1);
  pipes.reset();
  chunks.front().written(true);
  run();
}

TEST_F(PipesTest, a_sink_that_takes_nothing_more_ends_the_stream_of_all_ranks) {
  auto out = pipes->connect(Rank{0}, Stream::out), error = pipes->connect(Rank{0}, Stream::error);
  fill(out, 'a', 100);
  run();
  chunks.front().written(false);
  EXPECT_EQ(::write(out.get(), "x", 1), -1);
  EXPECT_EQ(::write(error.get(), "x", 1), 1);
  EXPECT_EQ(drained, 0);
  chunks.clear();
  run();
  chunks.front().written(false);
  EXPECT_EQ(drained, 1);
  EXPECT_TRUE(pipes->is_drained());
}

TEST(Credit, bounds_what_a_launcher_holds_however_many_nodes_and_ranks_there_are) {
  for (const std::size_t nodes : {1, 2, 16, 1000, 10'000})
    for (const std::size_t ranks : {std::size_t{1}, nodes, 16 * nodes, 128 * nodes}) {
      const auto credit = Pipes::credit_of(nodes, ranks);
      EXPECT_GE(credit.chunk, 4096u);
      EXPECT_LE(credit.chunk, Pipes::chunk_bytes);
      EXPECT_GE(credit.bytes, credit.chunk);
      const auto least = nodes * credit.chunk;  // one chunk of each node in any case
      EXPECT_LE(nodes * credit.bytes, std::max(Pipes::most_credit, least));
      if (2 * ranks <= Pipes::most_credit / 4096) {
        EXPECT_LE(2 * ranks * credit.chunk, Pipes::most_credit);
      }
    }
}

}  // namespace
}  // namespace weft::io
