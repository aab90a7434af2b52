// SPDX-License-Identifier: BSD-3-Clause
// What one client has asked for and not been answered. A process that asks without end, by a mistake or on
// purpose, takes a bounded part of its server: whatever a room keeps for a request, it keeps until the reply.
// Observers read from it in which call the process is, or what it was answered last. The loop's thread only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "core/link/frame.hpp"

namespace weft::server {

class OpenRequests {
 public:
  /// Beyond these a request is answered with PMIX_ERR_OUT_OF_RESOURCE.
  static constexpr std::size_t most = 1024;
  static constexpr std::size_t most_bytes = std::size_t{1} << 20;
  /// Besides, for each process of the client's job: requests may name them all, one by one.
  static constexpr std::size_t bytes_for_process = 256;

  using Clock = std::chrono::steady_clock;
  struct Request {
    link::MessageType type;
    std::size_t bytes;
    Clock::time_point since;
  };
  /// What was answered last.
  struct Last {
    link::MessageType type;
    Clock::time_point at;
  };

  enum class Outcome {
    taken,
    full,
    repeated  ///< a request of that tag is open: no library does that
  };

  /// A tag of its own for a request without one: its reply gives it back, and is not sent.
  std::uint64_t silent_tag() noexcept { return first_silent | ++last_silent_; }
  /// No process may send such a tag.
  static bool is_silent(std::uint64_t tag) noexcept { return (tag & first_silent) != 0; }

  /// bytes: of the request. room: bytes that may be open in all; one request alone may be longer.
  Outcome take(link::MessageType type, std::uint64_t tag, std::size_t bytes, std::size_t room) {
    if (open_.contains(tag)) return Outcome::repeated;
    if (open_.size() == most || (bytes_ != 0 && bytes_ + bytes > room)) return Outcome::full;
    open_.emplace(tag, Request{type, bytes, Clock::now()});
    bytes_ += bytes;
    return Outcome::taken;
  }
  /// The reply of that tag goes out. A tag that is not open has no effect.
  void give_back(std::uint64_t tag) {
    const auto found = open_.find(tag);
    if (found == open_.end()) return;
    bytes_ -= found->second.bytes;
    last_ = {found->second.type, Clock::now()};
    open_.erase(found);
  }
  std::size_t count() const noexcept { return open_.size(); }
  std::size_t bytes() const noexcept { return bytes_; }
  /// In any order.
  template <class See>
  void each(See&& see) const {
    for (const auto& [tag, request] : open_) see(request);
  }
  const std::optional<Last>& last() const noexcept { return last_; }

 private:
  static constexpr std::uint64_t first_silent = std::uint64_t{1} << 63;

  std::unordered_map<std::uint64_t, Request> open_;  ///< by tag
  std::optional<Last> last_;
  std::size_t bytes_ = 0;
  std::uint64_t last_silent_ = 0;
};

}  // namespace weft::server
