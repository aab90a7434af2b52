// SPDX-License-Identifier: BSD-3-Clause
// What ranks write on its way to the launcher: whole, in its order, and no more at a time than there is
// credit for.
#include "tools/weftd/streams.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace weft::weftd {
namespace {

using channel::Stream;
using job::Rank;

struct StreamsTest : ::testing::Test {
  StreamsTest() { ::signal(SIGPIPE, SIG_IGN); }  // as weftd
  struct Chunk {
    channel::report::Output output;
    std::function<void(bool)> done;
  };
  void run() {
    loop.restart();
    while (loop.poll() != 0) {
    }
  }
  /// The launcher has written the oldest chunk.
  std::string write_one() {
    auto chunk = std::move(chunks.front());
    chunks.pop_front();
    chunk.done(true);
    run();
    return chunk.output.bytes;
  }
  static void fill(const process::Fd& pipe, char letter, std::size_t length) {
    const std::string bytes(length, letter);
    ASSERT_EQ(::write(pipe.get(), bytes.data(), length), static_cast<ssize_t>(length));
  }
  std::size_t in_flight() const {
    std::size_t out = 0;
    for (const auto& chunk : chunks) out += chunk.output.bytes.size();
    return out;
  }

  asio::io_context loop{1};
  std::deque<Chunk> chunks;
  int drained = 0;
  std::unique_ptr<Streams> streams = std::make_unique<Streams>(
      loop, "job",
      [this](const channel::report::Output& output, std::function<void(bool)> done) {
        chunks.push_back({output, std::move(done)});
      },
      [this] { ++drained; });
};

TEST_F(StreamsTest, all_bytes_come_in_their_order_and_then_the_end) {
  streams->set_credit({3000, 1000});
  auto pipe = streams->connect(Rank{3}, Stream::error);
  std::string sent, got;
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    fill(pipe, letter, 700);
    sent += std::string(700, letter);
  }
  pipe.reset();
  run();
  while (!chunks.empty()) {
    EXPECT_EQ(chunks.front().output.nspace, "job");
    EXPECT_EQ(chunks.front().output.rank, Rank{3});
    EXPECT_EQ(chunks.front().output.stream, Stream::error);
    EXPECT_LE(in_flight(), 3000u);
    EXPECT_EQ(drained, 0);
    got += write_one();
  }
  EXPECT_EQ(got, sent);
  EXPECT_EQ(drained, 1);
  EXPECT_TRUE(streams->is_drained());
}

TEST_F(StreamsTest, each_stream_has_one_chunk_in_flight_where_others_have_the_credit) {
  streams->set_credit({2000, 1000});
  auto first = streams->connect(Rank{0}, Stream::out), second = streams->connect(Rank{1}, Stream::out);
  fill(first, 'a', 10'000);
  run();
  EXPECT_EQ(in_flight(), 2000u);
  fill(second, 'b', 10'000);
  run();
  EXPECT_EQ(in_flight(), 3000u);
  EXPECT_EQ(streams->written_bytes(Rank{1}, Stream::out), 10'000u);
  std::map<Rank, std::size_t> got;
  first.reset();
  second.reset();
  while (!chunks.empty()) {
    EXPECT_LE(in_flight(), 3000u);
    const auto rank = chunks.front().output.rank;
    got[rank] += write_one().size();
  }
  EXPECT_EQ(got[Rank{0}], 10'000u);
  EXPECT_EQ(got[Rank{1}], 10'000u);
}

TEST_F(StreamsTest, what_is_closed_while_it_is_on_its_way_gives_its_credit_back) {
  streams->set_credit({2000, 1000});
  auto out = streams->connect(Rank{0}, Stream::out), error = streams->connect(Rank{0}, Stream::error);
  fill(out, 'a', 10'000);
  run();
  EXPECT_EQ(in_flight(), 2000u);
  streams->close(Stream::out);
  EXPECT_EQ(::write(out.get(), "x", 1), -1) << "the rank has no reader";
  chunks.clear();
  fill(error, 'b', 5'000);
  run();
  EXPECT_EQ(in_flight(), 2000u);
}

TEST_F(StreamsTest, a_reply_may_come_when_all_is_closed_and_gone) {
  auto out = streams->connect(Rank{0}, Stream::out);
  fill(out, 'a', 100);
  run();
  ASSERT_EQ(chunks.size(), 1u);
  streams->close_all();
  EXPECT_EQ(drained, 1);
  streams.reset();
  chunks.front().done(true);
  run();
}

TEST_F(StreamsTest, a_launcher_that_cannot_be_reached_ends_all) {
  auto out = streams->connect(Rank{0}, Stream::out), error = streams->connect(Rank{0}, Stream::error);
  fill(out, 'a', 100);
  run();
  chunks.front().done(false);
  EXPECT_EQ(drained, 1);
  EXPECT_TRUE(streams->is_drained());
}

TEST(Credit, bounds_what_the_launcher_holds_however_many_nodes_and_ranks_there_are) {
  for (const std::size_t nodes : {1, 2, 16, 1000, 10'000})
    for (const std::size_t ranks : {std::size_t{1}, nodes, 16 * nodes, 128 * nodes}) {
      const auto credit = Streams::credit_of(nodes, ranks);
      EXPECT_GE(credit.chunk, 4096u);
      EXPECT_LE(credit.chunk, Streams::chunk_bytes);
      EXPECT_GE(credit.bytes, credit.chunk);
      const auto least = nodes * credit.chunk;  // one chunk of each node in any case
      EXPECT_LE(nodes * credit.bytes, std::max(Streams::most_credit, least));
      if (2 * ranks <= Streams::most_credit / 4096) {
        EXPECT_LE(2 * ranks * credit.chunk, Streams::most_credit);
      }
    }
}

}  // namespace
}  // namespace weft::weftd
