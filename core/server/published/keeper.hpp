// SPDX-License-Identifier: BSD-3-Clause
// The names that this server keeps: requests about them, of this node's processes and of other servers, and
// the lookups that wait for a name. The loop's thread only.
//
// Successor  A server to which requests come for keys whose home is another node has become their keeper
//            (places.hpp). It asks each other server, once, for what processes there have published of them,
//            and until all have replied, or are lost, it holds what is asked of it.
// First read A name of PMIX_PERSIST_FIRST_READ leaves the names before its reader has the reply, and its
//            origin has forgotten it before that: no successor gives it to another process.
// Guest      Where another run keeps this one's names of SESSION and GLOBAL, requests about them go on to it,
//            and a lookup asks here and there. A wait that is open there ends by the other run's reply, so
//            that no name that it has given is lost.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/server/cluster/cluster.hpp"
#include "core/server/operations/latest.hpp"
#include "core/server/published/kept_names.hpp"
#include "core/server/published/name_messages.hpp"
#include "core/server/published/own_names.hpp"
#include "core/server/published/places.hpp"
#include "core/server/published/runs/far_names.hpp"

namespace weft::server {

class Keeper {
 public:
  /// By Name::weight(), of the names that one server keeps.
  static constexpr std::size_t most_bytes = std::size_t{256} << 20;

  Keeper(Cluster& cluster, Places& places, OwnNames& own, FarNames& far);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  /// A request of another server, or of this one: reply() runs once, perhaps before this returns.
  void serve(NodeNumber from, RequestType type, Bytes body, const Rpc::Reply& reply);
  // Of this node's own: names that no process of another node sees.
  pmix_status_t add(const std::vector<NameRef>& names);
  SeenName look_here(const std::string& key, const Looker& looker);
  Sight sight_here(const std::string& key, const Looker& looker) const {
    return names_.look(key, looker).first;
  }
  void forget(const Name& name) { names_.erase(name.key, name.by->origin, name.by->number); }
  /// The name as it is kept here; null: another server keeps it.
  NameRef find(const std::string& key, std::uint64_t number) const {
    return names_.find(key, places_.self(), number);
  }

  void node_lost(NodeNumber node);
  void namespace_ended(const std::string& nspace);

  const KeptNames& kept() const noexcept { return names_; }
  std::size_t names() const noexcept { return names_.size(); }
  std::size_t bytes() const noexcept { return names_.bytes(); }
  /// Lookups that wait here, and requests that are held.
  std::size_t open() const noexcept { return waits_ + held_; }

 private:
  struct Waiting {
    NodeNumber from;
    std::uint64_t id;  ///< LookUpNames::id
    Looker looker;
    Rpc::Reply reply;
    std::uint64_t far = 0;  ///< its lookup in the other run; 0: none is open
    bool is_over = false;   ///< the requester waits no more, but for the other run's reply
  };
  using Waits = std::list<Waiting>;
  /// Of keys whose home is another node.
  struct Succession {
    bool is_complete = false;  ///< all others have replied
    std::size_t asked = 0;     ///< those that have not
    std::vector<std::function<void()>> held{};
  };
  struct Answer;
  using AnswerRef = std::shared_ptr<Answer>;

  template <class Message>
  void take_up(NodeNumber from, Bytes body, const Rpc::Reply& reply,
               void (Keeper::*act)(NodeNumber, Message, const Rpc::Reply&));
  template <class Keys>
  std::optional<NodeNumber> home_of(const Keys& keys) const;
  void when_kept(NodeNumber home, NodeNumber from, std::function<void()> act);
  void ask_for_copies(NodeNumber home, Succession& succession);
  void take_copies(NodeNumber home, NodeNumber from, NameCopies copies);
  void complete(Succession& succession);
  void publish(NodeNumber from, PublishNames message, const Rpc::Reply& reply);
  void look_up(NodeNumber from, LookUpNames message, const Rpc::Reply& reply);
  void forget_names(NodeNumber from, ForgetNames message, const Rpc::Reply& reply);
  void end_wait(NodeNumber from, EndWait message, const Rpc::Reply& reply);
  void serve_waits(const std::string& key);
  void see(const AnswerRef& answer, std::size_t at, const std::pair<Sight, NameRef>& found);
  void take(const NameRef& name, const AnswerRef& answer);
  void ask_far(const AnswerRef& answer, NodeNumber from, const LookUpNames& message);
  void wait_far(const std::string& key, Waiting& waiting);
  void far_replied(const std::string& key, NodeNumber from, std::uint64_t id, pmix_status_t status,
                   LookedUp found);
  Waiting* find_wait(const std::string& key, NodeNumber from, std::uint64_t id);
  Rpc::Reply remove_wait(const std::string& key, const Waiting& waiting);

  Cluster& cluster_;
  Places& places_;
  OwnNames& own_;
  FarNames& far_;
  KeptNames names_{most_bytes};
  std::unordered_map<std::string, Waits> waiting_;  ///< by key
  std::map<NodeNumber, Succession> successions_;    ///< by home
  std::size_t waits_ = 0, held_ = 0;
  static constexpr std::size_t most_ended = 1024;
  Latest<std::string, std::monostate, most_ended> ended_;  ///< namespaces with names that are still here
};

}  // namespace weft::server
