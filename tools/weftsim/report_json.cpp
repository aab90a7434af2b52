// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>

#include "tools/messages/json.hpp"
#include "tools/weftsim/prediction.hpp"
#include "tools/weftsim/report.hpp"

namespace weft::weftsim {
namespace {

using weft::messages::Json;

void add_hop(Json& out, const simulation::Hop& hop) {
  out.object()
      .field("from", hop.from)
      .field("to", hop.to)
      .field("begun_ns", hop.begun)
      .field("ended_ns", hop.ended)
      .field("bytes", hop.bytes)
      .end();
}

void add_path(Json& out, const Operation& operation) {
  constexpr std::size_t most_hops = 64;  // that are listed
  out.key("path").object().field("hops", std::uint64_t{operation.path.size()});
  out.field("begun_ns", operation.path_begun);
  if (!operation.path.empty()) {
    const auto slowest =
        std::max_element(operation.path.begin(), operation.path.end(),
                         [](const auto& a, const auto& b) { return a.ended - a.begun < b.ended - b.begun; });
    out.key("slowest");
    add_hop(out, *slowest);
  }
  out.key("last_hops").array();
  const auto first = operation.path.size() - std::min(operation.path.size(), most_hops);
  for (auto at = first; at < operation.path.size(); ++at) add_hop(out, operation.path[at]);
  out.end().end();
}

void add(Json& out, const Operation& operation) {
  out.object().field("name", operation.name).field("algorithm", operation.algorithm);
  out.field("time_ns", operation.time);
  out.key("parts").array();
  for (const auto& part : operation.parts)
    out.object().field("what", part.what).field("time_ns", part.time).end();
  out.end();
  out.field("messages", operation.messages).field("bytes", operation.bytes);
  out.field("most_messages_of_a_node", operation.most_messages);
  out.field("most_bytes_of_a_node", operation.most_bytes);
  out.field("memory_of_a_node", operation.memory);
  if (operation.line_rate) out.field("line_rate_ns", *operation.line_rate);
  out.field("waiting_nodes", operation.waiting);
  if (!operation.note.empty()) out.field("note", operation.note);
  add_path(out, operation);
  out.end();
}

void add(Json& out, const std::vector<NamedFigure>& figures) {
  for (const auto& each : figures)
    out.key(each.name)
        .object()
        .field("value", fmt::format("{:g}", each.figure->value))
        .field("unit", each.unit)
        .field("source", each.figure->source)
        .end();
}

}  // namespace

std::string json_of(const Job& job, const std::vector<Operation>& operations) {
  Json out;
  out.object().key("job").object();
  out.field("nodes", job.nodes).field("ppn", job.ranks_a_node).field("card_bytes", job.card_bytes);
  out.field("touched", job.touched).field("network", job.network.name).field("skew_ns", job.skew);
  out.field("seed", job.seed).field("wires_only", job.wires_only);
  out.field("memory_of_a_node", memory_of_job(job));
  if (job.lost) out.field("lost_node", job.lost->node).field("lost_at_ns", job.lost->at);
  auto network = job.network;
  auto node = job.node;
  out.key("figures").object();
  add(out, figures_of(network));
  add(out, figures_of(node));
  out.end().end().key("operations").array();
  for (const auto& operation : operations) add(out, operation);
  out.end().end();
  return std::move(out).take();
}

std::string json_of_networks() {
  Json out;
  out.object().key("networks").array();
  for (auto network : networks()) {
    out.object().field("name", network.name).field("title", network.title);
    add(out, figures_of(network));
    out.end();
  }
  auto node = node_figures();
  out.end().key("node").object();
  add(out, figures_of(node));
  out.end().end();
  return std::move(out).take();
}

}  // namespace weft::weftsim
