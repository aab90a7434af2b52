// SPDX-License-Identifier: BSD-3-Clause
#include "base/threads/weak_self.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace weft::base {
namespace {

struct Owner {
  int calls = 0;
  const WeakSelf<Owner> weak_self{this};
  std::function<bool()> callback() {
    return [self = weak_self.get()] {
      Owner* owner = self();
      if (owner != nullptr) ++owner->calls;
      return owner != nullptr;
    };
  }
};

TEST(weak_self, a_callback_reaches_its_owner_until_it_ends) {
  auto owner = std::make_unique<Owner>();
  const auto callback = owner->callback();
  EXPECT_TRUE(callback());
  EXPECT_EQ(owner->calls, 1);
  owner.reset();
  EXPECT_FALSE(callback());
}

}  // namespace
}  // namespace weft::base
