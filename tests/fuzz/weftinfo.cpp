// SPDX-License-Identifier: BSD-3-Clause
// What weftinfo reads and prints: any value that a server of another user may have made.
#include "core/data/types/fields.hpp"
#include "core/server/reports/report.hpp"
#include "tests/fuzz/decoders.hpp"
#include "tools/weftinfo/report.hpp"
#include "tools/weftinfo/text.hpp"

namespace weft::fuzz {
namespace {

bool is_printable(std::string_view text) {
  for (const char c : text)
    if ((c >= 0 && c < ' ' && c != '\n') || c == 0x7f) return false;
  return true;
}

bool is_report(Bytes bytes) {
  const auto value = base::decode<data::Value>(bytes);
  if (!value) return false;
  const auto cluster = weftinfo::read_cluster(value->get());
  if (!cluster) return false;
  require(is_printable(weftinfo::text_of(*cluster)) && is_printable(weftinfo::counters_of(*cluster)) &&
          is_printable(weftinfo::json_of(*cluster)));
  return true;
}

Encoded a_report() {
  server::ClusterReport report;
  report.nspace = "session";
  report.size = 3;
  server::NodeEntry here;
  here.host = "host\x1b[2J";
  here.state = server::NodeEntry::State::here;
  here.report.jobs = {{"job", 4, 2, {1, 2, 0, 1}, 9}};
  report.nodes = {here, {1, "other", server::NodeEntry::State::silent, {}}};
  report.jobs = here.report.jobs;
  server::FenceReport fence;
  fence.name = {{{"job", 0, 3}}, 5};
  fence.nodes = 2;
  fence.ranks = 4;
  fence.arrived = 3;
  fence.missing = {{1, {{"job", 2, 77, 1}}}};
  fence.silent = {1};
  report.fences = {fence};
  return base::encode(*server::to_value(report));
}

}  // namespace

void add_weftinfo(Decoders& to) {
  to.push_back({"report", {a_report()}, &is_report});
}

}  // namespace weft::fuzz
