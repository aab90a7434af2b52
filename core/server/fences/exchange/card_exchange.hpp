// SPDX-License-Identifier: BSD-3-Clause
// What a fence hands over and takes in between nodes: what is new in the local members' cards and what this
// node's server alone knows of the job, for that of the other nodes.
// By our own collective, or by the host where it does fences. The loop's thread only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/server/cards/cards.hpp"
#include "core/server/cards/gets.hpp"
#include "core/server/counter.hpp"
#include "core/server/fences/exchange/contribution.hpp"
#include "core/server/fences/exchange/exchange.hpp"
#include "core/server/fences/exchange/generated_info.hpp"
#include "core/server/host/host.hpp"

namespace weft::server {

class CardExchange {
 public:
  CardExchange(Jobs& jobs, Host& host, Cards& cards, Gets& gets, Exchanges& exchanges)
      : jobs_(jobs), host_(host), cards_(cards), gets_(gets), exchanges_(exchanges), generated_(jobs) {}

  /// The servers do it, not the host.
  bool is_ours() const noexcept { return exchanges_.can_begin() && !host_.does_fences(); }
  bool is_by_host() const noexcept { return host_.does_fences(); }
  /// The load that travels between the nodes of a fence.
  struct Load {
    bool cards = false;
    bool generated = false;
    bool is_any() const noexcept { return cards || generated; }
    friend bool operator==(Load, Load) = default;
  };
  /// A blob of its own kind that another node sent along with its cards.
  struct Along {
    NodeNumber node;
    Blob bytes;
  };
  struct End {
    pmix_status_t status;
    bool is_rival = false;        ///< as Exchanges::End
    bool nodes_disagree = false;  ///< on what travels: all of them know it
    std::vector<Along> along{};   ///< of a group's operation
    std::optional<collectives::Loss> lost{};
    bool is_without_data = false;  ///< as Exchanges::End
  };
  using Ended = std::function<void(End)>;
  /// All local members of `procs` have arrived. done: once, when the other nodes' cards are here; perhaps
  /// before this returns.
  /// along: of a group's operation, what travels beside the cards; a host that does fences cannot carry it.
  /// Returns the key of our own collective while it is under way.
  std::optional<Exchanges::Key> begin(const Participants& procs, Load load, const data::Infos& directives,
                                      Ended done, Bytes along = {});
  /// Tells the host that carries the fences of one that failed here. directives: with
  /// PMIX_LOCAL_COLLECTIVE_STATUS. done: when the host has ended it at all nodes. collect: the other nodes
  /// have bytes in that fence; then these say it, too, for the servers of a host that does not know the
  /// attribute.
  void report_failure(const Procs& procs, bool collect, data::Infos directives, Done done);
  /// The namespace has ended.
  void forget(const std::string& nspace);
  const Packer::Counters& counters() const noexcept { return packer_.counters(); }
  /// Of the cards of other nodes that are in the segment now: their bytes, and those that are not kept twice.
  struct Kept {
    std::uint64_t bytes = 0, saved = 0;
  };
  Kept kept() const;

 private:
  /// Up to where a local rank's card has gone, in bytes of its log.
  struct Sent {
    std::string nspace;
    std::uint32_t local;
    std::uint64_t position;
  };
  struct Collected {
    Blob blob;
    std::vector<Sent> sent;
  };
  using Positions =
      std::map<std::string, std::vector<std::uint64_t>, std::less<>>;  ///< by namespace, local index

  Result<Collected> collect(const Participants& procs);
  const Positions* sent_by(const Participants& procs) const;
  Blob bytes_of(const Procs& procs, Load load, Blob cards) const;
  static std::uint64_t position(const Positions* positions, const Job& job, std::uint32_t local);
  void mark_sent(const Participants& procs, const std::vector<Sent>& sent);
  void load_came(const Procs& procs, Load load, bool are_all);
  Blob contribution(const Procs& procs, const Blob& cards, bool is_first);
  struct Taken {
    pmix_status_t status;
    Load load;  ///< what that node sent, also where nothing of it is new
    Blob along{};
  };
  Taken take(const Procs& procs, const Exchanges::Part& part, Procs& behind);
  pmix_status_t take_blobs(Bytes blobs, Procs& behind);
  void fetch_missing(const Procs& behind, const Done& done);
  /// With whether each node has handed some bytes over.
  using HostEnded = std::function<void(pmix_status_t, bool are_all)>;
  void by_host(const Procs& procs, const data::Infos& directives, const Blob& bytes, HostEnded done);

  Jobs& jobs_;
  Host& host_;
  Cards& cards_;
  Gets& gets_;
  Exchanges& exchanges_;
  GeneratedInfo generated_;
  Packer packer_;
  std::map<collectives::Signature, Positions> sent_;  ///< by set
};

inline constexpr Counter<CardExchange> exchange_counters[] = {
    {"fences.bytes", "bytes that this node gave to full fences: cards, and where they lie",
     [](CardExchange& exchange) { return exchange.counters().plain; }, Measure::bytes},
    {"fences.packed", "the same as it was sent: compressed where that pays",
     [](CardExchange& exchange) { return exchange.counters().packed; }, Measure::bytes},
    {"cards.kept", "bytes of cards of other nodes in this node's segment now",
     [](CardExchange& exchange) { return exchange.kept().bytes; }, Measure::bytes_now},
    {"cards.saved", "bytes that these would take more if each had all of its own",
     [](CardExchange& exchange) { return exchange.kept().saved; }, Measure::bytes_now},
};

}  // namespace weft::server
