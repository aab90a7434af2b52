// SPDX-License-Identifier: BSD-3-Clause
// Messages that came before this node can use them: for a collective that has not begun here, or for a later
// phase of one.
//
// E1  What is kept takes at most most_bytes, and most_incomplete entries without messages.
// E2  A collective of which a message was thrown away is incomplete: take() says so, and it fails. Where even
//     that cannot be kept, every collective that is taken from then on is incomplete: no node of ours sends
//     so much.
// E3  Of a collective that has failed elsewhere that is kept, and nothing else: this node hears of it when it
//     begins the collective.
// E4  bytes() is the sum of what the entries take, which account() alone changes: 0 when nothing is kept.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "collectives/message.hpp"

namespace weft::collectives {

class EarlyMessages {
 public:
  using Key = std::pair<Signature, Generation>;
  struct Message {
    NodeNumber from;
    MessageHeader header;
    std::vector<std::byte> payload;
  };
  struct Kept {
    std::vector<Message> messages;  ///< in the order in which they came
    bool is_incomplete = false;
  };
  static constexpr std::uint64_t overhead = 128;  ///< bytes that keeping a message takes beside its payload
  static constexpr std::size_t most_incomplete = 65536;

  explicit EarlyMessages(std::uint64_t most_bytes) noexcept : most_bytes_(most_bytes) {}

  void keep(NodeNumber from, const MessageHeader& header, Bytes payload) noexcept;
  /// Takes the messages that were kept for a collective; their bytes are free for others again.
  Kept take(const Key& key) noexcept;
  /// What is kept of a collective is of no use any more: it has failed, as this node `from` says, too.
  /// is_news: the end is kept also where nothing is kept of it.
  void end(const Key& key, NodeNumber from, Why why, bool is_news = false) noexcept;
  /// A node is lost: no collective with it comes to use what it has sent. What has failed has.
  void lose_node(NodeNumber node) noexcept;
  /// How one has failed elsewhere.
  std::optional<Why> end_of(const Key& key) const;
  /// Collectives of other signatures with the same upper half, each with the nodes that its messages came
  /// from.
  std::vector<std::pair<Key, std::vector<NodeNumber>>> like(const Signature& signature) const;
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// Of these what is kept of collectives that have not failed elsewhere.
  std::uint64_t open_bytes() const noexcept;

 private:
  struct Entry {
    Kept kept;
    std::uint64_t bytes = 0;
    bool has_ended = false;  ///< its one message is an abort
  };
  void keep_end(NodeNumber from, const MessageHeader& header) noexcept;
  void lose(const Key& key) noexcept;
  void account(Entry& entry, std::uint64_t bytes) noexcept;

  const std::uint64_t most_bytes_;
  std::map<Key, Entry> entries_;
  std::uint64_t bytes_ = 0;
  std::size_t incomplete_ = 0;
  bool has_lost_track_ = false;
};

}  // namespace weft::collectives
