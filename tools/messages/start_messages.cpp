// SPDX-License-Identifier: BSD-3-Clause
#include "tools/messages/start_messages.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/messages/json.hpp"

namespace weft::messages {
namespace {

constexpr std::size_t most_slow = 3;

std::string milliseconds(std::uint64_t microseconds) {
  return fmt::format("{}.{:03}", microseconds / 1000, microseconds % 1000);
}

const char* plural(std::size_t count) noexcept {
  return count == 1 ? "" : "s";
}

/// "median of 4 nodes; slowest b 3.201, a 3.100"; of one node there is nothing to compare.
std::string spread_of(const StartPhase& phase) {
  if (phase.of == 1) return {};
  const auto count = phase.nodes.size();
  auto out = count == phase.of ? fmt::format("median of {} nodes", count)
                               : fmt::format("median of {} of {} nodes", count, phase.of);
  const char* between = "; slowest ";
  for (const auto& node : slowest(phase, most_slow)) {
    out += fmt::format("{}{} {}", between, node.host, milliseconds(node.microseconds));
    between = ", ";
  }
  return out;
}

std::string line_of(const StartPhase& phase) {
  const bool is_there = phase.own || !phase.nodes.empty();
  std::string time = "-", note = "not reached";
  if (is_there) {
    time = milliseconds(phase.own ? *phase.own : median(phase));
    note = phase.own ? std::string() : spread_of(phase);
  }
  if (phase.bytes)
    note += fmt::format("{}{} byte{} sent", note.empty() ? "" : "; ", *phase.bytes, plural(*phase.bytes));
  return fmt::format("  {:<11} {:>12}{}{}", phase.name, time, note.empty() ? "" : "  ", note);
}

void write(Json& out, const StartPhase& phase) {
  out.object().field("phase", phase.name);
  // Whole microseconds: a program needs no digits of a fraction.
  if (phase.own) out.field("microseconds", *phase.own);
  if (!phase.nodes.empty()) {
    out.field("nodes", phase.nodes.size()).field("of", phase.of).field("median_microseconds", median(phase));
    out.key("slowest").array();
    for (const auto& node : slowest(phase, most_slow))
      out.object().field("host", node.host).field("microseconds", node.microseconds).end();
    out.end();
  }
  if (phase.bytes) out.field("bytes", *phase.bytes);
  out.end();
}

}  // namespace

std::uint64_t median(const StartPhase& phase) {
  std::vector<std::uint64_t> times;
  for (const auto& node : phase.nodes) times.push_back(node.microseconds);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

std::vector<StartPhase::OnNode> slowest(const StartPhase& phase, std::size_t most) {
  auto out = phase.nodes;
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.microseconds > b.microseconds; });
  out.resize(std::min(out.size(), most));
  return out;
}

std::vector<std::string> start_lines(const StartAccount& account) {
  std::vector<std::string> out;
  out.push_back(fmt::format("start of job {}, {} rank{} on {} node{}, in milliseconds:", account.nspace,
                            account.ranks, plural(account.ranks), account.nodes, plural(account.nodes)));
  for (const auto& phase : account.phases) out.push_back(line_of(phase));
  out.push_back(account.running_after
                    ? fmt::format("  all ranks ran after {}", milliseconds(*account.running_after))
                    : "  not all ranks ran");
  if (account.silent.empty()) return out;
  auto hosts = account.silent;
  hosts.resize(std::min(hosts.size(), most_slow));
  const auto rest = account.silent.size() - hosts.size();
  out.push_back(fmt::format("  nothing was told by {}{}", fmt::join(hosts, ", "),
                            rest == 0 ? "" : fmt::format(" and {} more", rest)));
  return out;
}

std::string start_json(const StartAccount& account) {
  Json out;
  out.object().field("report", "launch").field("job", account.nspace);
  out.field("ranks", account.ranks).field("nodes", account.nodes).key("phases").array();
  for (const auto& phase : account.phases) write(out, phase);
  out.end();
  if (account.running_after) out.field("running_after_microseconds", *account.running_after);
  out.key("silent").array();
  for (const auto& host : account.silent) out.value(host);
  out.end().end();
  auto line = std::move(out).take();
  line.pop_back();
  return line;
}

}  // namespace weft::messages
