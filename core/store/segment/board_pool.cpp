// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/segment/board_pool.hpp"

#include <algorithm>
#include <utility>

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

std::optional<Area> pool_slot(const JobHeader& job, BoardNumber number) noexcept {
  const auto area = job.board_area;
  if (number == own_job_board || number > area.bytes / pool_board_bytes) return std::nullopt;
  return Area{area.offset + std::uint64_t{number - 1} * pool_board_bytes, pool_board_bytes};
}

BoardPool::BoardPool(shm::Segment& segment, PoolPart part) noexcept
    : first_(part == PoolPart::fences ? 1 : 1 + fence_slots(segment)) {
  slots_.resize(part == PoolPart::fences ? fence_slots(segment)
                                         : group_slots_of(header_of(segment).board_slots));
}

std::optional<BoardNumber> BoardPool::take(const JobView& job, std::uint32_t members, bool remote) noexcept {
  if (members == 0 || members > most_pool_members) return std::nullopt;
  // The first free one: slots that were never used have no memory yet.
  const auto slot = std::find_if(slots_.begin(), slots_.end(), [](const Slot& s) { return s.members == 0; });
  if (slot == slots_.end()) return std::nullopt;
  const auto free = static_cast<BoardNumber>(slot - slots_.begin()) + first_;
  const auto place = pool_slot(job.header(), free);
  if (!place) return std::nullopt;
  auto* const memory = job.clients_memory().data() + place->offset;
  if (!shm::populate(memory, Board::footprint(members))) return std::nullopt;
  slot->board = &ServerBoard::at(memory);
  slot->members = members;
  slot->incarnation = slot->incarnation % Board::last_incarnation + 1;
  slot->board->reopen(members, remote, slot->incarnation);
  return free;
}

std::optional<BoardNumber> BoardPool::victim() noexcept {
  for (std::size_t tried = 0; tried < 2 * slots_.size(); ++tried) {
    const auto at = next_victim_++ % slots_.size();
    auto& slot = slots_[at];
    if (slot.members == 0) continue;
    const auto now = slot.board->open_generation();
    if (std::exchange(slot.seen, now) == now) return static_cast<BoardNumber>(at) + first_;
  }
  return std::nullopt;
}

bool BoardPool::give_back(BoardNumber number) noexcept {
  auto& slot = slots_[number - first_];
  if (!slot.board->close(slot.members)) return false;
  slot.members = 0;
  return true;
}

void BoardPool::drop(BoardNumber number) noexcept {
  if (!give_back(number)) slots_[number - first_].members = 0;
}

}  // namespace weft::store
