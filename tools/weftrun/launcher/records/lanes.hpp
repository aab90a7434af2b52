// SPDX-License-Identifier: BSD-3-Clause
// Viewers of traces draw the events of one track as slices that lie in each other. Events that overlap
// otherwise, as calls do that go on behind their threads, need tracks of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::weftrun {

/// A time from `begin` on, before `end`.
struct Slice {
  std::uint64_t begin = 0, end = 0;
};

/// For each slice its lane, from 0: of two in the same lane one lies in the other, or ends before the other
/// begins. slices: by their begin, and the longer first where these are equal. Cost: of each slice a look at
/// each lane.
std::vector<std::size_t> lanes_of(const std::vector<Slice>& slices);

}  // namespace weft::weftrun
