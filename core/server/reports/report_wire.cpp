// SPDX-License-Identifier: BSD-3-Clause
// Reports on their way from server to server. Every message lists its fields once, for both directions, as in
// core/link/messages.cpp; counts are bounded by what is left of the message.
#include <type_traits>

#include "core/data/wire.hpp"
#include "core/server/reports/report.hpp"

namespace weft::server {
namespace {

/// Raised when anything in here or counter_names changes shape.
constexpr std::uint16_t report_version = 3;

struct Out {
  data::Writer w;
  void field(const std::string& v) { w.text(v); }
  template <class T>
  void field(const T& v) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      w.scalar(v);
    else
      walk(*this, v);
  }
  template <class T>
  void field(const std::vector<T>& list) {
    w.u32(static_cast<std::uint32_t>(list.size()));
    for (const auto& item : list) field(item);
  }
};

struct In {
  data::Reader r;
  void field(std::string& v) { v = r.text(); }
  template <class T>
  void field(T& v) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      v = r.scalar<T>();
    else
      walk(*this, v);
  }
  template <class T>
  void field(std::vector<T>& list) {
    list.clear();
    const auto count = r.u32();
    if (count > r.left()) return r.spoil();
    for (std::uint32_t i = 0; i < count && r.ok(); ++i) field(list.emplace_back());
  }
};

template <class Visitor, class M>
void walk(Visitor& v, M& m) {
  using T = std::remove_const_t<M>;
  if constexpr (std::is_same_v<T, RankRun>) {
    v.field(m.nspace), v.field(m.first), v.field(m.last);
  } else if constexpr (std::is_same_v<T, FenceName>) {
    v.field(m.procs), v.field(m.generation);
  } else if constexpr (std::is_same_v<T, AbsentRank>) {
    v.field(m.nspace), v.field(m.rank), v.field(m.pid), v.field(m.state);
  } else if constexpr (std::is_same_v<T, FencePart>) {
    v.field(m.name), v.field(m.state), v.field(m.ranks), v.field(m.arrived), v.field(m.age_ms),
        v.field(m.collects), v.field(m.algorithm), v.field(m.waits_for), v.field(m.missing);
  } else if constexpr (std::is_same_v<T, JobReport>) {
    v.field(m.nspace), v.field(m.ranks), v.field(m.nodes), v.field(m.fences);
    for (auto& count : m.states) v.field(count);
  } else if constexpr (std::is_same_v<T, ReportRequest>) {
    v.field(m.everything), v.field(m.fences);
  } else {
    static_assert(std::is_same_v<T, NodeReport>);
    v.field(m.host), v.field(m.pid), v.field(m.transport), v.field(m.age_ms), v.field(m.jobs),
        v.field(m.fences), v.field(m.counters);
  }
}

template <class Message>
std::vector<std::byte> encoded(const Message& message) {
  Out out;
  out.field(report_version);
  out.field(message);
  return std::move(out.w).take();
}

template <class Message>
Result<Message> decoded(Bytes bytes) {
  In in{data::Reader(bytes)};
  std::uint16_t version = 0;
  in.field(version);
  if (version != report_version) return fail(Errc::corrupt, "of another release");
  Message message;
  in.field(message);
  if (!in.r.done()) return fail(Errc::corrupt, "malformed report");
  return message;
}

}  // namespace

std::vector<std::byte> encode(const NodeReport& report) {
  return encoded(report);
}
std::vector<std::byte> encode(const ReportRequest& request) {
  return encoded(request);
}

std::vector<std::byte> encode(const FenceName& name) {
  return encoded(name);
}
std::vector<std::byte> encode(const FencePart& part) {
  return encoded(part);
}

Result<FenceName> decode_name(Bytes bytes) {
  return decoded<FenceName>(bytes);
}

Result<FencePart> decode_part(Bytes bytes) {
  auto part = decoded<FencePart>(bytes);
  if (part && part->state > FencePart::State::entered)
    return fail(Errc::corrupt, "malformed part of a fence");
  return part;
}

Result<NodeReport> decode_report(Bytes bytes) {
  auto report = decoded<NodeReport>(bytes);
  if (!report) return report;
  const bool is_good = std::all_of(report->fences.begin(), report->fences.end(), [](const FencePart& part) {
    return part.state <= FencePart::State::entered;
  });
  if (report->counters.size() != counter_names.size() || !is_good)
    return fail(Errc::corrupt, "malformed report");
  return report;
}

Result<ReportRequest> decode_request(Bytes bytes) {
  return decoded<ReportRequest>(bytes);
}

}  // namespace weft::server
