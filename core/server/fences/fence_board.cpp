// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/fences/fence_board.hpp"

#include <algorithm>

namespace weft::server {

FenceBoard::FenceBoard(Shape shape, const store::SetBoard& at) : SetBoard(at), shape_(std::move(shape)) {}

FenceBoard::FenceBoard(Shape shape)
    : FenceBoard(
          std::vector<Line>(
              store::Board::footprint(static_cast<std::uint32_t>(shape.members.size())) / sizeof(Line) + 1),
          std::move(shape)) {}

FenceBoard::FenceBoard(std::vector<Line> memory, Shape&& shape)
    : SetBoard(store::ServerBoard::create(reinterpret_cast<std::byte*>(memory.data()),
                                          static_cast<std::uint32_t>(shape.members.size()), shape.is_remote),
               store::own_job_board, 0, shape.members.size(), shape.is_remote),
      shape_(std::move(shape)),
      memory_(std::move(memory)) {}

std::optional<std::uint32_t> FenceBoard::member_of(std::string_view nspace, std::uint32_t local) const {
  const auto& members = shape_.members;
  if (local < members.size() && members[local].local == local && members[local].nspace == nspace)
    return local;  // a whole job's
  const auto found = std::find_if(members.begin(), members.end(), [&](const Member& member) {
    return member.local == local && member.nspace == nspace;
  });
  if (found == members.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - members.begin());
}

bool FenceBoard::has_arrived(std::string_view nspace, std::uint32_t local,
                             store::Generation generation) const {
  const auto member = member_of(nspace, local);
  return member && board().arrived(*member, generation);
}

void FenceBoard::begin_at(std::uint32_t member, store::Generation next) {
  stand_ins_.erase(member);
  first_[member] = next;
}

void FenceBoard::begin_anew(std::uint32_t member) {
  stand_ins_.erase(member);
  first_.clear();
}

/// A member that was at the board by itself goes on after the last generation at which it arrived.
store::Generation FenceBoard::first_generation(std::uint32_t member) {
  const auto known = first_.extract(member);
  if (known.empty()) return board().open_generation();
  const auto after = board().cell(member).arrived.load(std::memory_order_acquire) + 1;  // BD.A2 <- A1
  return static_cast<std::int32_t>(after - known.mapped()) > 0 ? after : known.mapped();
}

FenceBoard::Request* FenceBoard::enter(std::uint32_t member, const ConnectionRef& connection,
                                       std::uint64_t tag, store::Wants wants) {
  auto& stand_in = stand_ins_[member];
  if (!stand_in) {
    stand_in = std::make_unique<StandIn>(board(), member, incarnation(), first_generation(member));
  }
  const auto entry = stand_in->at.enter(wants);
  if (!entry) return nullptr;
  return &stand_in->requests.emplace_back(Request{connection, tag, *entry, nullptr});
}

bool FenceBoard::step(std::vector<Reply>& ended) {
  bool server_must_look = false;
  for (bool has_moved = true; has_moved;) {
    has_moved = false;
    for (auto& [member, stand_in] : stand_ins_)
      while (!stand_in->requests.empty() && step_front(*stand_in, ended, server_must_look)) has_moved = true;
  }
  return server_must_look;
}

/// Only the first request of a member can end: a later one cannot even arrive before. False: it is still
/// open.
bool FenceBoard::step_front(StandIn& stand_in, std::vector<Reply>& ended, bool& server_must_look) {
  auto& request = stand_in.requests.front();
  auto& at = stand_in.at;
  using Owed = store::BoardMember::Owed;
  const auto is_owed = [](Owed owed) { return owed == Owed::notices || owed == Owed::exchange; };
  auto step = at.step(request.entry);
  const bool is_turned_away = step.owed == Owed::absence;
  server_must_look |= is_owed(step.owed);
  if (!step.status) {
    at.ask_notice();
    step = at.step(request.entry);  // it may have ended before the notice was asked for
    server_must_look |= is_owed(step.owed);
  }
  if (!step.status) return false;
  at.end(request.entry);
  // Where the generation is still open, the member is lost or the board broken: it begins where the others
  // do.
  const auto generation = request.entry.generation;
  const bool is_over = board().outcome(generation) != store::Board::Outcome::open;
  ended.push_back({std::move(request.connection), request.tag, *step.status, at.me(), generation,
                   is_turned_away, stand_in.requests.size() == 1,
                   is_over ? generation + 1 : board().open_generation()});
  stand_in.requests.pop_front();
  return true;
}

bool FenceBoard::has_requests() const noexcept {
  return std::any_of(stand_ins_.begin(), stand_ins_.end(),
                     [](const auto& stand_in) { return !stand_in.second->requests.empty(); });
}

bool FenceBoard::is_stood_in_for(std::uint32_t member) const {
  const auto stand_in = stand_ins_.find(member);
  return stand_in != stand_ins_.end() && !stand_in->second->requests.empty();
}

FenceBoard::Request* FenceBoard::find(std::uint32_t member, store::Generation generation) {
  const auto stand_in = stand_ins_.find(member);
  if (stand_in == stand_ins_.end()) return nullptr;
  for (auto& request : stand_in->second->requests)
    if (request.entry.generation == generation) return &request;
  return nullptr;
}

void FenceBoard::drop(const ClientConnection& connection) {
  for (auto stand_in = stand_ins_.begin(); stand_in != stand_ins_.end();) {
    auto& requests = stand_in->second->requests;
    const bool is_its = !requests.empty() && requests.front().connection.get() == &connection;
    if (is_its)
      for (const auto& request : requests) stand_in->second->at.end(request.entry);
    stand_in = is_its ? stand_ins_.erase(stand_in) : std::next(stand_in);
  }
}

}  // namespace weft::server
