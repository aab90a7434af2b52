// SPDX-License-Identifier: BSD-3-Clause
// Input that processes push: which ranks get it, and when it ends.
#include "tools/io/input/pushed_input.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <asio/io_context.hpp>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft::io {
namespace {

using job::Rank;
using Kind = job::InputTarget::Kind;

const job::ProcessName a{"j", Rank{8}}, b{"j", Rank{9}};

/// Ranks 0 and 1 are here, rank 2 is on node 5.
class PushedInputTest : public ::testing::Test {
 protected:
  PushedInputTest() { ::signal(SIGPIPE, SIG_IGN); }
  void make(const job::InputTarget& target, const std::optional<job::ProcessName>& first = {},
            bool is_open = true) {
    input.emplace(
        loop, target, 3,
        PushedInput::Others{
            [](Rank rank) { return rank == Rank{2} ? std::optional<std::uint32_t>(5) : std::nullopt; },
            [this](std::uint32_t node, const std::vector<Rank>& ranks, const std::string& bytes, bool ends,
                   std::function<void()> taken) {
              EXPECT_EQ(node, 5u);
              EXPECT_EQ(ranks, std::vector<Rank>{Rank{2}});
              far += bytes + (ends ? "." : "");
              open.push_back(std::move(taken));
            }},
        first);
    for (const auto rank : {Rank{0}, Rank{1}})
      if (input->takes(rank)) pipes[index(rank)] = input->connect(rank);
    if (is_open) input->open();
  }
  /// PMIX_ERROR: it is not done yet.
  pmix_status_t push(const job::ProcessName& from, std::vector<Rank> ranks, const std::string& bytes,
                     bool ends = false, std::optional<std::uint32_t> node = {}) {
    const auto status = std::make_shared<pmix_status_t>(PMIX_ERROR);
    input->push({from, node, std::move(ranks), bytes, ends}, [status](pmix_status_t how) { *status = how; });
    last = status;
    return *status;
  }
  /// What the rank can read now; "." at its end.
  std::string text_of(Rank rank) {
    std::array<char, 256> bytes;
    const auto pipe = pipes[index(rank)].get();
    loop.poll();
    loop.restart();
    std::string out;
    for (;;) {
      fd_set readable;
      FD_ZERO(&readable);
      FD_SET(pipe, &readable);
      timeval now{};
      if (::select(pipe + 1, &readable, nullptr, nullptr, &now) <= 0) return out;
      const auto length = ::read(pipe, bytes.data(), bytes.size());
      if (length <= 0) return out + ".";
      out.append(bytes.data(), static_cast<std::size_t>(length));
    }
  }

  asio::io_context loop{1};
  std::optional<PushedInput> input;
  std::array<process::Fd, 2> pipes;
  std::string far;
  std::vector<std::function<void()>> open;
  std::shared_ptr<pmix_status_t> last;
};

TEST_F(PushedInputTest, named_ranks_get_the_bytes_and_each_ends_by_itself) {
  make({Kind::all, Rank{0}, true});
  EXPECT_EQ(push(a, {Rank{0}}, "zero"), PMIX_SUCCESS);
  EXPECT_EQ(push(a, {Rank{1}}, "one", true), PMIX_SUCCESS);
  EXPECT_EQ(text_of(Rank{0}), "zero");
  EXPECT_EQ(text_of(Rank{1}), "one.");
  EXPECT_EQ(push(a, {Rank{0}, Rank{1}}, "more"), PMIX_ERR_IOF_COMPLETE);
  EXPECT_EQ(text_of(Rank{0}), "") << "none or all";
}

TEST_F(PushedInputTest, a_push_to_another_node_is_done_when_the_node_says_so) {
  make({Kind::all, Rank{0}, true});
  EXPECT_EQ(push(a, {}, "all", true), PMIX_ERROR);
  EXPECT_EQ(far, "all.");
  EXPECT_EQ(text_of(Rank{0}) + text_of(Rank{1}), "all.all.");
  open.front()();
  open.clear();
  EXPECT_EQ(*last, PMIX_SUCCESS);
  EXPECT_EQ(push(a, {}, "more"), PMIX_ERR_IOF_COMPLETE);
}

TEST_F(PushedInputTest, an_input_ends_with_the_last_process_that_pushes) {
  make({Kind::one, Rank{1}, true});
  push(a, {}, "a");
  push(b, {}, "b", false, 7);
  push(a, {}, "c", true);
  EXPECT_EQ(text_of(Rank{1}), "abc");
  input->lose_node(7);
  EXPECT_EQ(text_of(Rank{1}), ".");
}

TEST_F(PushedInputTest, an_input_ends_with_its_parent_that_never_pushed) {
  make({Kind::all, Rank{0}, true}, a);
  push(b, {Rank{0}}, "b", true);
  EXPECT_EQ(text_of(Rank{0}), "b");
  input->lose_process(b);
  EXPECT_EQ(text_of(Rank{0}), "");
  input->lose_process(a);
  EXPECT_EQ(text_of(Rank{0}) + text_of(Rank{1}) + far, "...");
  input->lose_process(a);
  EXPECT_EQ(far, ".") << "twice";
}

TEST_F(PushedInputTest, what_comes_before_the_ranks_run_waits_for_them) {
  make({Kind::all, Rank{0}, true}, {}, false);
  EXPECT_EQ(push(a, {Rank{0}}, "early"), PMIX_ERROR);
  input->lose_process(a);
  EXPECT_EQ(text_of(Rank{0}), "");
  input->open();
  EXPECT_EQ(*last, PMIX_SUCCESS);
  EXPECT_EQ(text_of(Rank{0}), "early.");
  make({Kind::all, Rank{0}, true}, {}, false);
  push(a, {}, "never");
  input->close();
  EXPECT_EQ(*last, PMIX_ERR_IOF_COMPLETE);
}

TEST_F(PushedInputTest, ranks_that_take_no_pushes) {
  make({Kind::one, Rank{1}, true});
  EXPECT_EQ(push(a, {Rank{0}}, "x"), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(push(a, {Rank{99}}, "x"), PMIX_ERR_NOT_SUPPORTED);
  make({Kind::none, Rank{0}, true});
  EXPECT_EQ(push(a, {}, "x"), PMIX_ERR_NOT_SUPPORTED);
}

TEST_F(PushedInputTest, a_rank_that_has_ended_or_closed_its_input_holds_nothing_up) {
  make({Kind::all, Rank{0}, true});
  pipes[0].reset();
  EXPECT_EQ(push(a, {Rank{0}, Rank{1}}, std::string(1 << 20, 'x')), PMIX_ERROR) << "rank 1 does not read yet";
  input->disconnect(Rank{1});
  EXPECT_EQ(*last, PMIX_SUCCESS);
  EXPECT_EQ(push(a, {Rank{1}}, "x"), PMIX_ERR_IOF_COMPLETE);
}

}  // namespace
}  // namespace weft::io
