// SPDX-License-Identifier: BSD-3-Clause
#include "base/threads/published.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace weft::base {
namespace {

TEST(Published, a_reader_sees_the_last_change) {
  Published<std::string> text("first");
  EXPECT_EQ(text.read([](const auto& t) { return t; }), "first");
  text.change([](auto& t) { t += " second"; });
  EXPECT_EQ(text.read([](const auto& t) { return t; }), "first second");
}

TEST(Published, a_reader_keeps_what_it_reads) {
  Published<std::string> text(std::string(1000, 'a'));
  text.read([&](const auto& before) {
    text.change([](auto& t) { t = std::string(1000, 'b'); });
    EXPECT_EQ(before, std::string(1000, 'a'));
    return 0;
  });
  EXPECT_EQ(text.read([](const auto& t) { return t; }), std::string(1000, 'b'));
}

TEST(PublishedThreads, each_value_is_whole) {
  constexpr int changes = 5000;
  Published<std::string> text(std::string(100, 'a'));
  std::atomic<bool> is_over{false};
  const auto look = [&] {
    while (!is_over.load())
      text.read([](const auto& t) {
        EXPECT_EQ(t, std::string(100, t[0]));
        return 0;
      });
  };
  std::thread first(look), second(look);
  for (int i = 0; i < changes; ++i)
    text.change([&](auto& t) { t.assign(100, static_cast<char>('a' + i % 26)); });
  is_over = true;
  first.join();
  second.join();
}

/// A lock that another thread of the parent has is never released in the child.
TEST(Published, read_in_a_forked_child_while_a_thread_of_the_parent_changes) {
  Published<std::string> text("parent");
  std::atomic<bool> is_over{false};
  std::thread writer([&] {
    while (!is_over.load()) text.change([](auto& t) { t = "parent"; });
  });
  for (int i = 0; i < 50; ++i) {
    const auto child = ::fork();
    if (child == 0) {
      ::alarm(60);
      ::_exit(text.read([](const auto& t) { return t == "parent"; }) ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  is_over = true;
  writer.join();
}

}  // namespace
}  // namespace weft::base
