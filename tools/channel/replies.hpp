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
  /// Tells the sender that the message counts as not received: as if this server could not be reached.
  void refuse() const;

 private:
  friend class PendingReplies;
  struct Handle;
  std::shared_ptr<Handle> handle_;
};

/// The replies that are not sent yet. Any thread.
class PendingReplies {
 public:
  /// Called once, by the thread that sends the reply, outside of all locks. false: it is a refusal.
  using Send = std::function<void(bool is_received)>;
  Reply add(Send send);
  /// Refuses all that are pending now. A Reply may outlive this object; it is without effect then.
  void refuse_all();
  ~PendingReplies() { refuse_all(); }
  PendingReplies() = default;
  PendingReplies(const PendingReplies&) = delete;
  PendingReplies& operator=(const PendingReplies&) = delete;

 private:
  friend class Reply;
  struct Table {
    std::mutex mutex;
    std::map<std::uint64_t, Send> pending;
    std::uint64_t last = 0;
    void send(std::uint64_t number, bool is_received);
  };
  std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

}  // namespace weft::channel
