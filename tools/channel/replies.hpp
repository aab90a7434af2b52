// SPDX-License-Identifier: BSD-3-Clause
// Replies that the senders of messages wait for: each is sent exactly once, whatever becomes of the handler
// that owes it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace weft::channel {

class PendingReplies;

/// The right to send one reply. Copies stand for the same reply.
class Reply {
 public:
  /// Sends the reply; without effect from the second call on. The end of the last copy sends a reply that no
  /// call has sent.
  void operator()() const;
  /// Sends none: the sender hears that this server cannot be reached, once it has gone.
  void withhold() const;

 private:
  friend class PendingReplies;
  struct Handle;
  std::shared_ptr<Handle> handle_;
};

/// The replies that are not sent yet. Any thread.
class PendingReplies {
 public:
  /// send: called once, by the thread that sends the reply, outside of all locks.
  Reply add(std::function<void()> send);
  /// A Reply may outlive this object, and is without effect then: replies that are pending are never sent, and
  /// their senders hear that this server cannot be reached, once it has gone.
  ~PendingReplies() { table_->withhold_all(); }
  PendingReplies() = default;
  PendingReplies(const PendingReplies&) = delete;
  PendingReplies& operator=(const PendingReplies&) = delete;

 private:
  friend class Reply;
  struct Table {
    std::mutex mutex;
    std::map<std::uint64_t, std::function<void()>> pending;
    std::uint64_t last = 0;
    void send(std::uint64_t number);
    void withhold(std::uint64_t number);
    void withhold_all();
  };
  std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

}  // namespace weft::channel
