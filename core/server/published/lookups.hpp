// SPDX-License-Identifier: BSD-3-Clause
// The lookups of this node's processes, each until it is answered. The loop's thread only.
//
// Where     Each key is asked for at its keeper. Names that no process of another node sees are kept here:
//           where the keeper is another server, this one looks at its own first.
// Wait      With PMIX_WAIT each key is a request of its own, which its keeper answers when there is a name.
//           It ends once, by its reply: whatever ends the lookup before (enough others are found, its time,
//           its process) is said to the keeper, and a name that it has given meanwhile is not lost.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/server/connections/requester.hpp"
#include "core/server/published/keeper_calls.hpp"

namespace weft::server {

class Lookups {
 public:
  Lookups(Loop& loop, const Places& places, Keeper& keeper, KeeperCalls& calls)
      : loop_(loop), places_(places), keeper_(keeper), calls_(calls) {}
  Lookups(const Lookups&) = delete;
  Lookups& operator=(const Lookups&) = delete;

  void look_up(const Requester& from, const link::Lookup& message);
  /// Of a process of another run, in whose place the requester asks. reply: once, unless the requester's
  /// connection ends before.
  using Found = std::function<void(pmix_status_t status, const LookedUp& found)>;
  void look_up(const Requester& from, LookUpNames message, Found reply);
  /// That lookup waits no more: what is found by now is its reply.
  void end_wait(const Requester& from);
  /// The connection of a client or tool is closed: its lookups end without an answer.
  void closed(const ConnectionRef& connection);
  /// A process has published this key for processes of this node.
  void look_again(const std::string& key);

  /// A lookup that waits.
  struct Wait {
    const pmix_proc_t& proc;
    std::string missing;  ///< keys, separated by commas; not all of many
    Loop::TimePoint since;
    bool& is_reported;
  };
  void each_wait(const std::function<void(const Wait&)>& see) const;
  std::size_t open() const noexcept { return open_.size(); }

 private:
  /// After the end of its time a lookup waits so long for what its keepers say.
  static constexpr std::chrono::seconds last_wait{1};
  struct Key {
    std::string key;
    SeenName seen{};
    KeeperCalls::Ref call{};   ///< null: none is open
    std::uint64_t id = 0;      ///< of its wait
    bool is_here_too = false;  ///< something has been published for this node since it was asked for
  };
  struct Lookup {
    Requester from;
    Looker looker;
    std::vector<Key> keys;
    std::size_t wanted = 0;  ///< so many end a wait
    bool waits = false;
    std::size_t open = 1;  ///< keys, and the one that begins it
    bool is_ending = false;
    pmix_status_t why = PMIX_ERR_NOT_FOUND;  ///< where nothing is found
    std::unique_ptr<Timer> deadline{};
    Loop::TimePoint since{};
    bool is_reported = false;
    std::list<std::shared_ptr<Lookup>>::iterator place{};
    Found reply{};  ///< null: the requester is the process itself
    std::size_t count(Sight sight) const;
  };
  using Ref = std::shared_ptr<Lookup>;

  Ref read(const Requester& from, const link::Lookup& message, pmix_status_t& status);
  void open(const Ref& lookup);
  void begin(const Ref& lookup);
  void ask_all(const Ref& lookup);
  void ask(const Ref& lookup, NodeNumber home, const std::vector<std::size_t>& keys);
  void wait(const Ref& lookup, std::size_t at);
  void take(const Ref& lookup, std::size_t at, SeenName seen);
  void look(const Ref& lookup);
  void end_waits(const Ref& lookup);
  void time_is_over(const Ref& lookup);
  void finish(const Ref& lookup);
  void answer(const Lookup& lookup) const;
  static void tell(Lookup& lookup);

  Loop& loop_;
  const Places& places_;
  Keeper& keeper_;
  KeeperCalls& calls_;
  /// What alone keeps a lookup: a lookup keeps its calls, which know it by a weak reference.
  std::list<Ref> open_;
  /// Those that wait at a keeper that is another server.
  std::unordered_multimap<std::string, std::weak_ptr<Lookup>> far_waits_;
  std::uint64_t last_id_ = 0;
};

}  // namespace weft::server
