// SPDX-License-Identifier: BSD-3-Clause
// Work of a room that may block (a file system, another daemon), on a thread of its own, and its outcome back
// on the loop. The loop's thread only.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "base/threads/worker.hpp"
#include "core/server/loop/loop.hpp"

namespace weft::server {

class OffLoop {
 public:
  /// thread: as of base::Worker.
  OffLoop(Loop& loop, const char* thread) : back_(std::make_shared<Back>(loop)), worker_(thread) {}
  /// What is under way has no effect any more.
  ~OffLoop() {
    const std::lock_guard lock(back_->mutex);
    back_->loop = nullptr;
  }
  OffLoop(const OffLoop&) = delete;
  OffLoop& operator=(const OffLoop&) = delete;

  /// Calls work() on the thread, after all that was given before, and then(its outcome) on the loop. Copies
  /// of both may be destroyed on the thread, so neither holds what is the loop's (a requester, a reply): they
  /// own plain data, and `then` may refer to the owner of this object. False: there is no thread; neither is
  /// called.
  template <class Work, class Then>
  bool run(Work work, Then then) {
    return worker_.add([back = back_, work = std::move(work), then = std::move(then)](base::Worker::Steps&) {
      const auto outcome = std::make_shared<decltype(work())>(work());
      const std::lock_guard lock(back->mutex);
      if (back->loop == nullptr) return;
      back->loop->post([back, outcome, then] {
        if (back->loop != nullptr) then(*outcome);
      });
    });
  }

 private:
  struct Back {
    explicit Back(Loop& of) : loop(&of) {}
    std::mutex mutex;
    Loop* loop;  ///< null: the room has ended
  };
  const std::shared_ptr<Back> back_;
  base::Worker worker_;
};

}  // namespace weft::server
