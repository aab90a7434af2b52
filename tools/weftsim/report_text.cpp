// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "tools/weftsim/format.hpp"
#include "tools/weftsim/prediction.hpp"
#include "tools/weftsim/report.hpp"

namespace weft::weftsim {
namespace {

std::string lines_of(const std::vector<NamedFigure>& figures) {
  std::string out;
  for (const auto& each : figures)
    out += fmt::format("  {:<15} {:<30} {:>8g} {:<5} {}\n", each.name, each.what, each.figure->value,
                       each.unit, each.figure->source);
  return out;
}

std::string path_of(const Operation& operation) {
  if (operation.path.empty()) return "";
  const simulation::Hop* slowest = &operation.path.front();
  for (const auto& hop : operation.path)
    if (hop.ended - hop.begun > slowest->ended - slowest->begun) slowest = &hop;
  const auto& first = operation.path.front();
  return fmt::format(
      "    path: {} messages, from node {} after {} to node {}; slowest: {} -> {}, {} for {}\n",
      operation.path.size(), first.from, time_text(operation.path_begun), operation.path.back().to,
      slowest->from, slowest->to, time_text(slowest->ended - slowest->begun), size_text(slowest->bytes));
}

std::string text_of(const Job& job, const Operation& operation) {
  const double nodes = job.nodes;
  auto out = fmt::format("{:<12} {:>10} {:>12.1f} {:>12} {:>12}  {}\n", operation.name,
                         time_text(operation.time), static_cast<double>(operation.messages) / nodes,
                         size_text(static_cast<std::uint64_t>(static_cast<double>(operation.bytes) / nodes)),
                         size_text(operation.memory), operation.algorithm);
  for (const auto& part : operation.parts)
    out += fmt::format("    {}: {}\n", part.what, time_text(part.time));
  out += path_of(operation);
  if (operation.messages > 0)
    out += fmt::format("    one node sends at most {} messages, {}\n", operation.most_messages,
                       size_text(operation.most_bytes));
  if (operation.line_rate && *operation.line_rate > 0)
    out += fmt::format("    the bytes take {} at line rate: {:.1f} times that\n",
                       time_text(*operation.line_rate),
                       static_cast<double>(operation.time) / static_cast<double>(*operation.line_rate));
  if (operation.waiting > 0) out += fmt::format("    {} nodes wait for the lost one\n", operation.waiting);
  if (!operation.note.empty()) out += fmt::format("    {}\n", operation.note);
  return out;
}

}  // namespace

std::string text_of(const Job& job, const std::vector<Operation>& operations) {
  auto out = fmt::format("{} nodes x {} processes, cards of {} bytes, {}{}\n", job.nodes, job.ranks_a_node,
                         job.card_bytes, job.network.title, job.wires_only ? ", wires only" : "");
  out += fmt::format("memory of the job on a node: {} (server and map of {} ranks)\n\n",
                     size_text(memory_of_job(job)), job.ranks());
  out += fmt::format("{:<12} {:>10} {:>12} {:>12} {:>12}  {}\n", "operation", "time", "messages", "bytes",
                     "memory", "algorithm");
  out += fmt::format("{:<12} {:>10} {:>12} {:>12} {:>12}\n", "", "", "a node", "a node", "a node");
  for (const auto& operation : operations) out += text_of(job, operation);
  return out;
}

std::string text_of_networks() {
  std::string out;
  for (auto network : networks())
    out += fmt::format("{}: {}\n{}", network.name, network.title, lines_of(figures_of(network)));
  auto node = node_figures();
  return out + "each node, on every network:\n" + lines_of(figures_of(node));
}

}  // namespace weft::weftsim
