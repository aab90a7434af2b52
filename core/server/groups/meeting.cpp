// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/meeting.hpp"

#include <algorithm>

#include "core/server/jobs/members.hpp"

namespace weft::server {
namespace {

constexpr std::string_view construct_of = "construct of group ";

}  // namespace

std::string constructed_by(const std::string& operation) {
  return operation.starts_with(construct_of) ? operation.substr(construct_of.size()) : std::string();
}

std::string operation_of(const Meeting& meeting) {
  switch (meeting.kind) {
    case Meeting::Kind::connect:
      return "connect";
    case Meeting::Kind::disconnect:
      return "disconnect";
    case Meeting::Kind::construct:
      return std::string(construct_of) + meeting.group;
    case Meeting::Kind::destruct:
      return "destruct of group " + meeting.group;
  }
  return {};
}

bool has_arrived(const Meeting& meeting, const Job& job, std::uint32_t local) noexcept {
  return std::any_of(meeting.arrived.begin(), meeting.arrived.end(), [&](const Arrival& arrival) {
    const auto& connection = *arrival.from.connection;
    return connection.job == &job && connection.local == local;
  });
}

FencePart part_of(const Jobs& jobs, const Meeting& meeting, std::uint64_t generation) {
  FencePart part;
  part.name = {runs_of(meeting.set), generation, operation_of(meeting)};
  each_local(jobs, meeting.set, [&](const Job& job, std::uint32_t index) {
    ++part.ranks;
    if (has_arrived(meeting, job, index)) {
      ++part.arrived;
      return;
    }
    const auto& local = job.view().local(index);
    part.missing.push_back({job.nspace, job.rank_of(index), local.pid.load(std::memory_order_relaxed),
                            static_cast<std::uint8_t>(local.state.load(std::memory_order_acquire))});
  });
  std::sort(part.missing.begin(), part.missing.end(), [](const AbsentRank& a, const AbsentRank& b) {
    return std::tie(a.nspace, a.rank) < std::tie(b.nspace, b.rank);
  });
  part.state = part.missing.empty() ? FencePart::State::entered
               : part.arrived == 0  ? FencePart::State::absent
                                    : FencePart::State::waiting;
  return part;
}

}  // namespace weft::server
