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
  const Key key{header.signature, header.generation};
  try {
    auto& entry = entries_[key];
    if (entry.kept.is_incomplete) return;
    const auto cost = payload.size() + overhead;
    if (bytes_ + cost <= most_bytes_) {
      entry.kept.messages.push_back({from, header, {payload.begin(), payload.end()}});
      return account(entry, entry.bytes + cost);
    }
  } catch (const std::bad_alloc&) {
    // The message is dropped, as one that does not fit.
  }
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

std::vector<std::pair<EarlyMessages::Key, NodeNumber>> EarlyMessages::like(const Signature& signature) const {
  std::vector<std::pair<Key, NodeNumber>> out;
  for (auto at = entries_.lower_bound({{signature.high, 0}, 0}); at != entries_.end(); ++at) {
    const auto& [key, entry] = *at;
    if (key.first.high != signature.high) break;
    if (key.first.low != signature.low && !entry.kept.messages.empty())
      out.emplace_back(key, entry.kept.messages.front().from);
  }
  return out;
}

}  // namespace weft::collectives
