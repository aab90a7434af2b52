// SPDX-License-Identifier: BSD-3-Clause
// A timer whose handler never runs for a start that has been cancelled or followed by another one, nor after
// the timer's end.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <utility>

namespace weft::weftrun {

class GraceTimer {
 public:
  explicit GraceTimer(asio::io_context& loop) : timer_(loop) {}
  ~GraceTimer() { ++*round_; }
  GraceTimer(const GraceTimer&) = delete;
  GraceTimer& operator=(const GraceTimer&) = delete;

  void start(asio::steady_timer::duration time, std::function<void()> handler) {
    timer_.expires_after(time);
    timer_.async_wait(
        [round = ++*round_, rounds = round_, handler = std::move(handler)](const asio::error_code& error) {
          if (!error && round == *rounds) handler();
        });
  }
  void cancel() {
    ++*round_;
    timer_.cancel();
  }

 private:
  asio::steady_timer timer_;
  /// A handler that is queued already is too late for asio's cancel().
  const std::shared_ptr<unsigned> round_ = std::make_shared<unsigned>(0);
};

}  // namespace weft::weftrun
