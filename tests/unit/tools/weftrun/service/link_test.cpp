// SPDX-License-Identifier: BSD-3-Clause
// Whole messages between two ends, however the bytes come.
#include "tools/weftrun/service/link.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>

#include "tools/process/fd.hpp"

namespace weft::weftrun::service {
namespace {

class LinkTest : public ::testing::Test {
 protected:
  LinkTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    raw_ = base::Fd(ends[0]);
    link_.emplace(loop_, base::Fd(ends[1]),
                  Link::Events{[this](Link::Message message) { got_.push_back(std::move(message)); },
                               [this] { is_closed_ = true; }});
  }
  void write(Bytes bytes) {
    ASSERT_EQ(::write(raw_.get(), bytes.data(), bytes.size()), ssize_t(bytes.size()));
  }
  /// What is ready now.
  void settle() {
    loop_.restart();
    while (loop_.poll() != 0) {
    }
  }
  static std::vector<std::byte> framed(const Refused& message) {
    const auto body = base::encode(message);
    Header header;
    header.type = Refused::type;
    header.bytes = static_cast<std::uint32_t>(body.size());
    auto out = base::encode(header);
    out.insert(out.end(), body.begin(), body.end());
    return out;
  }

  asio::io_context loop_{1};
  base::Fd raw_;
  std::optional<Link> link_;
  std::vector<Link::Message> got_;
  bool is_closed_ = false;
};

TEST_F(LinkTest, bytes_that_come_one_by_one_are_whole_messages) {
  auto bytes = framed({3, "first"});
  const auto second = framed({4, "second"});
  bytes.insert(bytes.end(), second.begin(), second.end());
  for (const auto byte : bytes) {
    write(Bytes(&byte, 1));
    settle();
  }
  ASSERT_EQ(got_.size(), 2U);
  EXPECT_EQ(got_[1].as<Refused>()->line, "second");
  EXPECT_FALSE(got_[1].as<State>());
  write(bytes);  // at once
  settle();
  EXPECT_EQ(got_.size(), 4U);
  EXPECT_FALSE(is_closed_);
}

TEST_F(LinkTest, a_header_of_no_message_ends_it) {
  auto bytes = framed({3, "line"});
  bytes[0] = std::byte{77};
  write(bytes);
  settle();
  EXPECT_TRUE(is_closed_);
  EXPECT_TRUE(got_.empty());
  link_->send(Refused{});  // has no effect
  settle();
}

TEST_F(LinkTest, a_large_message_waits_for_its_reader) {
  link_->send(Refused{1, std::string(8U << 20, 'x')});
  std::size_t taken = 0;
  std::vector<char> buffer(1U << 16);
  for (int turn = 0; turn < 100'000 && taken < (8U << 20); ++turn) {
    const auto length = ::read(raw_.get(), buffer.data(), buffer.size());
    if (length > 0) taken += static_cast<std::size_t>(length);
    settle();
  }
  EXPECT_GT(taken, 8U << 20);
}

TEST_F(LinkTest, descriptors_come_with_their_message) {
  Link other(loop_, std::move(raw_), Link::Events{[](Link::Message) {}, [] {}});
  auto pipe = process::make_pipe(true, true);
  const std::array<int, 1> sent{pipe.write.get()};
  other.send(Refused{1, "with"}, sent);
  settle();
  ASSERT_EQ(got_.size(), 1U);
  ASSERT_EQ(got_[0].descriptors.size(), 1U);
  ASSERT_EQ(::write(got_[0].descriptors[0].get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(pipe.read.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
}

}  // namespace
}  // namespace weft::weftrun::service
