// SPDX-License-Identifier: BSD-3-Clause
// What a client pulls, on its way to the client: as fast as the client reads, or with a cache of its own,
// from which bytes are dropped that do not fit. The loop's thread only.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/data/types/value.hpp"
#include "core/server/types.hpp"

namespace weft::server {

/// PMIX_IOF_CACHE_SIZE, PMIX_IOF_DROP_OLDEST, PMIX_IOF_DROP_NEWEST.
struct OutputCache {
  static constexpr std::size_t default_bytes = std::size_t{1} << 20;
  static constexpr std::size_t most_bytes = std::size_t{16}
                                            << 20;  ///< a client may ask for more, and has that
  std::size_t bytes = default_bytes;
  bool drops_oldest = false;

  /// Nothing: none of them is there, and the sender waits for the client. Error: invalid (no size, or both
  /// are to be dropped).
  static Result<std::optional<OutputCache>> of(const data::Infos& directives);
};

class OutputQueue : public std::enable_shared_from_this<OutputQueue> {
 public:
  using Sent = std::function<void(bool is_sent)>;
  OutputQueue(ConnectionRef client, std::optional<OutputCache> cache)
      : client_(std::move(client)), cache_(cache) {}

  /// message: an encoded link::Output. sent: true: it is in the client's socket, or in the cache; false: the
  /// client is not there.
  void write(std::vector<std::byte> message, const Sent& sent);

 private:
  bool make_room(std::size_t bytes);
  void send(const std::vector<std::byte>& message);
  void say_dropped();

  const ConnectionRef client_;
  const std::optional<OutputCache> cache_;
  std::deque<std::vector<std::byte>> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool is_sending_ = false, has_dropped_ = false;
};

}  // namespace weft::server
