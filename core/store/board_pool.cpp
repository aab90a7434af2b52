// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/board_pool.hpp"

#include <algorithm>

namespace weft::store {
namespace {

const SegmentHeader& header_of(const shm::Segment& segment) noexcept {
  return *reinterpret_cast<const SegmentHeader*>(segment.server.base());
}
std::uint32_t fence_slots(const shm::Segment& segment) noexcept {
  const auto all = header_of(segment).board_slots;
  return all - group_slots_of(all);
}

}  // namespace

std::optional<Area> pool_slot(const shm::SegmentBytes& segment, BoardNumber number) noexcept {
  const auto& header = *reinterpret_cast<const SegmentHeader*>(segment.server.data());
  if (number == own_job_board || number > header.board_slots) return std::nullopt;
  const std::uint64_t before = std::uint64_t{number - 1} * pool_board_bytes;
  const std::uint64_t bytes = segment.clients.size();
  if (header.boards > bytes || bytes - header.boards < before + pool_board_bytes) return std::nullopt;
  return Area{header.boards + before, pool_board_bytes};
}

BoardPool::BoardPool(shm::Segment& segment, PoolPart part) noexcept
    : base_(segment.clients.base() + header_of(segment).boards),
      first_(part == PoolPart::fences ? 1 : 1 + fence_slots(segment)) {
  slots_.resize(part == PoolPart::fences ? fence_slots(segment)
                                         : group_slots_of(header_of(segment).board_slots));
}

std::optional<BoardNumber> BoardPool::take(std::uint32_t members, bool remote) noexcept {
  if (members == 0 || members > most_pool_members) return std::nullopt;
  // The first free one: slots that were never used have no memory yet.
  const auto slot = std::find_if(slots_.begin(), slots_.end(), [](const Slot& s) { return s.members == 0; });
  if (slot == slots_.end()) return std::nullopt;
  const auto free = static_cast<BoardNumber>(slot - slots_.begin()) + first_;
  if (!shm::populate(reinterpret_cast<std::byte*>(&at(free)), Board::footprint(members))) return std::nullopt;
  slot->members = members;
  slot->incarnation = slot->incarnation % Board::last_incarnation + 1;
  at(free).reopen(members, remote, slot->incarnation);
  return free;
}

bool BoardPool::give_back(BoardNumber number) noexcept {
  auto& slot = slots_[number - first_];
  if (!at(number).close(slot.members)) return false;
  slot.members = 0;
  return true;
}

Board& BoardPool::at(BoardNumber number) const noexcept {
  return Board::at(base_ + std::uint64_t{number - 1} * pool_board_bytes);
}

}  // namespace weft::store
