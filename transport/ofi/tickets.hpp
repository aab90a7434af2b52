// SPDX-License-Identifier: BSD-3-Clause
// What a reply knows a read by: the completion's memory may be somebody else's when it comes.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/ofi/completion.hpp"

namespace weft::ofi {

class Tickets {
 public:
  static constexpr std::size_t most = 1024;  ///< reads that one endpoint waits for
  struct Ticket {
    Open* open = nullptr;  ///< NULL: not in use
    std::uint32_t generation = 1;
  };

  bool is_full() const noexcept { return in_use_ == most; }
  std::size_t in_use() const noexcept { return in_use_; }
  std::uint32_t next() {
    if (free_.empty()) {
      free_.reserve(most);  // so that give_back() never allocates
      free_.push_back(static_cast<std::uint32_t>(all_.size()));
      all_.emplace_back();
    }
    return free_.back();
  }
  /// After next(), with what it said.
  void take(std::uint32_t number, Open& open) noexcept {
    free_.pop_back();
    all_[number].open = &open;
    ++in_use_;
  }
  void give_back(std::uint32_t number) noexcept {
    all_[number].open = nullptr;
    ++all_[number].generation;
    free_.push_back(number);
    --in_use_;
  }
  std::uint32_t generation(std::uint32_t number) const noexcept { return all_[number].generation; }
  Open* find(std::uint32_t number, std::uint32_t generation) const noexcept {
    if (number >= all_.size() || all_[number].generation != generation) return nullptr;
    return all_[number].open;
  }
  const std::vector<Ticket>& all() const noexcept { return all_; }

 private:
  std::vector<Ticket> all_;
  std::vector<std::uint32_t> free_;
  std::size_t in_use_ = 0;
};

}  // namespace weft::ofi
