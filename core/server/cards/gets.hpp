// SPDX-License-Identifier: BSD-3-Clause
// Gets that the segment did not decide, of clients and of the host, and requests of other nodes for cards of
// this one.
//
// Each time that something about its rank changes (a commit, whose card is watched; the rank's end; a fetch;
// its own deadline) a Get is decided again by store::decide_get. Nothing is polled. The loop's thread only.
// docs/design/modex.md.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
#include "core/server/loop/loop.hpp"

#include "core/server/cards/cards.hpp"
#include "core/server/cards/far_keys.hpp"
#include "core/store/get/get_decision.hpp"
#include "core/store/get/key_wait.hpp"
#include "core/store/get/lookup.hpp"

namespace weft::server {

class Gets {
 public:
  using Got = std::function<void(pmix_status_t, store::Encoded value)>;

  /// key_wait: WEFT_GET_WAIT of this server.
  Gets(Loop& loop, Jobs& jobs, Cards& cards, Cluster& cluster, std::chrono::milliseconds key_wait);

  struct Request {
    pmix_proc_t proc;
    std::string key;
    data::Infos directives;
    store::Caller caller{};  ///< of no job for the host
    bool is_of_host =
        false;  ///< then the host is not asked for what it asks itself, and no key is waited for
    const void* requester = nullptr;  ///< a name to drop it by
  };
  /// done: once, perhaps before this returns. PMIX_ERR_BAD_PARAM: a directive of a type that it cannot have.
  void get(Request request, Got done);
  /// The requester is gone: its Gets end without a word.
  void drop(const void* requester);

  /// A request of another node, or of the host for it, for the card of a local rank.
  struct CardRequest {
    pmix_proc_t proc;
    std::uint64_t from = 0;    ///< up to here the requester knows the rank's log
    std::uint64_t beyond = 0;  ///< the reply comes when the log is longer than this,
    bool waits = true;         ///< or at once
  };
  struct CardReply {
    pmix_status_t
        status;  ///< PMIX_ERR_NOT_FOUND: there is no more; _UNREACH: the rank has ended and committed nothing
    std::uint64_t end = 0;  ///< length of the rank's log
    Blob card;              ///< from `from` on; empty where nothing in it is for other nodes
  };
  void card(const CardRequest& request, std::function<void(CardReply)> done);

  /// Something about `proc` has changed: ends what can be ended now.
  void retry(const pmix_proc_t& proc);
  /// Cards of other nodes have come, or the namespace has ended.
  void retry_all(std::string_view nspace);
  /// What a requester waits for; an observer's question.
  struct Awaited {
    pmix_proc_t proc;
    std::string key;
  };
  std::vector<Awaited> open_of(const void* requester) const;
  /// Gets and requests for cards that have not ended.
  std::size_t waiting() const noexcept { return waiting_.size() + waiting_cards_.size(); }

 private:
  struct Waiting {
    Request request;
    store::GetDirectives how;  ///< borrows from request.directives
    Got done;
    std::unique_ptr<Timer> timer{};
    std::unique_ptr<Timer> again{};  ///< until the host is asked for the card once more
    std::chrono::milliseconds pause{};
    bool is_late = false;
    bool is_asking = false;    ///< a fetch is under way for it
    bool fetches_job = false;  ///< the fetch is one of the namespace
    bool has_asked_for_job = false;
    bool is_watching = false;  ///< commits of its rank are told
    bool was_asked = false;    ///< a fetch has ended well
    std::uint64_t end = 0;     ///< how far the rank's log reached then
  };
  struct WaitingCard {
    CardRequest request;
    std::function<void(CardReply)> done;
  };
  using Number = std::uint64_t;

  void go_on(Number number);
  store::GetStep decide(const Waiting& get, store::Encoded& value) const;
  bool find_in_sessions(const Waiting& get, store::Encoded& value) const;
  void fetch(Number number, Waiting& get);
  void ask_far_node(Number number, const Job& job, const Waiting& get);
  void wait(Number number, Waiting& get);
  void ask_host_again(Number number, Waiting& get);
  void on_fetched(Number number, const Fetched& fetched);
  void arm(Number number, Waiting& get, std::chrono::milliseconds time);
  void end(Number number, pmix_status_t status, store::Encoded value);
  std::chrono::milliseconds key_wait_of(const Waiting& get) const;
  bool go_on_with_card(Number number);
  void retry_numbers(const std::function<bool(const pmix_proc_t&)>& concerns);
  void watch(const pmix_proc_t& proc, bool on);

  Loop& loop_;
  Jobs& jobs_;
  Cards& cards_;
  FarKeys far_keys_;
  const std::chrono::milliseconds key_wait_;
  std::map<Number, std::unique_ptr<Waiting>> waiting_;
  std::map<Number, WaitingCard> waiting_cards_;
  Number next_ = 1;
};

}  // namespace weft::server
