// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/reports/trace/server_trace.hpp"

#include <algorithm>

#include "base/wire.hpp"

namespace weft::server {
namespace {

using store::TraceLog;

std::vector<base::TraceKind> all_kinds() {
  std::vector<base::TraceKind> out;
  for (const auto& row : store::trace_names) out.push_back({std::string(row.name), std::string(row.subject)});
  return out;
}

/// The numbers of a process's threads.
class Threads {
 public:
  std::uint16_t number_of(std::uint64_t word) {
    if (word == 0) return 0;
    const auto known = std::find(words_.begin(), words_.end(), word);
    if (known != words_.end()) return number(known);
    // A rank can write any words: behind the last number all are one.
    if (words_.size() < most) words_.push_back(word);
    return number(words_.end() - 1);
  }

 private:
  static constexpr std::size_t most = 1024;
  std::uint16_t number(std::vector<std::uint64_t>::iterator at) {
    return static_cast<std::uint16_t>(at - words_.begin() + 1);
  }
  std::vector<std::uint64_t> words_;
};

base::TraceTrack track_of(std::uint32_t rank, const TraceLog& log, std::uint64_t now) {
  base::TraceTrack out{rank, log.left_out()};
  Threads threads;
  for (const auto& event : log.events()) {
    const bool can_be = event.begun <= now && event.ended <= now &&
                        (event.ended == 0 || event.ended >= event.begun) &&
                        event.call < store::trace_names.size();
    if (!can_be) {
      ++out.left_out;
      continue;
    }
    out.events.push_back({.begun = event.begun,
                          .ended = event.ended,
                          .subject = event.subject,
                          .status = event.status,
                          .kind = event.call,
                          .thread = threads.number_of(event.thread)});
  }
  return out;
}

}  // namespace

base::ServerTrace trace_of(const Job& job) {
  base::ServerTrace out;
  if (!job.trace) return out;
  out.read_at = store::FirstCall::now();
  out.kinds = all_kinds();
  out.tracks.push_back(track_of(base::TraceTrack::of_server, job.trace->log(), out.read_at));
  for (std::uint32_t local = 0; local < job.view().local_count(); ++local)
    if (const auto log = job.writer->trace_log(local))
      out.tracks.push_back(track_of(job.rank_of(local), log, out.read_at));
  return out;
}

data::Value to_value(const base::ServerTrace& trace) {
  return data::Value::of_bytes(base::encode(trace));
}

}  // namespace weft::server
