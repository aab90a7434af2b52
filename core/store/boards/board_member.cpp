// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/boards/board_member.hpp"

namespace weft::store {

void BoardMember::ask_notice() noexcept {
  // A member's first wish stands for all its open fences; a second is not counted.
  if (!board_.has_asked_notice(me_)) board_.ask_notice(me_);
}

}  // namespace weft::store
