// SPDX-License-Identifier: BSD-3-Clause
// The algorithms, each in a file of its name. n: number of members, at least 1; me < n. Every algorithm works
// for every n.
//
//                         rounds                 messages a member      bytes a member receives
//   dissemination         log_(ports+1) n        ports * rounds         0: a barrier
//   bruck                 log_2 n                rounds                 all others' blocks
//   recursive_doubling    log_2 n, +2 unless a   rounds                 all others' blocks
//                         power of two
//   ring                  n - 1                  n - 1                  all others' blocks
//   tree                  2 * depth (+ chunks)   2 a child and parent   all others' blocks
//
// A member receives each block once in every algorithm; they differ in rounds and in which members wait for
// which.
#pragma once

#include "collectives/schedules/schedule.hpp"

namespace weft::collectives {

/// Barrier: in each round, a signal to `ports` members at distances that grow by the factor ports + 1. ports:
/// 1 or more.
Schedule dissemination(std::uint32_t n, Index me, std::uint32_t ports);

/// Allgatherv in ceil(log2 n) rounds. A member receives from members further up the circle, twice as much in
/// each round.
Schedule bruck(std::uint32_t n, Index me);

/// Allgatherv by exchanges of pairs. If n is not a power of two, each of the first members acts for a
/// neighbour too.
Schedule recursive_doubling(std::uint32_t n, Index me);

/// Allgatherv in n - 1 rounds: each member forwards to its neighbour what it received last. For large blocks:
/// every member sends and receives all the time, and a block is received at its final place.
Schedule ring(std::uint32_t n, Index me);

/// Gather to member 0 and broadcast from there. arity: children of a member, 1 or more. chunks: pieces of
/// whole blocks in the broadcast, so that a member forwards a chunk while it receives the next; 1: no
/// pipelining.
Schedule tree(std::uint32_t n, Index me, std::uint32_t arity, std::uint32_t chunks);

}  // namespace weft::collectives
