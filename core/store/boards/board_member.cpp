// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/boards/board_member.hpp"

namespace weft::store {

void BoardMember::ask_notice() noexcept {
  // A member's first wish stands for all its open fences; a second is not counted.
  const auto wished = board_.cell(me_).notify.load(std::memory_order_acquire);  // BD.M2 <- M1
  if (wished == 0) board_.ask_notice(me_);
}

}  // namespace weft::store
