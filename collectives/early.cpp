// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/early.hpp"

#include <new>
#include <utility>

namespace weft::collectives {

void EarlyMessages::account(Entry& entry, std::uint64_t bytes) noexcept {
  bytes_ = bytes_ - entry.bytes + bytes;
  entry.bytes = bytes;
}

void EarlyMessages::keep(NodeNumber from, const MessageHeader& header, Bytes payload) noexcept {
  if (header.type == MessageHeader::Type::abort) return keep_end(from, header);
  const Key key{header.signature, header.generation};
  try {
    auto& entry = entries_[key];
    if (entry.kept.is_incomplete || entry.has_ended) return;
    const auto cost = payload.size() + overhead;
    if (bytes_ + cost <= most_bytes_) {
      entry.kept.messages.push_back({from, header, {payload.begin(), payload.end()}});
      return account(entry, entry.bytes + cost);
    }
  } catch (const std::bad_alloc&) {
    // The message is dropped, as one that does not fit.
  }
  lose(key);
}

void EarlyMessages::keep_end(NodeNumber from, const MessageHeader& header) noexcept {
  const Key key{header.signature, header.generation};
  try {
    auto& entry = entries_[key];
    if (entry.has_ended) return;
    account(entry, 0);
    entry.kept.messages.clear();
    if (bytes_ + overhead <= most_bytes_) {
      entry.kept.messages.push_back({from, header, {}});
      if (std::exchange(entry.kept.is_incomplete, false)) --incomplete_;
      entry.has_ended = true;
      return account(entry, overhead);
    }
    if (entry.kept.is_incomplete) return;
  } catch (const std::bad_alloc&) {
    // As above.
  }
  lose(key);
}

/// A message of it could not be kept.
void EarlyMessages::lose(const Key& key) noexcept {
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    has_lost_track_ = true;
    return;
  }
  account(found->second, 0);
  found->second.kept = {.messages = {}, .is_incomplete = true};
  if (++incomplete_ <= most_incomplete) return;
  has_lost_track_ = true;
  static_cast<void>(take(key));
}

void EarlyMessages::end(const Key& key, NodeNumber from, Why why, bool is_news) noexcept {
  if (!is_news && entries_.count(key) == 0) return;
  keep_end(from, {.signature = key.first,
                  .generation = key.second,
                  .blocks = {},
                  .type = MessageHeader::Type::abort,
                  .why = why});
}

void EarlyMessages::lose_node(NodeNumber node) noexcept {
  for (auto each = entries_.begin(); each != entries_.end();) {
    auto& entry = each->second;
    auto& messages = entry.kept.messages;
    if (!entry.has_ended) {
      std::uint64_t bytes = 0;
      std::erase_if(messages, [&](const Message& message) {
        if (message.from != node) bytes += message.payload.size() + overhead;
        return message.from == node;
      });
      account(entry, bytes);
    }
    each = messages.empty() && !entry.kept.is_incomplete ? entries_.erase(each) : std::next(each);
  }
}

std::optional<Why> EarlyMessages::end_of(const Key& key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end() || !found->second.has_ended) return std::nullopt;
  return found->second.kept.messages.front().header.why;
}

std::uint64_t EarlyMessages::open_bytes() const noexcept {
  std::uint64_t out = 0;
  for (const auto& [key, entry] : entries_) out += entry.has_ended ? 0 : entry.bytes;
  return out;
}

EarlyMessages::Kept EarlyMessages::take(const Key& key) noexcept {
  Kept out;
  if (const auto found = entries_.find(key); found != entries_.end()) {
    account(found->second, 0);
    if (found->second.kept.is_incomplete) --incomplete_;
    out = std::move(found->second.kept);
    entries_.erase(found);
  }
  out.is_incomplete |= has_lost_track_;
  return out;
}

std::vector<std::pair<EarlyMessages::Key, std::vector<NodeNumber>>> EarlyMessages::like(
    const Signature& signature) const {
  std::vector<std::pair<Key, std::vector<NodeNumber>>> out;
  for (auto at = entries_.lower_bound({{signature.high, 0}, 0}); at != entries_.end(); ++at) {
    const auto& [key, entry] = *at;
    if (key.first.high != signature.high) break;
    if (key.first.low == signature.low || entry.kept.messages.empty()) continue;
    auto& nodes = out.emplace_back(key, std::vector<NodeNumber>()).second;
    for (const auto& message : entry.kept.messages) nodes.push_back(message.from);
  }
  return out;
}

}  // namespace weft::collectives
