// SPDX-License-Identifier: BSD-3-Clause
// The connects, disconnects and operations of groups that are open at this server. All of them are here, by
// how far they are, and a room that has to know which one a set or a process is in looks here.
//
//   gathering    participants of this node have called, and others of this node have not
//   with_nodes   all participants of this node are in it, and other nodes take part
//   asking       the same, and handlers are asked whether a construct goes on without a lost node
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "core/server/fences/exchange/exchange.hpp"
#include "core/server/groups/open/meeting.hpp"
#include "core/server/groups/table/group_part.hpp"
#include "core/server/loop/loop.hpp"

namespace weft::server {

struct Gathering {
  Meeting meeting;
  std::uint64_t number = 0;
  std::size_t hash = 0;  ///< of what calls belong together by
  Procs undecided{};     ///< members that are lost, while handlers are asked what becomes of it
  Procs leaders{};       ///< that were elected
  Loop::TimePoint since{};
  bool is_reported = false;
  std::unique_ptr<Timer> deadline{};
};

/// In the order of their first calls, found by number and by what calls belong together by: there may be
/// many.
class OpenGatherings {
 public:
  using Open = std::list<Gathering>::iterator;

  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  Open add(Gathering gathering);
  void erase(Open at);
  /// end(): there is none.
  Open by_number(std::uint64_t number);
  auto by_hash(std::size_t hash) const { return by_hash_.equal_range(hash); }

 private:
  std::list<Gathering> all_;
  std::unordered_map<std::uint64_t, Open> by_number_;
  std::unordered_multimap<std::size_t, Open> by_hash_;
};

/// One that all participants of this node are in, and participants of other nodes.
struct Operation {
  Meeting meeting;
  Participants participants;  ///< of the attempt that is under way, or is next
  GroupPart own;
  std::optional<Exchanges::Key> key{};  ///< of the last attempt
  Loop::TimePoint since{};
  bool was_over = false;  ///< another node had ended this generation before it began here
  std::unique_ptr<Timer> deadline{};
  // Where it goes on without lost nodes:
  std::set<NodeNumber> lost{};
  Procs absent{};  ///< members that were there
};
using OperationRef = std::shared_ptr<Operation>;

/// What a node knows of a construct that is open there.
struct ConstructFacts {
  static constexpr std::uint16_t wire_version = 2;
  bool asks = false;             ///< a member there wants handlers to decide
  bool goes_on_smaller = false;  ///< a member there has said so (PMIX_GROUP_OPTIONAL)
  link::RankRuns arrived, leaders;
  void add(const ConstructFacts& other);
};
template <class Archive>
void fields(Archive& archive, ConstructFacts& m) {
  archive(m.asks, m.goes_on_smaller, m.arrived, m.leaders);
}

struct OpenOperations {
  OpenGatherings gathering;
  std::map<Exchanges::Key, OperationRef> with_nodes;  ///< by the attempt
  std::vector<OperationRef> asking;

  /// Null: it does not gather here. set: of a construct perhaps without the members of lost nodes.
  const Gathering* find(const OperationName& operation, const Procs& set) const;
  /// Null: it is not with the other nodes. set: as it began, or of its last attempt.
  const Meeting* under_way(const OperationName& operation, const Procs& set) const;
  /// An operation of a group of these processes gathers.
  bool is_gathering(const Procs& set) const;
  /// A construct of that group is open, of exactly these members.
  bool is_constructing(const std::string& group, const Procs& set) const;
  /// An operation of the group is with the other nodes: of any kind or of that.
  bool is_with_nodes(const std::string& group, std::optional<Meeting::Kind> kind = {}) const;
  ConstructFacts facts_of(const OperationName& construct, const Procs& set) const;
};

}  // namespace weft::server
