// SPDX-License-Identifier: BSD-3-Clause
// The connects, disconnects and operations of groups that are open at this server, in whatever state: a room
// that has to know which one a set or a process is in looks here.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/server/groups/open/failures.hpp"
#include "core/server/groups/open/operation.hpp"

namespace weft::server {

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

class OpenOperations {
 public:
  /// It gathers.
  OperationRef add(Operation operation, Loop::TimePoint now);
  /// It has ended. Nothing of it is due any more.
  void erase(const OperationRef& operation);

  /// By their first calls. What is done with one may end others.
  std::vector<OperationRef> in(OperationState state) const;
  std::vector<OperationRef> between_nodes() const;
  /// The first that is so, by their first calls; null: none.
  template <class Is>
  OperationRef find_if(Is&& is) const {
    for (const auto& [number, open] : all_)
      if (is(*open)) return open;
    return nullptr;
  }
  /// The oldest that gathers and that a call belongs to: of that kind, and of the group, or of the set. Null:
  /// the call begins another. may_be(operation): for more conditions.
  template <class MayBe>
  OperationRef find_gathering(const OperationName& name, const Procs& set, MayBe&& may_be) const;

  // By what another node calls it. set: perhaps of an attempt without the members of lost nodes.
  /// Null: it does not gather here.
  OperationRef gathering(const OperationName& name, const Procs& set) const;
  /// Null: it is not with the other nodes.
  OperationRef under_way(const OperationName& name, const Procs& set) const;
  ConstructFacts facts_of(const OperationName& construct, const Procs& set) const;

  /// An operation of a group of these processes gathers.
  bool is_gathering(const Procs& set) const;
  /// An operation of the group is with the other nodes: of any kind or of that.
  bool is_with_nodes(const std::string& group, std::optional<Operation::Kind> kind = {}) const;

  /// What is open no more, and may be owed to members of other nodes.
  Failures& failures() noexcept { return failures_; }

 private:
  static std::size_t hash_of(const OperationName& name, const Procs& set);

  std::uint64_t last_ = 0;
  std::map<std::uint64_t, OperationRef> all_;  ///< by number
  /// By what calls belong together by: there may be many.
  std::unordered_multimap<std::size_t, OperationRef> by_hash_;
  Failures failures_;
};

template <class MayBe>
OperationRef OpenOperations::find_gathering(const OperationName& name, const Procs& set,
                                            MayBe&& may_be) const {
  OperationRef oldest;
  const auto [first, last] = by_hash_.equal_range(hash_of(name, set));
  for (auto each = first; each != last; ++each) {
    const auto& open = each->second;
    const bool is_it = open->state == OperationState::gathering && open->name == name &&
                       (open->is_of_group() || is_same(open->set, set)) && may_be(*open);
    if (is_it && (!oldest || open->number < oldest->number)) oldest = open;
  }
  return oldest;
}

}  // namespace weft::server
