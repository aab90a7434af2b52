// SPDX-License-Identifier: BSD-3-Clause
// A host may answer inside the call, from another thread, with an error at once, or when the server is gone.
#include "core/server/host/upcall.hpp"

#include "core/server/host/lent.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

namespace weft::server {
namespace {

struct UpcallTest : ::testing::Test {
  asio::io_context loop{1};
  std::shared_ptr<OpenUpcalls> all = std::make_shared<OpenUpcalls>(loop);
  std::optional<pmix_status_t> answer;
  int answers = 0;
  OpUpcall::Done take = [this](pmix_status_t status) {
    answer = status;
    ++answers;
  };
};

TEST_F(UpcallTest, at_once) {
  OpUpcall::make(all, "abort", take, [](void*) { return PMIX_OPERATION_SUCCEEDED; });
  EXPECT_EQ(answer, PMIX_SUCCESS);
  OpUpcall::make(all, "abort", take, [](void*) { return PMIX_ERR_NO_PERMISSIONS; });
  EXPECT_EQ(answer, PMIX_ERR_NO_PERMISSIONS);
  loop.poll();
  EXPECT_EQ(answers, 2);
}

TEST_F(UpcallTest, inside_the_call) {
  OpUpcall::make(all, "abort", take, [](void* open) {
    on_op_done(PMIX_ERR_TIMEOUT, open);
    return PMIX_SUCCESS;
  });
  EXPECT_FALSE(answer) << "not before the call returned";
  loop.poll();
  EXPECT_EQ(answer, PMIX_ERR_TIMEOUT);
  EXPECT_EQ(answers, 1);
}

TEST_F(UpcallTest, from_another_thread) {
  void* held = nullptr;
  OpUpcall::make(all, "abort", take, [&](void* open) {
    held = open;
    return PMIX_SUCCESS;
  });
  const auto guard = asio::make_work_guard(loop);
  std::thread host([&] { on_op_done(PMIX_SUCCESS, held); });
  loop.run_one();
  host.join();
  EXPECT_EQ(answer, PMIX_SUCCESS);
}

TEST_F(UpcallTest, after_the_end) {
  void* held = nullptr;
  // The object that the answer would have touched must be gone when the server is, not when the host
  // remembers to answer.
  auto owned = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = owned;
  OpUpcall::make(
      all, "abort", [this, keep = std::move(owned)](pmix_status_t status) { take(status); },
      [&](void* open) {
        held = open;
        return PMIX_SUCCESS;
      });
  EXPECT_FALSE(watch.expired());
  all->close();
  EXPECT_TRUE(watch.expired());
  on_op_done(PMIX_SUCCESS, held);
  loop.poll();
  EXPECT_FALSE(answer);
}

TEST_F(UpcallTest, twice) {
  void* held = nullptr;
  OpUpcall::make(all, "abort", take, [&](void* open) {
    held = open;
    return PMIX_SUCCESS;
  });
  on_op_done(PMIX_ERR_TIMEOUT, held);
  on_op_done(PMIX_SUCCESS, held);
  loop.poll();
  on_op_done(PMIX_SUCCESS, held);
  loop.poll();
  EXPECT_EQ(answer, PMIX_ERR_TIMEOUT);
  EXPECT_EQ(answers, 1);
}

TEST_F(UpcallTest, by_its_callback_and_by_its_status) {
  OpUpcall::make(all, "abort", take, [](void* open) {
    on_op_done(PMIX_SUCCESS, open);
    return PMIX_ERR_NOT_SUPPORTED;
  });
  loop.poll();
  EXPECT_EQ(answer, PMIX_SUCCESS);
  EXPECT_EQ(answers, 1);
}

TEST_F(UpcallTest, a_pointer_of_no_upcall) {
  on_op_done(PMIX_SUCCESS, nullptr);
  on_op_done(PMIX_SUCCESS, this);
  loop.poll();
  EXPECT_EQ(answers, 0);
}

/// A host's buffer; in_callback: its locks are held.
struct Buffer {
  std::string bytes = "cards";
  bool in_callback = false;
  int released = 0;
  static void release(void* self) {
    auto& buffer = *static_cast<Buffer*>(self);
    EXPECT_FALSE(buffer.in_callback);
    ++buffer.released;
  }
};

TEST_F(UpcallTest, what_is_lent_is_read_and_released_after_the_callback) {
  Buffer buffer;
  std::string got;
  using Cards = Upcall<LentBytes>;
  Cards::make(
      all, "fence_nb",
      [&](pmix_status_t, LentBytes lent) {
        const auto taken = lent.take();
        got.assign(reinterpret_cast<const char*>(taken->data()), taken->size());
      },
      [&](void* open) {
        buffer.in_callback = true;
        Cards::finish_from_host(
            open, PMIX_SUCCESS,
            LentBytes(buffer.bytes.data(), buffer.bytes.size(), Buffer::release, &buffer));
        buffer.in_callback = false;
        return PMIX_SUCCESS;
      });
  EXPECT_EQ(buffer.released, 0);
  buffer.bytes[0] = 'C';  // still the host's to lend: the loop reads it
  loop.poll();
  EXPECT_EQ(got, "Cards");
  EXPECT_EQ(buffer.released, 1);
}

TEST_F(UpcallTest, what_is_lent_for_the_callback_only_is_copied_there) {
  std::string got;
  using Cards = Upcall<LentBytes>;
  Cards::make(
      all, "fence_nb",
      [&](pmix_status_t, LentBytes lent) {
        const auto taken = lent.take();
        got.assign(reinterpret_cast<const char*>(taken->data()), taken->size());
      },
      [&](void* open) {
        std::string bytes = "cards";
        Cards::finish_from_host(open, PMIX_SUCCESS, LentBytes(bytes.data(), bytes.size(), nullptr, nullptr));
        bytes[0] = 'C';
        return PMIX_SUCCESS;
      });
  loop.poll();
  EXPECT_EQ(got, "cards");
}

TEST_F(UpcallTest, what_is_lent_after_the_end_is_not_released_in_the_callback) {
  Buffer buffer;
  void* held = nullptr;
  using Cards = Upcall<LentBytes>;
  Cards::make(
      all, "fence_nb", [&](pmix_status_t, LentBytes) { ADD_FAILURE() << "answered after the end"; },
      [&](void* open) {
        held = open;
        return PMIX_SUCCESS;
      });
  all->close();
  buffer.in_callback = true;
  Cards::finish_from_host(held, PMIX_SUCCESS,
                          LentBytes(buffer.bytes.data(), buffer.bytes.size(), Buffer::release, &buffer));
  loop.poll();
  EXPECT_EQ(buffer.released, 0);
}

TEST_F(UpcallTest, that_does_not_return) {
  OpUpcall::make(all, "abort", take, [this](void*) {
    EXPECT_STREQ(all->running(), "abort");
    OpUpcall::make(all, "log", take, [this](void*) {
      EXPECT_STREQ(all->running(), "log") << "of several the last";
      return PMIX_OPERATION_SUCCEEDED;
    });
    EXPECT_EQ(answers, 1);
    EXPECT_STREQ(all->running(), "abort");
    all->abandon();  // as another thread does
    OpUpcall::make(all, "log", take, [](void*) {
      ADD_FAILURE() << "the host was called";
      return PMIX_OPERATION_SUCCEEDED;
    });
    return PMIX_OPERATION_SUCCEEDED;
  });
  EXPECT_EQ(all->running(), nullptr);
  EXPECT_EQ(answers, 1) << "the last one's answer comes too late";
}

TEST_F(UpcallTest, with_data) {
  using Exchange = Upcall<std::string>;
  std::string got;
  Exchange::make(
      all, "fence_nb", [&](pmix_status_t, const std::string& data) { got = data; },
      [](void* open) {
        Exchange::finish_from_host(open, PMIX_SUCCESS, "cards of all nodes");
        return PMIX_SUCCESS;
      });
  loop.poll();
  EXPECT_EQ(got, "cards of all nodes");
}

}  // namespace
}  // namespace weft::server
