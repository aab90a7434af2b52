// SPDX-License-Identifier: BSD-3-Clause
// What is made of a completion queue's answers; the queue is made up, to answer as rare providers do.
#include <gtest/gtest.h>
#include <poll.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <deque>

#include "transport/ofi/completion.hpp"

namespace weft::ofi {
namespace {

using namespace std::chrono_literals;

struct FakeQueue {
  fid_cq cq{};
  int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  std::deque<fi_cq_data_entry> done;
  std::deque<fi_cq_err_entry> failed;
  int trywait = 0;
};
FakeQueue* made = nullptr;  // the library's calls bring no more than a fid

ssize_t read_queue(fid_cq*, void* into, std::size_t count) {
  if (!made->failed.empty()) return -FI_EAVAIL;
  if (made->done.empty() || count == 0) return -FI_EAGAIN;
  *static_cast<fi_cq_data_entry*>(into) = made->done.front();
  made->done.pop_front();
  return 1;
}
ssize_t read_error(fid_cq*, fi_cq_err_entry* into, std::uint64_t) {
  if (made->failed.empty()) return -FI_EAGAIN;
  *into = made->failed.front();
  made->failed.pop_front();
  return 1;
}

class QueueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    made = &fake_;
    queue_calls_.size = sizeof queue_calls_;
    queue_calls_.read = read_queue;
    queue_calls_.readerr = read_error;
    queue_ops_.size = sizeof queue_ops_;
    queue_ops_.close = [](fid*) { return 0; };
    queue_ops_.control = [](fid*, int command, void* into) {
      if (command == FI_GETWAIT) *static_cast<int*>(into) = made->fd;
      return 0;
    };
    fake_.cq.fid.ops = &queue_ops_;
    fake_.cq.ops = &queue_calls_;
    domain_calls_.size = sizeof domain_calls_;
    domain_calls_.cq_open = [](fid_domain*, fi_cq_attr*, fid_cq** into, void*) {
      *into = &made->cq;
      return 0;
    };
    domain_.ops = &domain_calls_;
    fabric_calls_.size = sizeof fabric_calls_;
    fabric_calls_.trywait = [](fid_fabric*, fid**, int) { return made->trywait; };
    fabric_.ops = &fabric_calls_;
    info_.reset(fi_allocinfo());
    auto queue = CompletionQueue::make(fabric_, domain_, *info_);
    ASSERT_TRUE(queue);
    queue_.emplace(std::move(*queue));
  }
  void TearDown() override {
    queue_.reset();
    ::close(fake_.fd);
  }
  Event only_event() {
    std::vector<Event> events;
    queue_->read(events);
    EXPECT_EQ(events.size(), 1u);
    return events.empty() ? Event() : events[0];
  }
  bool is_readable(int for_ms = 0) {
    pollfd one{*queue_->wait_fd(), POLLIN, 0};
    return ::poll(&one, 1, for_ms) == 1;
  }

  FakeQueue fake_;
  fi_ops queue_ops_{};
  fi_ops_cq queue_calls_{};
  fid_domain domain_{};
  fi_ops_domain domain_calls_{};
  fid_fabric fabric_{};
  fi_ops_fabric fabric_calls_{};
  Info info_;
  std::optional<CompletionQueue> queue_;
};

TEST_F(QueueTest, errors_of_either_sign) {
  Context context;
  for (const int error : {FI_ECONNREFUSED, -FI_ECONNREFUSED}) {
    fi_cq_err_entry entry{};
    entry.op_context = &context;
    entry.err = error;
    entry.prov_errno = 5;
    fake_.failed.push_back(entry);
    const auto event = only_event();
    EXPECT_EQ(event.context, &context);
    EXPECT_EQ(event.error, FI_ECONNREFUSED);
    EXPECT_EQ(event.provider_error, 5);
  }
  fake_.failed.push_back({});  // an error that has no number is one all the same
  EXPECT_EQ(only_event().error, FI_EIO);
}

TEST_F(QueueTest, what_errors_mean) {
  EXPECT_EQ(to_error(FI_ECANCELED, 0).code, Errc::peer_lost);
  EXPECT_EQ(to_error(FI_ENOTCONN, 0).code, Errc::peer_lost);
  EXPECT_EQ(to_error(FI_EACCES, 0).code, Errc::invalid);
  EXPECT_EQ(to_error(FI_EKEYREJECTED, 0).code, Errc::invalid);
  EXPECT_EQ(to_error(FI_EIO, 12).code, Errc::peer_lost);  // verbs: no answer
  EXPECT_EQ(to_error(FI_EIO, 10).code, Errc::invalid);    // verbs: not allowed
  EXPECT_EQ(to_error(FI_EIO, 1).code, Errc::os);
}

TEST_F(QueueTest, arm_asks_first) {
  fake_.trywait = -FI_EAGAIN;
  const auto refused = queue_->arm(0ms);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::again);
  fake_.trywait = 0;
  ASSERT_TRUE(queue_->arm(0ms));
  EXPECT_FALSE(is_readable());
  const std::uint64_t one = 1;
  ASSERT_EQ(::write(fake_.fd, &one, sizeof one), 8);
  EXPECT_TRUE(is_readable());
}

/// The provider net of 1.17 behaves so once it was used: readable, and nothing there.
TEST_F(QueueTest, a_descriptor_that_is_readable_for_nothing) {
  const std::uint64_t one = 1;
  ASSERT_EQ(::write(fake_.fd, &one, sizeof one), 8);
  const auto arm_in_the_end = [this] {
    int refused = 0;
    while (!queue_->arm(0ms) && refused < 1000) ++refused;
    return refused;
  };
  // First one has to look whether something is there after all.
  EXPECT_GT(arm_in_the_end(), 0);
  EXPECT_FALSE(is_readable());
  // An event that comes then wakes.
  ASSERT_EQ(::write(fake_.fd, &one, sizeof one), 8);
  EXPECT_TRUE(is_readable());
  // An owner that was woken checks again; otherwise it goes on sleeping.
  queue_->after_sleep();
  EXPECT_GT(arm_in_the_end(), 0);
  EXPECT_EQ(arm_in_the_end(), 0);
  EXPECT_TRUE(is_readable(10'000)) << "not for ever";
}

TEST_F(QueueTest, arm_for_a_while) {
  ASSERT_TRUE(queue_->arm(1ms));
  EXPECT_TRUE(is_readable(10'000));
  queue_->after_sleep();
  EXPECT_FALSE(is_readable());
  // A shorter while counts, whatever was asked for before; a longer one keeps what runs.
  ASSERT_TRUE(queue_->arm(std::chrono::hours(1)));
  ASSERT_TRUE(queue_->arm(1ms));
  ASSERT_TRUE(queue_->arm(std::chrono::hours(1)));
  EXPECT_TRUE(is_readable(10'000));
}

/// FI_CONTEXT and FI_CONTEXT2: the library may write over the first bytes of what op_context points to.
TEST(ContextTest, the_first_bytes_are_the_librarys) {
  Transfer carrier;
  Context* context = &carrier;
  EXPECT_EQ(static_cast<void*>(&context->library), static_cast<void*>(context));
  EXPECT_GE(sizeof context->library, sizeof(fi_context2));
  EXPECT_GE(reinterpret_cast<std::byte*>(&context->kind) - reinterpret_cast<std::byte*>(context),
            static_cast<std::ptrdiff_t>(sizeof(fi_context2)));
}

}  // namespace
}  // namespace weft::ofi
