// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/launcher/records/job_trace.hpp"

#include <fmt/format.h>
#include <pmix.h>

#include <algorithm>
#include <set>
#include <utility>

#include "tools/messages/json.hpp"
#include "tools/weftrun/launcher/records/lanes.hpp"

namespace weft::weftrun {
namespace {

using base::ServerTrace;
using base::TraceEvent;
using base::TraceTrack;
using job::Rank;
using messages::Json;

/// Times of one clock, in nanoseconds; no event ends before it begins.
struct Event {
  std::uint64_t begun = 0, ended = 0;
  const TraceEvent* of = nullptr;
  bool has_ended = true;
};
struct Track {
  std::string name;
  std::vector<Event> events;
};
struct NodeOfTrace {
  std::uint32_t number = 0;
  JobTrace::Offset offset;
  const ServerTrace* server = nullptr;
  std::uint64_t left_out = 0;
  std::vector<Track> tracks;
};

bool makes_sense(const job::NodeTrace& told) {
  return told.server.read_at != 0 && told.server.read_at <= INT64_MAX && told.ordered <= told.server.read_at;
}

/// "rank 3", "rank 3, thread 2", "rank 3, non-blocking"; a server's work is on no thread of a caller.
std::string name_of(const TraceTrack& track, std::uint16_t thread, std::size_t lane) {
  std::string out = track.rank == TraceTrack::of_server ? "server" : fmt::format("rank {}", track.rank);
  if (track.rank != TraceTrack::of_server && thread == 0) out += ", non-blocking";
  if (thread > 1) out += fmt::format(", thread {}", thread);
  if (lane > 0) out += fmt::format(" ({})", lane + 1);
  return out;
}

/// Adds the tracks in which the events of one thread lie.
void add_thread(const TraceTrack& track, std::uint16_t thread, std::vector<Event> events,
                std::vector<Track>& out) {
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.begun != b.begun ? a.begun < b.begun : a.ended > b.ended;
  });
  std::vector<Slice> slices;
  for (const auto& event : events) slices.push_back({event.begun, event.ended});
  const auto lanes = lanes_of(slices);
  std::vector<Track> made(
      std::max<std::size_t>(1, lanes.empty() ? 0 : *std::max_element(lanes.begin(), lanes.end()) + 1));
  for (std::size_t lane = 0; lane < made.size(); ++lane) made[lane].name = name_of(track, thread, lane);
  for (std::size_t i = 0; i < events.size(); ++i) made[lanes[i]].events.push_back(events[i]);
  std::move(made.begin(), made.end(), std::back_inserter(out));
}

void add_tracks(const TraceTrack& track, const job::NodeTrace& told, NodeOfTrace& node) {
  std::map<std::uint16_t, std::vector<Event>> threads;
  // Each has a track, also without an event.
  const bool is_server = track.rank == TraceTrack::of_server;
  (void)threads[is_server ? 0 : 1];
  node.left_out += track.left_out;
  for (const auto& event : track.events) {
    const bool has_ended = event.ended != 0;
    const auto end = has_ended ? event.ended : told.server.read_at;
    if (event.begun < told.ordered || end < event.begun || end > told.server.read_at) {
      ++node.left_out;
      continue;
    }
    threads[event.thread].push_back(
        {event.begun - node.offset.ahead, end - node.offset.ahead, &event, has_ended});
  }
  // The thread of PMIx_Init first.
  if (!is_server) add_thread(track, 1, std::move(threads[1]), node.tracks), threads.erase(1);
  for (auto& [thread, events] : threads) add_thread(track, thread, std::move(events), node.tracks);
}

/// The server's tracks, then those of ranks, ascending.
void add_all(const job::NodeTrace& told, const placement::RankTable& table, NodeOfTrace& node) {
  std::map<std::uint32_t, const TraceTrack*> ranks;
  const TraceTrack* server = nullptr;
  for (const auto& track : told.server.tracks) {
    if (track.rank == TraceTrack::of_server)
      server = &track;
    else if (track.rank < table.size() && table.node_of(Rank{track.rank}) == node.number)
      ranks.emplace(track.rank, &track);
  }
  if (server != nullptr) add_tracks(*server, told, node);
  for (const auto& [rank, track] : ranks) add_tracks(*track, told, node);
}

/// Of the document: one line, with a comma before it where it is not the first.
void add_line(std::string& out, Json line, bool is_first) {
  auto text = std::move(line).take();
  text.pop_back();  // the end of the line
  out += is_first ? "\n" : ",\n";
  out += text;
}

Json name_line(std::string_view what, std::size_t process, std::optional<std::size_t> thread,
               std::string_view name) {
  Json out;
  out.object().field("ph", "M").field("name", what).field("pid", process);
  if (thread) out.field("tid", *thread);
  out.key("args").object().field("name", name).end().end();
  return out;
}

Json order_line(std::string_view what, std::size_t process, std::optional<std::size_t> thread) {
  Json out;
  out.object().field("ph", "M").field("name", what).field("pid", process);
  if (thread) out.field("tid", *thread);
  out.key("args").object().field("sort_index", thread.value_or(process)).end().end();
  return out;
}

Json event_line(const Event& event, const ServerTrace& server, std::uint64_t zero, std::size_t process,
                std::size_t thread) {
  const auto& kind = server.kinds[event.of->kind];
  Json out;
  out.object().field("ph", "X").field("cat", "pmix").field("name", kind.name);
  out.field("pid", process).field("tid", thread);
  out.key("ts").thousandths(event.begun - zero).key("dur").thousandths(event.ended - event.begun);
  out.key("args").object();
  if (!kind.subject.empty() && event.of->subject != TraceEvent::no_subject)
    out.field(kind.subject, event.of->subject);
  if (!event.has_ended)
    out.field("unfinished", true);
  else if (event.of->status != PMIX_SUCCESS)
    out.field("status", PMIx_Error_string(event.of->status));
  out.end().end();
  return out;
}

}  // namespace

JobTrace::Offset JobTrace::offset_between(std::uint64_t sent, std::uint64_t received, std::uint64_t answered,
                                          std::uint64_t back) {
  const auto most = received - sent;  // the order has taken no time
  if (sent == 0) return {0, std::nullopt};
  if (answered == 0 || back == 0) return {most, std::nullopt};
  const auto least = answered - back;  // nor has the report
  const auto apart = static_cast<std::int64_t>(most - least);
  const std::uint64_t half = apart > 0 ? static_cast<std::uint64_t>(apart) / 2 : 0;
  return {least + half, half};
}

JobTrace::Offset JobTrace::offset_of(std::uint32_t node, const Job& job) const {
  if (node == job.own || job.one_machine) return {0, 0};
  const auto& told = told_.at(node);
  const auto back = started_.find(node);
  return offset_between(ordered_, told.ordered, told.started, back == started_.end() ? 0 : back->second);
}

std::string JobTrace::document(const Job& job) const {
  std::vector<NodeOfTrace> nodes;
  std::vector<std::uint32_t> silent;
  for (std::uint32_t number = 0; number < job.table.nodes(); ++number) {
    if (job.table.ranks_on(number).empty()) continue;
    const auto told = told_.find(number);
    if (told == told_.end() || !makes_sense(told->second)) {
      silent.push_back(number);
      continue;
    }
    auto& node = nodes.emplace_back(NodeOfTrace{number, offset_of(number, job), &told->second.server, 0, {}});
    add_all(told->second, job.table, node);
  }
  std::optional<std::uint64_t> first;
  std::uint64_t left_out = 0;
  for (const auto& node : nodes) {
    left_out += node.left_out;
    for (const auto& track : node.tracks)
      for (const auto& event : track.events)
        if (!first || static_cast<std::int64_t>(event.begun - *first) < 0) first = event.begun;
  }
  // Numbers of tracks are none of nodes, and no process has the number 0, which is the kernel's.
  std::string out = "{\"traceEvents\": [";
  bool is_first = true;
  std::size_t thread = job.table.nodes();
  for (const auto& node : nodes) {
    const std::size_t process = node.number + 1;
    add_line(out,
             name_line("process_name", process, {},
                       fmt::format("node {}: {}", node.number, job.hosts[node.number])),
             std::exchange(is_first, false));
    add_line(out, order_line("process_sort_index", process, {}), false);
    for (const auto& track : node.tracks) {
      ++thread;
      add_line(out, name_line("thread_name", process, thread, track.name), false);
      add_line(out, order_line("thread_sort_index", process, thread), false);
      for (const auto& event : track.events)
        add_line(out, event_line(event, *node.server, first.value_or(0), process, thread), false);
    }
  }
  out += "\n],\n\"displayTimeUnit\": \"ns\",\n\"otherData\": ";
  Json about;
  about.object().field("job", job.nspace).field("ranks", job.table.size());
  about.field("left_out", left_out).key("nodes").array();
  for (const auto& node : nodes) {
    about.object().field("node", node.number).field("host", job.hosts[node.number]);
    if (node.offset.error) about.key("clock_error_us").thousandths(*node.offset.error);
    about.field("left_out", node.left_out).end();
  }
  about.end().key("nodes_without_trace").array();
  for (const auto number : silent) about.value(job.hosts[number]);
  about.end().end();
  return out + std::move(about).take() + "}\n";
}

}  // namespace weft::weftrun
