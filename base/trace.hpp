// SPDX-License-Identifier: BSD-3-Clause
// What the server of one node knows of a job's calls, for a launcher that traces the job
// (docs/scale/trace.md): as the server tells it to its host, and as daemons send it to the launcher.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::base {

/// A kind of event, with the name of its number; empty: it has none.
struct TraceKind {
  std::string name, subject;
};
template <class Archive>
void fields(Archive& archive, TraceKind& kind) {
  archive(kind.name, kind.subject);
}

/// Times are nanoseconds of the node's CLOCK_MONOTONIC.
struct TraceEvent {
  std::uint64_t begun = 0, ended = 0;  ///< ended: 0: the call has not ended
  std::uint32_t subject = no_subject;
  std::int32_t status = 0;   ///< of a call that has ended: what it returned
  std::uint16_t kind = 0;    ///< index of ServerTrace::kinds
  std::uint16_t thread = 0;  ///< from 1 in the order of their first events; 0: the call has left its thread

  static constexpr std::uint32_t no_subject = 0xffffffff;
};
template <class Archive>
void fields(Archive& archive, TraceEvent& event) {
  archive(event.begun, event.ended, event.subject, event.status, event.kind, event.thread);
}

/// Of one rank, or of the server.
struct TraceTrack {
  std::uint32_t rank = of_server;
  std::uint64_t left_out = 0;  ///< events for which there was no room, or that cannot be
  std::vector<TraceEvent> events{};

  static constexpr std::uint32_t of_server = 0xffffffff;
};
template <class Archive>
void fields(Archive& archive, TraceTrack& track) {
  archive(track.rank, track.left_out, track.events);
}

struct ServerTrace {
  static constexpr std::uint16_t wire_version = 1;
  std::uint64_t read_at = 0;  ///< by the same clock: when all this was read; 0: nothing was
  std::vector<TraceKind> kinds{};
  std::vector<TraceTrack> tracks{};
};
template <class Archive>
void fields(Archive& archive, ServerTrace& trace) {
  archive(trace.read_at, trace.kinds, trace.tracks);
}
inline bool is_valid(const ServerTrace& trace) {
  return std::all_of(trace.tracks.begin(), trace.tracks.end(), [&](const TraceTrack& track) {
    return std::all_of(track.events.begin(), track.events.end(),
                       [&](const TraceEvent& event) { return event.kind < trace.kinds.size(); });
  });
}

}  // namespace weft::base
