// SPDX-License-Identifier: BSD-3-Clause
// What the processes of a job do, and what happens to them: drawn from a seed, run in a cluster in virtual
// time, printed, made smaller.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulation/world.hpp"

namespace weft::schedules {

using std::chrono::microseconds;
/// A process of any job (simulation::Places).
using Rank = std::uint32_t;

/// One operation of several processes. Each process does its operations one after the other, in the order of
/// the schedule. An operation on a group waits for those before it on that group where a program, too, has to
/// know how they have ended (processes.hpp).
struct Operation {
  enum class Kind : std::uint8_t {
    fence_job,    ///< at the job's board
    fence_set,    ///< of the members, by message
    construct,    ///< of a group of the members
    fence_group,  ///< of that group, by those of the members that are in it
    destruct,     ///< of that group
    get,          ///< of the card of `target`, by one process
    invite,       ///< by `target`, of the other members: to a new group, or to one that it is in
    join,         ///< one process asks the members of a group to be let in
    leave,        ///< one process leaves a group
    connect,      ///< of the members
    disconnect,   ///< of members that are connected
    notify,       ///< one process raises an event
    commit,       ///< one process publishes another key, named by the number of this operation
    publish,      ///< each of the members a name, all with the same key
    look_up,      ///< of that key, by each of the members
    unpublish,    ///< of that key, by one process
    spawn,        ///< of job `job`, by one process
    pull,         ///< of what `target` prints, by each of the members
    print,        ///< by one process
  };
  /// What a process does that is invited.
  enum class Answer : std::uint8_t { accepts, declines, none };
  Kind kind = Kind::fence_job;
  std::vector<Rank> members;  ///< ascending; of fence_job all of one job
  std::vector<microseconds>
      pauses;  ///< of each member, between the end of its operation before and this; invite: until its answer
  std::string group{};
  bool collects = false;  ///< fences: with the cards
  bool adjusts = false;   ///< construct, invite: goes on without members that are lost or have left
  bool asks = false;      ///< construct: handlers decide about lost members
  bool is_bare = false;   ///< construct: no directive but a time-out, so it may be at a board
  bool differs = false;   ///< construct: half of the members give these directives
  /// construct: so many of the first members know how many they are and each a share of the others, which
  /// know the name alone; 0: all know all.
  std::uint32_t leaders = 0;
  Rank target = 0;  ///< get, invite, pull
  /// get: of the key that this operation commits, before or after it; nothing: of the first card.
  std::optional<std::size_t> late{};
  bool is_local = false;  ///< notify: for the processes of its node
  // Of invitations:
  std::vector<Answer> answers{};  ///< of each member; that of the leader is not asked
  bool is_optional = false;       ///< goes on without those that do not come
  bool decides = false;  ///< the leader's handlers hear of those that do not come, and go on without them
  bool elects = false;   ///< those that are invited declare themselves leader when the leader is lost
  std::uint32_t timeout = 0;  ///< seconds; 0: none
  // Of joins, and of constructs whose handlers decide:
  bool refuses = false;  ///< a member's handler does
  // Of names:
  std::uint32_t name = 0;  ///< its key
  pmix_data_range_t range = PMIX_RANGE_SESSION;
  pmix_persistence_t persistence = PMIX_PERSIST_APP;
  bool waits = false;  ///< look_up: until it is published
  // Of leaves:
  bool is_loose = false;  ///< the others go on meanwhile
  // Of spawns:
  simulation::JobNumber job = 0;
};

/// Where `differs`.
inline bool gives_directives(Rank rank) {
  return rank % 2 == 0;
}

inline bool is_of_name(Operation::Kind kind) {
  return kind >= Operation::Kind::publish && kind <= Operation::Kind::unpublish;
}

using Kind = Operation::Kind;
using Answer = Operation::Answer;

struct Fault {
  enum class Kind : std::uint8_t {
    process_ends,
    node_lost,
    node_leaves,  ///< its server ends in good order
    node_pauses,  ///< it does nothing for a time, which may be so long that the others take it for lost
  };
  Kind kind = Kind::process_ends;
  std::uint32_t which = 0;  ///< rank, or node
  microseconds at{};        ///< since the job began
  microseconds pause{};     ///< node_pauses
};

struct Schedule {
  simulation::World::Shape shape;
  std::vector<Operation> operations;
  std::vector<Fault> faults;  ///< by time
  bool finalizes = false;     ///< each process, when its operations have ended
};

struct Bounds {
  std::uint32_t most_nodes = 4, most_ranks_a_node = 3, most_operations = 8;
  std::uint32_t most_faults = 3;
  std::uint32_t width_of_ends = server::ProcessEnds::tree_width;
  bool draws_pauses = false;
  /// Where something is lost no bootstraps, no names of groups that have ended, no time-outs of collectives.
  bool is_plain = false;
  bool draws_names = false;   ///< half of the operations are of published names
  bool draws_output = false;  ///< some operations are prints, and pulls of what is printed
  bool draws_spawns = false;  ///< processes start other jobs, whose processes take part in what comes then
};

/// Seconds that a lookup waits: what is published, and is not lost, it finds before.
inline constexpr std::uint32_t longest_lookup = 40;

/// What messages and reads cost in a drawn schedule, without jitter.
sim::Parameters usual_network();

/// The same seed and bounds make the same schedule.
Schedule draw(std::uint64_t seed, const Bounds& bounds);

/// Schedules that went wrong once, by what went wrong.
struct Found {
  const char* what;
  Schedule schedule;
};
std::vector<Found> found();

/// What a run came to.
struct Outcome {
  std::vector<std::string> violations;
  std::uint64_t digest = 0;         ///< of all that ended, with its time
  std::chrono::nanoseconds took{};  ///< of virtual time
};
Outcome run(const Schedule& schedule);

/// Of a schedule that violates: one that does, too, and has less in it.
Schedule shrink(Schedule schedule);

std::string to_text(const Schedule& schedule);

/// So many operations wait for one node, which is lost. 0: all of them end with that, for at most four
/// messages a node, together.
int cost_of_a_loss(std::uint32_t nodes, std::uint32_t operations);

/// A process ends. 0: each other server hears of it, for one request each, of which no server sends more than
/// `width`; loses_a_server: also where a server that is to pass it on is lost.
int cost_of_an_end(std::uint32_t nodes, std::uint32_t width, bool loses_a_server);

}  // namespace weft::schedules
