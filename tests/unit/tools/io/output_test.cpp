// SPDX-License-Identifier: BSD-3-Clause
// The output of a job when descriptors run out while its ranks are connected: what is open still ends.
#include "tools/io/output.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <asio/io_context.hpp>
#include <chrono>

#include "tools/messages/stop.hpp"
#include "tools/process/fd.hpp"

namespace weft::io {
namespace {

using job::Rank;

/// While it lives, so many descriptors more can be opened.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit limit = before_;  // a new descriptor is the lowest that is free, and none above it is open here
    limit.rlim_cur = static_cast<rlim_t>(process::make_pipe(false, true).read.get()) + more;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

struct Quiet final : TerminalWatcher {
  void on_written() override {}
  void on_reader_lost(job::Stream) override {}
  void on_write_failed(job::Stream, int) override {}
};

TEST(OutputTest, a_rank_that_gets_no_pipe_leaves_nothing_open) {
  for (const rlim_t more : {1, 3}) {  // not even one pipe, or one and not the second
    asio::io_context loop{1};
    Quiet watcher;
    Terminal terminal(loop, watcher);
    Pulls pulls(loop, {}, {[] {}, {}});
    Output output(loop, {terminal, pulls}, {.nspace = "job", .directory = "", .ranks_here = 2, .ranks = 2},
                  [](const auto&, int) {});
    output.connect(Rank{0});  // a rank that ends at once
    {
      const FewDescriptors limit(more);
      EXPECT_THROW(output.connect(Rank{1}), messages::Stop);
    }
    loop.run_for(std::chrono::seconds(30));  // ends by itself: nothing is open
    EXPECT_TRUE(output.is_drained()) << more << " descriptors";
  }
}

}  // namespace
}  // namespace weft::io
