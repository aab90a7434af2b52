// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftsim/messages.hpp"

#include <fmt/format.h>

#include "tools/weftsim/networks.hpp"
#include "tools/weftsim/operation.hpp"

namespace weft::weftsim::messages {
namespace {

Stop refusal(const std::string& line) {
  return Stop(exit_status::usage, "weftsim: " + line);
}

}  // namespace

Stop usage(std::string_view what) {
  return refusal(fmt::format("{}; try weftsim --help", what));
}

Stop no_network(std::string_view name) {
  std::string names;
  for (const auto& network : networks())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", network.name);
  return refusal(fmt::format("no network is called '{}'; there are {} (weftsim --networks)", name, names));
}

Stop bad_figure(std::string_view text) {
  return refusal(
      fmt::format("--set takes a figure by its name in --networks, and a number from 0 on, as in "
                  "latency=1200: '{}'",
                  text));
}

Stop bad_loss(std::string_view text) {
  return refusal(
      fmt::format("--lose takes a node and a time, as in 17@20us; the units are us, ms and s: '{}'", text));
}

Stop no_such_node(std::uint32_t node, std::uint32_t nodes) {
  return refusal(fmt::format("--lose: there is no node {}; the job has nodes 0 to {}", node, nodes - 1));
}

Stop no_operation(std::string_view name) {
  std::string names;
  for (const auto known : operation_names) names += fmt::format("{}{}", names.empty() ? "" : ", ", known);
  return refusal(fmt::format("--operations: none is called '{}'; there are {}", name, names));
}

Stop too_large(std::string_view operation, std::string_view algorithm, std::string_view why) {
  return refusal(
      fmt::format("{} by {} is too large to simulate: {}; take fewer nodes, other --operations, or "
                  "another --collective",
                  operation, algorithm, why));
}

Stop too_many_servers(std::uint32_t nodes, std::uint32_t most) {
  return refusal(
      fmt::format("--servers runs at most {} whole servers, and this job has {} nodes; without "
                  "--servers weftsim runs the schedules alone",
                  most, nodes));
}

}  // namespace weft::weftsim::messages
