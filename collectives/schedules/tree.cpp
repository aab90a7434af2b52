// SPDX-License-Identifier: BSD-3-Clause
// A member is the root of a subtree: a range of consecutive members, itself first; the rest of the range is
// divided among its children. The blocks that a subtree gathers are therefore contiguous, and the blocks that
// it lacks are contiguous around the circle.
#include <algorithm>

#include "collectives/schedules/schedules.hpp"

namespace weft::collectives {
namespace {

struct Range {
  std::uint32_t begin, end;
  std::uint32_t size() const { return end - begin; }
};

/// The ranges of the children of the first member of a range.
std::vector<Range> children_of(const Range& range, std::uint32_t arity) {
  std::vector<Range> children;
  std::uint32_t left = range.size() - 1, begin = range.begin + 1;
  for (std::uint32_t share = std::min(arity, left); share > 0; --share) {
    const std::uint32_t size = (left + share - 1) / share;
    children.push_back({begin, begin + size});
    begin += size;
    left -= size;
  }
  return children;
}

struct Place {
  Range mine;
  std::uint32_t parent;  ///< its own index: no parent
  std::vector<Range> children;
};

Place place_of(std::uint32_t n, std::uint32_t me, std::uint32_t arity) {
  Place place{{0, n}, me, {}};
  for (;;) {
    place.children = children_of(place.mine, arity);
    if (place.mine.begin == me) return place;
    place.parent = place.mine.begin;
    place.mine = *std::find_if(place.children.begin(), place.children.end(),
                               [&](const Range& child) { return me < child.end; });
  }
}

/// The blocks of a chunk that a subtree lacks: two ranges where the chunk begins before the blocks of the
/// subtree and ends after them; one range around the circle where the chunk is everything.
void add_part(std::vector<PeerBlocks>& to, Index peer, const Range& own, const Range& chunk,
              std::uint32_t n) {
  if (chunk.size() == n) {
    if (own.size() < n) to.push_back({peer, {Index(own.end % n), n - own.size()}});
    return;
  }
  const Range before{chunk.begin, std::min(chunk.end, own.begin)};
  const Range after{std::max(chunk.begin, own.end), chunk.end};
  for (const Range& part : {before, after})
    if (part.begin < part.end) to.push_back({peer, {Index(part.begin), part.size()}});
}

}  // namespace

Schedule tree(std::uint32_t n, Index me, std::uint32_t arity, std::uint32_t chunks) {
  Schedule schedule;
  const Place place = place_of(n, number(me), arity);
  const bool is_root = place.parent == number(me);
  const auto parent = Index(place.parent);
  if (!place.children.empty()) {
    Step gather;
    for (const Range& child : place.children)
      gather.receives.push_back({Index(child.begin), {Index(child.begin), child.size()}});
    schedule.push_back(std::move(gather));
  }
  if (!is_root) schedule.push_back({.sends = {{parent, {me, place.mine.size()}}}, .receives = {}});

  chunks = std::clamp<std::uint32_t>(chunks, 1, n);
  const auto chunk = [&](std::uint64_t c) {
    return Range{static_cast<std::uint32_t>(n * c / chunks),
                 static_cast<std::uint32_t>(n * (c + 1) / chunks)};
  };
  // Step c receives chunk c and forwards chunk c - 1.
  for (std::uint32_t c = 0; c <= chunks; ++c) {
    Step step;
    if (!is_root && c < chunks) add_part(step.receives, parent, place.mine, chunk(c), n);
    if (c > 0)
      for (const Range& child : place.children)
        add_part(step.sends, Index(child.begin), child, chunk(c - 1), n);
    if (!step.sends.empty() || !step.receives.empty()) schedule.push_back(std::move(step));
  }
  return schedule;
}

}  // namespace weft::collectives
