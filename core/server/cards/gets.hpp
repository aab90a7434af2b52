// SPDX-License-Identifier: BSD-3-Clause
// Gets that have to wait: of clients that did not find the key in the segment, of the host, and of other nodes for a whole card.
//
// A waiting Get ends by one of: a commit of its rank (its card is watched), the end of its rank, a fetch, its deadline.
// Nothing is polled. The loop's thread only.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "core/link/messages.hpp"
#include "core/server/cards/cards.hpp"
#include "core/store/lookup.hpp"

namespace weft::server {

class Gets {
 public:
  using Got = std::function<void(pmix_status_t, data::Value)>;

  Gets(asio::io_context& loop, Jobs& jobs, Cards& cards, Cluster* cluster);

  /// asker: the calling process; of no job for the host. done: once, perhaps before this returns.
  void get(const pmix_proc_t& proc, std::string key, const store::GetDirectives& how, store::Asker asker,
           Got done);
  /// The whole card of a local rank, for another node: as soon as something is committed.
  void whole_card(const pmix_proc_t& proc, std::function<void(pmix_status_t, Blob)> done);

  /// Something about `proc` has changed: ends what can be ended now.
  void retry(const pmix_proc_t& proc);
  /// The namespace has ended.
  void retry_all(std::string_view nspace);

 private:
  struct Waiting {
    pmix_proc_t proc;
    std::string key;  ///< empty: the whole card as a blob
    std::string hostname;
    store::GetDirectives how;  ///< its hostname points to ours
    store::Asker asker;
    std::function<void(pmix_status_t, data::Value, Blob)> done;
    std::unique_ptr<asio::steady_timer> timer;
    std::uint64_t number = 0;
    bool is_fetched = false;  ///< the card was brought once
  };
  struct Verdict {
    pmix_status_t status;
    data::Value value;
    Blob blob;
  };
  void serve(std::unique_ptr<Waiting> get);
  std::optional<Verdict> decide(Waiting& get);
  void park(std::unique_ptr<Waiting> get);
  void fetch(const pmix_proc_t& proc);
  void watch(const pmix_proc_t& proc, bool on);

  asio::io_context& loop_;
  Jobs& jobs_;
  Cards& cards_;
  std::list<std::unique_ptr<Waiting>> waiting_;
  std::uint64_t next_ = 1;
};

}  // namespace weft::server
