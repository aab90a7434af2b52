// SPDX-License-Identifier: BSD-3-Clause
// Two servers' loops with a fabric between them: they hear each other while both sleep, and rest when nothing happens.
#include "core/server/cluster/fabric.hpp"

#include <gtest/gtest.h>

#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <future>
#include <thread>

namespace weft::server {
namespace {

using namespace std::chrono_literals;

struct Nobody final : mesh::Watcher {
  std::atomic<int> lost{0};
  void node_lost(mesh::NodeNumber, const char*) noexcept override { ++lost; }
  void message_refused(mesh::NodeNumber, mesh::Refusal) noexcept override {}
};

/// The shape of Server::run(), counted. Each has its thread.
class Loop {
 public:
  Loop() : thread_([this] { run(); }) {}
  ~Loop() {
    on_loop([this] {
      fabric.reset();
      stops_ = true;
    });
    thread_.join();
  }
  void on_loop(std::function<void()> task) {
    std::promise<void> done;
    asio::post(io, [&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }
  std::string open(const std::string& transport, const mesh::JobKey& key, mesh::NodeNumber self) {
    std::string note;
    on_loop([&] {
      auto opened = Fabric::open(io, key, {self, 1}, 2, watcher,
                                 {.transport = transport,
                                  .folders = {modules()},
                                  .wait = {.spin = 20us, .yield = 0us},
                                  .limits = {}});
      fabric = std::move(opened.fabric);
      note = opened.note;
    });
    return note;
  }
  static std::string modules() {
    const char* folder = std::getenv("WEFT_TEST_MODULES");
    return folder == nullptr ? "" : folder;
  }

  asio::io_context io{1};
  Nobody watcher;
  std::unique_ptr<Fabric> fabric;
  std::atomic<std::uint64_t> rounds{0};

 private:
  void run() {
    const auto guard = asio::make_work_guard(io);
    while (!stops_) {
      ++rounds;
      if (io.poll() != 0) continue;
      if (fabric && fabric->turn()) continue;
      if (!fabric || fabric->sleep()) io.run_one();
    }
  }
  bool stops_ = false;
  std::thread thread_;
};

/// Sends back what it hears, `left` times.
struct Ball {
  struct One : mesh::Sending {};

  Fabric* fabric = nullptr;
  mesh::NodeNumber other = 0;
  std::atomic<int> heard{0};
  int left = 0;
  std::promise<void> ended;

  void listen() {
    fabric->mesh().on(
        1,
        [](void* self, mesh::NodeNumber, Bytes, Bytes) noexcept {
          auto& ball = *static_cast<Ball*>(self);
          ++ball.heard;
          if (ball.left == 0) return ball.ended.set_value();
          --ball.left;
          ball.hit();
        },
        this);
  }
  void hit() {
    auto one = std::make_unique<One>();  // the answer may come before the done() of the one before
    one->done = [](mesh::Work& work, Result<void>) noexcept {
      delete static_cast<One*>(static_cast<mesh::Sending*>(&work));
    };
    if (fabric->mesh().send(other, 1, {}, {}, *one)) (void)one.release();
  }
};

class FabricTest : public ::testing::TestWithParam<const char*> {
#if defined(__SANITIZE_THREAD__)
  void SetUp() override {  // before UCX is loaded: its hook of madvise() crashes under the sanitizer
    ::setenv("UCX_MEM_MMAP_HOOK_MODE", "none", 1);
    ::setenv("UCX_MEM_EVENTS", "n", 1);
  }
#endif
};
INSTANTIATE_TEST_SUITE_P(On, FabricTest, ::testing::Values("shm", "ofi:tcp;ofi_rxm", "ucx:tcp"),
                         [](const auto& one) {
                           std::string name(one.param);
                           for (auto& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

TEST_P(FabricTest, two_loops_that_sleep_hear_each_other_and_then_rest) {
  const auto key = mesh::JobKey::random();
  Ball ball_a, ball_b;  // they outlive the fabrics
  Loop a, b;
  const auto note = a.open(GetParam(), key, 0);
  if (!a.fabric) GTEST_SKIP() << note;
  ASSERT_EQ(b.open(GetParam(), key, 1), "");
  mesh::Contact of_a, of_b;
  a.on_loop([&] { of_a = a.fabric->mesh().contact(); });
  b.on_loop([&] { of_b = b.fabric->mesh().contact(); });
  constexpr int hits = 2000;
  b.on_loop([&] {
    ball_b.fabric = b.fabric.get();
    ball_b.other = 0;
    ball_b.left = hits;
    ball_b.listen();
    ASSERT_TRUE(b.fabric->mesh().enter(0, of_a));
  });
  a.on_loop([&] {
    ball_a.fabric = a.fabric.get();
    ball_a.other = 1;
    ball_a.left = hits - 1;
    ball_a.listen();
    ASSERT_TRUE(a.fabric->mesh().enter(1, of_b));
    ball_a.hit();
  });
  ASSERT_EQ(ball_a.ended.get_future().wait_for(60s), std::future_status::ready)
      << ball_a.heard << " " << ball_b.heard;

  // At rest: pings twice in a second at the most, each with 20 us of looking again.
  const auto before = a.rounds + b.rounds;
  const auto cpu_before = std::clock();
  std::this_thread::sleep_for(3s);
  const auto rounds = a.rounds + b.rounds - before;
  std::printf("both loops, idle for 3 s: %llu rounds, %.1f ms of processor time\n",
              static_cast<unsigned long long>(rounds),
              1e3 * static_cast<double>(std::clock() - cpu_before) / CLOCKS_PER_SEC);
  EXPECT_LT(rounds, 3000u) << "polling would be 60,000, spinning millions";
  EXPECT_GT(rounds, 0u) << "signs of life";
  EXPECT_EQ(a.watcher.lost + b.watcher.lost, 0);
}

/// libfabric's shm has no descriptor: it works for who names it, and says what that costs.
TEST(Fabric, one_without_a_descriptor_is_polled_and_says_so) {
  const auto key = mesh::JobKey::random();
  Ball ball_a, ball_b;
  Loop a, b;
  const auto note = a.open("ofi:shm", key, 0);
  if (!a.fabric) GTEST_SKIP() << note;
  for (const char* part : {"ofi:shm", "nothing to sleep on", "times a second"})
    EXPECT_NE(note.find(part), std::string::npos) << note;
  b.open("ofi:shm", key, 1);
  ASSERT_TRUE(b.fabric);
  mesh::Contact of_a, of_b;
  a.on_loop([&] { of_a = a.fabric->mesh().contact(); });
  b.on_loop([&] { of_b = b.fabric->mesh().contact(); });
  b.on_loop([&] {
    ball_b.fabric = b.fabric.get();
    ball_b.left = 10;
    ball_b.listen();
    ASSERT_TRUE(b.fabric->mesh().enter(0, of_a));
  });
  a.on_loop([&] {
    ball_a.fabric = a.fabric.get();
    ball_a.other = 1;
    ball_a.left = 9;
    ball_a.listen();
    ASSERT_TRUE(a.fabric->mesh().enter(1, of_b));
    ball_a.hit();
  });
  EXPECT_EQ(ball_a.ended.get_future().wait_for(60s), std::future_status::ready);
}

TEST(Fabric, one_that_is_not_there_is_named_with_what_is) {
  Loop loop;
  const auto note = loop.open("warp:drive", mesh::JobKey::random(), 0);
  EXPECT_FALSE(loop.fabric);
  for (const char* part : {"warp:drive", "shm", "WEFT_TRANSPORT"})
    EXPECT_NE(note.find(part), std::string::npos) << note;
}

TEST(Fabric, options_come_from_the_environment) {
  ASSERT_EQ(::setenv("WEFT_TRANSPORT", "shm", 1), 0);
  ASSERT_EQ(::setenv("WEFT_MODULE_PATH", "/first:/second", 1), 0);
  const auto options = Fabric::options_here(1000);
  EXPECT_EQ(options.transport, "shm");
  ASSERT_GE(options.folders.size(), 2u);
  EXPECT_EQ(options.folders[0], "/first");
  EXPECT_EQ(options.wait.spin, 0us) << "a thousand clients want their cores";
  ::unsetenv("WEFT_TRANSPORT");
  ::unsetenv("WEFT_MODULE_PATH");
}

}  // namespace
}  // namespace weft::server
