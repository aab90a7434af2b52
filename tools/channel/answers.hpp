// SPDX-License-Identifier: BSD-3-Clause
// What others wait for from us: each is given exactly once, whatever becomes of the handler that was to give it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace weft::channel {

class Answers;

/// One of them. Copies are the same answer.
class Answer {
 public:
  /// Gives it; from the second time on without effect. Not called at all, it is given when the last copy goes.
  void operator()() const;

 private:
  friend class Answers;
  struct Ticket;
  std::shared_ptr<Ticket> ticket_;
};

/// Those that are not given yet. Any thread.
class Answers {
 public:
  /// give: called once, by whoever gives the answer, outside of all locks.
  Answer open(std::function<void()> give);
  /// What is open now. An Answer may outlive this object; it is without effect then.
  void give_all();
  ~Answers() { give_all(); }
  Answers() = default;
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

 private:
  friend class Answer;
  struct Table {
    std::mutex mutex;
    std::map<std::uint64_t, std::function<void()>> open;
    std::uint64_t last = 0;
    void give(std::uint64_t number);
  };
  std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

}  // namespace weft::channel
