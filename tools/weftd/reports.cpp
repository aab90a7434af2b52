// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftd/reports.hpp"

#include <asio/post.hpp>
#include <utility>

namespace weft::weftd {

void Reports::report_straight() {
  queue_.report_straight();
  send();
}

void Reports::pass_on(channel::report::Gathered below, channel::Reply reply) {
  queue_.add(std::move(below.items), std::move(reply));
  send_soon();
}

void Reports::finish() {
  queue_.hurry();
  send();
}

/// With what else this turn of the loop brings.
void Reports::send_soon() {
  if (std::exchange(is_to_send_, true)) return;
  asio::post(place_.loop, [self = shared_from_this()] {
    self->is_to_send_ = false;
    self->send();
  });
}

void Reports::send() {
  while (auto batch = queue_.next()) {
    const channel::report::Gathered message{nspace_, std::move(batch->items)};
    place_.channel.send({batch->to}, message,
                        [self = shared_from_this(), number = batch->number](bool has_it) {
                          has_it ? self->queue_.confirm(number) : self->queue_.fail(number);
                          self->send();
                        });
  }
}

}  // namespace weft::weftd
