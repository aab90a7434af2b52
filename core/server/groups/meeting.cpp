// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/meeting.hpp"

#include <algorithm>

#include "core/server/fences/local_part.hpp"

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
  return local_part(jobs, meeting.set, {runs_of(meeting.set), generation, operation_of(meeting)},
                    [&](const Job& job, std::uint32_t local) { return has_arrived(meeting, job, local); });
}

}  // namespace weft::server
