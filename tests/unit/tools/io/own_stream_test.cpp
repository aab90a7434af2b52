// SPDX-License-Identifier: BSD-3-Clause
// A standard stream in which flows of several jobs end: nothing lost, lines whole and in their place, and a
// reader that stops stops the senders and costs no memory.
#include "tools/io/own_stream.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include "tools/process/fd.hpp"

namespace weft::io {
namespace {

using job::Rank;
using job::Stream;

Flow flow(std::uint32_t rank, const char* nspace = "job") {
  return {nspace, Rank{rank}, Stream::out};
}

struct OwnStreamTest : ::testing::Test {
  OwnStreamTest() { ::signal(SIGPIPE, SIG_IGN); }  // as weftrun
  void run() {
    loop.restart();
    while (loop.poll() != 0) {
    }
  }
  void write(const Flow& of, std::string bytes) {
    stream.write(of, std::move(bytes), [this](bool takes_more) { takes_more ? ++written : ++refused; });
  }
  /// What is there for the reader.
  std::string read_all() {
    std::string out;
    std::string bytes(1 << 16, '\0');
    for (run();; run()) {
      const auto length = ::read(pipe.read.get(), bytes.data(), bytes.size());
      if (length <= 0) return out;
      out.append(bytes, 0, static_cast<std::size_t>(length));
    }
  }
  /// The reader stops: what comes now waits.
  void stop_reader() {
    stream.open(flow(99, "filler"), {});
    write(flow(99, "filler"), std::string(1 << 20, '#'));
    run();
    written = 0;
  }
  std::string read_without_filler() {
    auto out = read_all();
    out.erase(0, out.find_first_not_of('#'));
    return out;
  }

  asio::io_context loop{1};
  process::Pipe pipe = process::make_pipe(false, true);
  int written = 0, refused = 0, all_written = 0;
  std::vector<int> failed;
  OwnStream stream{
      loop, pipe.write.get(), {[this] { ++all_written; }, [this](int error) { failed.push_back(error); }}};
};

TEST_F(OwnStreamTest, flows_of_two_jobs_end_each_by_itself) {
  stream.open(flow(0, "a"), {});
  stream.open(flow(0, "b"), {});
  write(flow(0, "a"), "one\n");
  write(flow(0, "b"), "two\n");
  write(flow(0, "a"), {});
  EXPECT_EQ(read_all(), "one\ntwo\n");
  EXPECT_EQ(written, 3);
  EXPECT_TRUE(stream.is_drained("a"));
  EXPECT_FALSE(stream.is_drained("b"));
  write(flow(0, "b"), {});
  EXPECT_TRUE(stream.is_drained("b"));
  EXPECT_GT(all_written, 0);
}

TEST_F(OwnStreamTest, bytes_of_a_flow_that_is_not_open_are_refused) {
  write(flow(7), "lost");
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(read_all(), "");
}

TEST_F(OwnStreamTest, a_reader_that_stops_stops_the_senders_each_of_which_gets_its_turn_later) {
  stream.open(flow(0), {});
  stream.open(flow(1), {});
  stop_reader();
  for (const char* bytes : {"a", "b"})
    for (const std::uint32_t rank : {0, 1}) write(flow(rank), bytes + std::to_string(rank) + " ");
  run();
  EXPECT_EQ(written, 0);
  EXPECT_EQ(read_without_filler(), "a0 a1 b0 b1 ");
  EXPECT_EQ(written, 5) << "with the filler";
}

TEST_F(OwnStreamTest, a_tagged_flow_comes_line_by_line) {
  stream.open(flow(4), {.rank = true});
  write(flow(4), "first\nsec");
  EXPECT_EQ(read_all(), "[4] first\n");
  write(flow(4), "ond\nlast");
  write(flow(4), {});
  EXPECT_EQ(read_all(), "[4] second\n[4] last\n");
}

TEST_F(OwnStreamTest, lines_of_the_process_are_lines_of_their_own) {
  stream.open(flow(0), {});
  write(flow(0), "half");
  stream.print("line");
  stream.print("next");
  EXPECT_EQ(read_all(), "half\nline\nnext\n");
}

TEST_F(OwnStreamTest, a_line_comes_before_what_waits_but_after_what_its_rank_has_written) {
  for (const std::uint32_t rank : {0, 1}) stream.open(flow(rank), {});
  stop_reader();
  write(flow(0), "other\n");
  write(flow(1), "last ");
  stream.print_after({{flow(1), 10}}, "rank 1 has ended");
  run();
  EXPECT_EQ(read_without_filler(), "last other\n") << "five bytes of rank 1 are still to come";
  write(flow(1), "words");
  EXPECT_EQ(read_all(), "words\nrank 1 has ended\n");
}

TEST_F(OwnStreamTest, a_line_does_not_wait_for_a_flow_that_has_ended) {
  stream.open(flow(1), {});
  stream.print_after({{flow(1), 10}, {flow(2), 10}}, "line");
  EXPECT_EQ(read_all(), "");
  write(flow(1), {});
  EXPECT_EQ(read_all(), "line\n");
}

TEST_F(OwnStreamTest, a_reader_that_goes_fails_the_stream_once_and_refuses_all_that_waits) {
  stream.open(flow(0), {});
  stop_reader();
  write(flow(0), "waits");
  pipe.read.reset();
  run();
  EXPECT_EQ(failed, std::vector<int>{EPIPE});
  EXPECT_EQ(refused, 2);
  EXPECT_TRUE(stream.is_drained("job"));
  write(flow(0), "late");
  stream.print("late");
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(failed.size(), 1u);
}

TEST_F(OwnStreamTest, a_job_that_is_dropped_leaves_the_flows_of_others) {
  stream.open(flow(0, "a"), {});
  stream.open(flow(0, "b"), {});
  stop_reader();
  write(flow(0, "a"), "dropped");
  write(flow(0, "b"), "kept");
  stream.drop("a");
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(read_without_filler(), "kept");
  EXPECT_TRUE(stream.is_drained("a"));
  EXPECT_FALSE(stream.is_drained("b"));
}

TEST_F(OwnStreamTest, a_stream_whose_last_job_is_dropped_waits_for_no_reader) {
  stop_reader();
  EXPECT_FALSE(stream.is_drained("filler"));
  stream.drop("filler");
  EXPECT_TRUE(stream.is_drained("filler"));
  run();
  EXPECT_TRUE(loop.stopped()) << "something waits";
}

/// A file must not be overwritten from its start by a second opening.
TEST_F(OwnStreamTest, a_file_is_written_where_its_descriptor_stands) {
  std::string path = ::testing::TempDir() + "own_stream_XXXXXX";
  process::Fd file(::mkstemp(path.data()));
  ASSERT_TRUE(file);
  ASSERT_EQ(::write(file.get(), "before ", 7), 7);
  OwnStream to_file(loop, file.get(), {[] {}, {}});
  to_file.print("line");
  std::string got(32, '\0');
  const auto length = ::pread(file.get(), got.data(), got.size(), 0);
  ::unlink(path.c_str());
  EXPECT_EQ(got.substr(0, static_cast<std::size_t>(length)), "before line\n");
}

}  // namespace
}  // namespace weft::io
