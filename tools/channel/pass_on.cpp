// SPDX-License-Identifier: BSD-3-Clause
#include "tools/channel/pass_on.hpp"

namespace weft::channel {

void PassOn::send_below(std::uint32_t node) {
  for (const auto child : tree_->children_of(node)) {
    ++open_;
    channel_.send({child}, order_.type, order_.bytes, [self = shared_from_this(), child](bool is_there) {
      if (!is_there && !self->order_.wanted.expired()) self->send_below(child);
      self->release();
    });
  }
}

void PassOn::release() {
  if (--open_ == 0 && ended_) ended_();
}

}  // namespace weft::channel
