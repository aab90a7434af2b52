// SPDX-License-Identifier: BSD-3-Clause
// Pulls: which bytes reach which readers, in which order, how much is on the way, and what a reader that
// takes nothing comes to.
#include "tools/io/pulls/pulls.hpp"

#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <chrono>
#include <string>
#include <vector>

namespace weft::io {
namespace {

using job::Rank;
using job::Stream;
using namespace std::chrono_literals;

constexpr std::uint32_t node = 3;
const job::ProcessName parent{"main", Rank{0}};

job::PullRequest pull(std::vector<job::ProcessTarget> targets, std::uint64_t number = 0) {
  return {{{"tool", Rank{1}}, number}, false, std::move(targets), true, true, false};
}
Flow flow_of(std::uint32_t rank, Stream stream = Stream::out, const std::string& nspace = "job") {
  return {nspace, Rank{rank}, stream};
}

class PullsTest : public ::testing::Test {
 protected:
  PullsTest() {
    pulls.add_job("job", {3, false, {}});
    pulls.add_job("other", {1, false, {}});
  }
  pmix_status_t ask(const job::PullRequest& request) {
    pmix_status_t out = PMIX_ERROR;
    pulls.request(node, request, [&](pmix_status_t status) { out = status; });
    return out;
  }
  /// True: the writer may go on at once.
  bool write(const Flow& to, const std::string& bytes) {
    const auto before = taken;
    pulls.write(to, bytes, [this] { ++taken; });
    return taken != before;
  }
  void deliver_all() {
    while (!open.empty()) {
      const auto first = open.front();
      open.erase(open.begin());
      first();
    }
  }

  asio::io_context loop{1};
  std::vector<std::string> got;  ///< NUMBER:NSPACE.RANK.STREAM:BYTES
  std::vector<std::function<void()>> open;
  std::vector<std::uint64_t> dropped;
  int taken = 0, drained = 0;
  Pulls pulls{loop,
              [this](std::uint32_t to, const job::PullName& name, const Flow& from, const std::string& bytes,
                     std::function<void()> delivered) {
                EXPECT_EQ(to, node);
                got.push_back(std::to_string(name.number) + ":" + from.nspace + "." +
                              std::to_string(number(from.rank)) +
                              (from.stream == Stream::out ? ".out:" : ".err:") + bytes.substr(0, 9));
                open.push_back(std::move(delivered));
              },
              {[this] { ++drained; },
               [this](std::uint32_t, const job::PullName& name) { dropped.push_back(name.number); }},
              1ms};
};

TEST_F(PullsTest, a_chunk_goes_to_each_reader_that_covers_it) {
  EXPECT_EQ(ask(pull({{"job", {Rank{1}}}}, 1)), PMIX_SUCCESS);
  EXPECT_EQ(ask(pull({{"job", {}}, {"other", {}}}, 2)), PMIX_SUCCESS);
  auto errors = pull({{"job", {}}}, 3);
  errors.out = false;
  EXPECT_EQ(ask(errors), PMIX_SUCCESS);
  EXPECT_FALSE(pulls.want(flow_of(0, Stream::out, "stranger")));
  EXPECT_TRUE(write(flow_of(1), "a"));
  EXPECT_TRUE(write(flow_of(0, Stream::error), "b"));
  EXPECT_TRUE(write(flow_of(0, Stream::out, "other"), "c"));
  EXPECT_EQ(got, (std::vector<std::string>{"1:job.1.out:a", "2:job.1.out:a", "2:job.0.err:b", "3:job.0.err:b",
                                           "2:other.0.out:c"}));
}

TEST_F(PullsTest, each_stream_ends_once) {
  EXPECT_EQ(ask(pull({{"job", {}}})), PMIX_SUCCESS);
  write(flow_of(0), "");
  write(flow_of(0), "late");
  pulls.end("job", Stream::out);
  EXPECT_EQ(got, (std::vector<std::string>{"0:job.0.out:", "0:job.1.out:", "0:job.2.out:"}));
}

TEST_F(PullsTest, a_late_pull_hears_which_streams_have_ended) {
  write(flow_of(2, Stream::error), "");
  EXPECT_EQ(ask(pull({{"job", {}}})), PMIX_SUCCESS);
  EXPECT_EQ(got, std::vector<std::string>{"0:job.2.err:"});
}

TEST_F(PullsTest, a_writer_waits_beyond_the_window_and_goes_on_in_order) {
  EXPECT_EQ(ask(pull({{"job", {}}})), PMIX_SUCCESS);
  const std::string much(Pull::window_bytes, 'x');
  EXPECT_TRUE(write(flow_of(0), much));
  EXPECT_FALSE(write(flow_of(1), "first"));
  EXPECT_FALSE(write(flow_of(0), "second"));
  EXPECT_EQ(got.size(), 1u);
  deliver_all();
  EXPECT_EQ(taken, 3);
  EXPECT_EQ(got,
            (std::vector<std::string>{"0:job.0.out:xxxxxxxxx", "0:job.1.out:first", "0:job.0.out:second"}));
}

TEST_F(PullsTest, a_job_is_drained_when_readers_have_its_bytes_whatever_other_jobs_write) {
  EXPECT_EQ(ask(pull({{"job", {}}, {"other", {}}})), PMIX_SUCCESS);
  write(flow_of(0), "a");
  write(flow_of(0, Stream::out, "other"), "b");
  EXPECT_FALSE(pulls.is_drained("job"));
  const auto first = open.front();
  first();
  EXPECT_EQ(drained, 1);
  EXPECT_TRUE(pulls.is_drained("job"));
  EXPECT_FALSE(pulls.is_drained("other"));
}

TEST_F(PullsTest, a_reader_that_takes_nothing_is_dropped_and_its_writers_go_on) {
  EXPECT_EQ(ask(pull({{"job", {}}}, 7)), PMIX_SUCCESS);
  write(flow_of(0), std::string(Pull::window_bytes, 'x'));
  EXPECT_FALSE(write(flow_of(0), "waits"));
  loop.run_for(60s);
  EXPECT_EQ(dropped, std::vector<std::uint64_t>{7});
  EXPECT_EQ(taken, 2);
  EXPECT_TRUE(pulls.is_drained("job"));
  EXPECT_FALSE(pulls.want(flow_of(0)));
  deliver_all();  // late replies have no effect
}

TEST_F(PullsTest, a_reader_is_not_dropped_while_nothing_waits_for_it) {
  EXPECT_EQ(ask(pull({{"job", {}}})), PMIX_SUCCESS);
  write(flow_of(0), "in flight");
  loop.run_for(60s);  // ends by itself: nothing is watched
  EXPECT_TRUE(dropped.empty());
  pulls.drain("job");
  loop.restart();
  loop.run_for(60s);
  EXPECT_EQ(dropped, std::vector<std::uint64_t>{0}) << "the end of the job waits for it";
}

TEST_F(PullsTest, a_pull_that_ends_and_a_node_that_is_lost_release_their_writers) {
  for (const bool is_lost : {false, true}) {
    EXPECT_EQ(ask(pull({{"job", {}}})), PMIX_SUCCESS);
    write(flow_of(0), std::string(Pull::window_bytes, 'x'));
    EXPECT_FALSE(write(flow_of(0), "waits"));
    auto end = pull({});
    end.ends = true;
    if (is_lost)
      pulls.lose_node(node);
    else
      EXPECT_EQ(ask(end), PMIX_SUCCESS);
    EXPECT_EQ(taken, 2);
    EXPECT_EQ(ask(end), PMIX_SUCCESS) << "a second end";
    taken = 0;
  }
}

TEST_F(PullsTest, what_cannot_be_pulled) {
  pulls.add_job("files", {1, true, {}});
  EXPECT_EQ(ask(pull({})), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(ask(pull({{"job", {Rank{3}}}})), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(ask(pull({{"job", {}}, {"nonsense", {}}})), PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(ask(pull({{"files", {}}})), PMIX_ERR_NOT_SUPPORTED);
  auto nothing = pull({{"job", {}}});
  nothing.out = nothing.error = false;
  EXPECT_EQ(ask(nothing), PMIX_ERR_BAD_PARAM);
  EXPECT_FALSE(pulls.want(flow_of(0)));
}

TEST_F(PullsTest, early_output_is_kept_for_the_parent_alone_even_behind_the_end_of_the_job) {
  pulls.add_job("child", {1, false, {parent, true, false}});
  write(flow_of(0, Stream::out, "child"), "early");
  write(flow_of(0, Stream::error, "child"), "not kept");
  pulls.remove_job("child");
  EXPECT_EQ(ask(pull({{"child", {}}}, 1)), PMIX_SUCCESS);
  auto own = pull({{"child", {}}}, 2);
  own.name.puller = parent;
  EXPECT_EQ(ask(own), PMIX_SUCCESS);
  EXPECT_EQ(got, (std::vector<std::string>{"1:child.0.out:", "1:child.0.err:", "2:child.0.out:early",
                                           "2:child.0.out:", "2:child.0.err:"}));
  EXPECT_EQ(ask(own), PMIX_ERR_NOT_FOUND) << "it has been taken";
}

TEST_F(PullsTest, what_is_kept_is_bounded_and_goes_with_the_parent) {
  pulls.add_job("child", {1, false, {parent, true, true}});
  for (int i = 0; i < 3; ++i)
    write(flow_of(0, Stream::out, "child"), std::string(KeptOutput::most_bytes / 2, 'x'));
  pulls.remove_job("child");
  pulls.lose_process(parent);
  EXPECT_EQ(ask(pull({{"child", {}}})), PMIX_ERR_NOT_FOUND);
  for (std::size_t i = 0; i <= Pulls::most_past_jobs; ++i) {
    const auto name = std::to_string(i);
    pulls.add_job(name, {1, false, {parent, true, true}});
    pulls.remove_job(name);
  }
  EXPECT_EQ(ask(pull({{"0", {}}})), PMIX_ERR_NOT_FOUND) << "too many";
  EXPECT_EQ(ask(pull({{"1", {}}})), PMIX_SUCCESS);
}

TEST_F(PullsTest, a_redirection_takes_a_stream_from_the_terminal) {
  auto redirects = pull({{"job", {Rank{0}}}});
  redirects.redirects = true;
  EXPECT_EQ(ask(redirects), PMIX_SUCCESS);
  EXPECT_TRUE(pulls.redirect(flow_of(0)));
  EXPECT_FALSE(pulls.redirect(flow_of(1)));
}

}  // namespace
}  // namespace weft::io
