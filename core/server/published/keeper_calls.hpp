// SPDX-License-Identifier: BSD-3-Clause
// Requests to the keepers of names, each open until its keeper has replied: where that one is lost or leaves,
// the request goes to its successor. The loop's thread only.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>

#include "core/server/cluster/cluster.hpp"
#include "core/server/loop/loop.hpp"
#include "core/server/published/keeper.hpp"

namespace weft::server {

class KeeperCalls {
 public:
  struct Call {
    NodeNumber home;
    RequestType type;
    std::vector<std::byte> body;  ///< what is sent if it has to be sent again
    Rpc::Replied done;            ///< PMIX_ERR_UNREACH: no server that keeps these keys is reached
    NodeNumber keeper = 0;        ///< it was sent to
    unsigned sent = 0;            ///< how often: the reply to the last counts
    unsigned misses = 0;          ///< how often no way led to a keeper that is not lost
    std::unique_ptr<Timer> pause{};
    std::list<std::shared_ptr<Call>>::iterator place{};  ///< among the open ones
  };
  using Ref = std::shared_ptr<Call>;
  /// A server whose contact has not come is tried again for so long.
  static constexpr std::chrono::milliseconds retry_pause{50};
  static constexpr unsigned most_misses = 200;

  KeeperCalls(Loop& loop, Cluster& cluster, Places& places, Keeper& keeper)
      : loop_(loop), cluster_(cluster), places_(places), keeper_(keeper) {}
  KeeperCalls(const KeeperCalls&) = delete;
  KeeperCalls& operator=(const KeeperCalls&) = delete;

  /// done: once, unless the call is dropped; of a keeper that is this server before send() returns. kept:
  /// receives the call before that, so that `done` and others find it.
  void send(NodeNumber home, RequestType type, std::vector<std::byte> body, Rpc::Replied done,
            Ref* kept = nullptr);
  /// Without a reply, and not again where the keeper is lost.
  void tell(NodeNumber node, RequestType type, std::vector<std::byte> body);
  /// No reply to it is waited for any more.
  void drop(const Ref& call);
  /// Another server keeps these keys from now on: what is open about them goes there, and what an earlier
  /// one may still reply counts no more.
  void follow(NodeNumber home);
  std::size_t open() const noexcept { return open_.size(); }

 private:
  void send(const Ref& call);
  void replied(const Ref& call, unsigned sent, pmix_status_t status, Bytes body);

  Loop& loop_;
  Cluster& cluster_;
  Places& places_;
  Keeper& keeper_;
  std::list<Ref> open_;
};

}  // namespace weft::server
