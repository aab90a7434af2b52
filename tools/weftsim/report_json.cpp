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
        std::max_element(operation.path.begin(), operation.path.end(), [](const auto& a, const auto& b) {
          return a.ended - a.begun < b.ended - b.begun;
        });
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
  for (const auto& part : operation.parts) out.object().field("what", part.what).field("time_ns", part.time).end();
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

void add(Json& out, const char* name, const Figure& figure) {
  out.key(name).object().field("value", fmt::format("{:g}", figure.value)).field("source", figure.source).end();
}

}  // namespace

std::string json_of(const Job& job, const std::vector<Operation>& operations) {
  Json out;
  out.object().key("job").object();
  out.field("nodes", job.nodes).field("ppn", job.ranks_a_node).field("card_bytes", job.card_bytes);
  out.field("touched", job.touched).field("network", job.network->name).field("skew_ns", job.skew);
  out.field("seed", job.seed).field("wires_only", job.wires_only);
  out.field("memory_of_a_node", memory_of_job(job));
  if (job.lost) out.field("lost_node", job.lost->node).field("lost_at_ns", job.lost->at);
  out.end().key("operations").array();
  for (const auto& operation : operations) add(out, operation);
  out.end().end();
  return std::move(out).take();
}

std::string json_of_networks() {
  Json out;
  out.object().key("networks").array();
  for (const auto& network : networks()) {
    out.object().field("name", network.name).field("title", network.title);
    add(out, "latency_ns", network.latency);
    add(out, "overhead_ns", network.overhead);
    add(out, "gap_ns", network.gap);
    add(out, "gap_per_byte_ns", network.gap_per_byte);
    add(out, "read_ns", network.read);
    add(out, "server_message_ns", network.server_message);
    add(out, "server_byte_ns", network.server_byte);
    add(out, "cores", network.cores);
    out.end();
  }
  out.end().key("node").object();
  const auto& node = node_figures();
  add(out, "arrival_ns", node.arrival);
  add(out, "hand_off_ns", node.hand_off);
  add(out, "card_ns", node.card);
  add(out, "map_ns", node.map);
  add(out, "init_ns", node.init);
  add(out, "map_bytes", node.map_bytes);
  add(out, "card_bytes", node.card_bytes);
  add(out, "server_bytes", node.server_bytes);
  out.end().end();
  return std::move(out).take();
}

}  // namespace weft::weftsim
