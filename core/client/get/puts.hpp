// SPDX-License-Identifier: BSD-3-Clause
// What this process puts: values that it has staged, and its card, in which a commit publishes them. Without
// the segment a commit is a message, and the server writes the card. Any thread. Source: PMIx Standard,
// chapter "Data access and sharing".
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "core/client/get/own_job.hpp"
#include "core/store/get/local_values.hpp"

namespace weft::client {

class Puts {
 public:
  /// own: the values that stay in this process. They, and the job, outlive this.
  Puts(const pmix_proc_t& self, bool is_singleton, Connection& connection, OwnJob& job,
       store::LocalValues& own) noexcept
      : self_(self), is_singleton_(is_singleton), connection_(connection), job_(job), private_(own) {}

  /// Takes the card of this process's place in the segment, after all else of the place is there. Errors: os,
  /// corrupt.
  Result<void> adopt_card(const store::JobView& view, const store::Local& place);
  bool has_card() const noexcept { return has_card_; }

  pmix_status_t put(pmix_scope_t scope, std::string_view key, const pmix_value_t& value);
  pmix_status_t commit();
  /// PMIx_Store_internal: the value is this process's alone.
  pmix_status_t store_internal(const pmix_proc_t& proc, std::string_view key, const pmix_value_t& value);

  bool has_staged() const noexcept { return staged_count_.load(std::memory_order_acquire) != 0; }
  /// The newest value that was put and not committed. Errors: not_found.
  Result<data::Value> staged_value(std::string_view key) const;

 private:
  struct Staged {
    std::uint8_t scope;
    std::uint64_t hash;
    std::string key;
    std::vector<std::byte> value;
  };
  struct Rest {
    std::uint64_t at = 0;        ///< offset
    std::uint64_t first = 0;     ///< bytes of the card that lie elsewhere
    std::uint64_t most = 0;      ///< bytes
    std::uint64_t writable = 0;  ///< bytes of it, from its start
  };
  Result<void> make_card_writable(std::uint64_t end);

  const pmix_proc_t& self_;
  const bool is_singleton_;
  Connection& connection_;
  OwnJob& job_;
  store::LocalValues& private_;

  mutable std::mutex mutex_;  ///< staged values and the card's writer (KeyedLog I1)
  std::vector<Staged> staged_;
  std::atomic<std::size_t> staged_count_{0};
  std::uint64_t staged_end_ = 0;  ///< where the card will end with all of staged_ in it
  store::KeyedLog card_;
  Rest rest_;  ///< the second piece of the card
  bool has_card_ = false;
};

}  // namespace weft::client
