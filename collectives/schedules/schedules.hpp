// SPDX-License-Identifier: BSD-3-Clause
// The algorithms, each in a file of its name. n: members, at least 1; me < n. All are for any n.
//
//                         rounds                 messages a member      bytes a member receives
//   dissemination         log_(ports+1) n        ports * rounds         0: a barrier
//   bruck                 log_2 n                rounds                 all others' blocks
//   recursive_doubling    log_2 n, +2 unless a   rounds                 all others' blocks
//                         power of two
//   ring                  n - 1                  n - 1                  all others' blocks
//   tree                  2 * depth (+ chunks)   2 a child and parent   all others' blocks
//
// A member receives each block once, whatever the algorithm; they differ in rounds and in who waits for whom.
#pragma once

#include "collectives/schedules/schedule.hpp"

namespace weft::collectives {

/// Barrier: in each round a signal to `ports` members, at distances that grow by ports + 1. ports: 1 or more.
Schedule dissemination(std::uint32_t n, Index me, std::uint32_t ports);

/// Allgatherv in ceil(log2 n) rounds: what one has, twice as much in each, from members further up the circle.
Schedule bruck(std::uint32_t n, Index me);

/// Allgatherv by exchanges of pairs; where n is no power of two, the first members stand for two each.
Schedule recursive_doubling(std::uint32_t n, Index me);

/// Allgatherv of n - 1 rounds: each passes on to its neighbour what it received last. For large blocks: every member
/// sends and receives all the time, and a block goes to its place as it is.
Schedule ring(std::uint32_t n, Index me);

/// Gather to member 0 and broadcast from there. arity: children of a member, 1 or more. chunks: pieces of whole blocks in
/// which the broadcast goes down, so that a member passes on one while it receives the next; 1: no pipelining.
Schedule tree(std::uint32_t n, Index me, std::uint32_t arity, std::uint32_t chunks);

}  // namespace weft::collectives
