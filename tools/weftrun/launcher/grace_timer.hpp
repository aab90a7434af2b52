// SPDX-License-Identifier: BSD-3-Clause
// A timer whose handler never runs for a start that has been cancelled or followed by another one.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <utility>

namespace weft::weftrun {

class GraceTimer {
 public:
  explicit GraceTimer(asio::io_context& loop) : timer_(loop) {}

  void start(asio::steady_timer::duration time, std::function<void()> handler) {
    timer_.expires_after(time);
    timer_.async_wait([this, round = ++round_, handler = std::move(handler)](const asio::error_code& error) {
      if (!error && round == round_) handler();
    });
  }
  void cancel() {
    ++round_;
    timer_.cancel();
  }

 private:
  asio::steady_timer timer_;
  unsigned round_ = 0;  // a handler that is queued already is too late for asio's cancel()
};

}  // namespace weft::weftrun
