// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftsim/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "tools/weftsim/messages.hpp"

namespace weft::weftsim {
namespace {

constexpr std::uint32_t most_nodes = 1u << 20;
constexpr std::uint32_t most_ranks_a_node = 4096;
constexpr std::uint64_t most_card_bytes = std::uint64_t{16} << 20;
constexpr std::uint32_t most_touched = 1u << 20;
constexpr double longest_us = 3.6e9;  // an hour
constexpr double largest_cores = 1e6;

std::vector<std::string> operations_of(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= list.size();) {
    const auto end = std::min(list.find(',', begin), list.size());
    const auto name = list.substr(begin, end - begin);
    if (std::find(operation_names.begin(), operation_names.end(), name) == operation_names.end())
      throw messages::no_operation(name);
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
    begin = end + 1;
  }
  return out;
}

void set_figure(Job& job, const std::string& text) {
  constexpr double largest = 1e12;
  const auto equals = std::min(text.find('='), text.size());
  const auto name = std::string_view(text).substr(0, equals);
  double value = 0;
  const auto* const begin = text.data() + std::min(equals + 1, text.size());
  const auto* const end = text.data() + text.size();
  const auto read = std::from_chars(begin, end, value);
  auto figures = figures_of(job.network);
  for (const auto& each : figures_of(job.node)) figures.push_back(each);
  const auto found = std::find_if(figures.begin(), figures.end(),
                                  [name](const NamedFigure& each) { return each.name == name; });
  const bool is_number = read.ec == std::errc() && read.ptr == end && value >= 0 && value <= largest;
  const bool is_count = name != "cores" || value <= largest_cores;
  if (found == figures.end() || !is_number || !is_count) throw messages::bad_figure(text);
  *found->figure = {value, "set on the command line"};
}

}  // namespace

Loss parse_loss(const std::string& text) {
  Loss out;
  const auto* const end = text.data() + text.size();
  const auto node = std::from_chars(text.data(), end, out.node);
  if (node.ec != std::errc() || node.ptr == end || *node.ptr != '@') throw messages::bad_loss(text);
  double time = 0;
  const auto read = std::from_chars(node.ptr + 1, end, time);
  const std::string_view unit(read.ptr, static_cast<std::size_t>(end - read.ptr));
  const double us = unit == "us" ? 1 : unit == "ms" ? 1e3 : unit == "s" ? 1e6 : 0;
  const bool is_time = read.ec == std::errc() && us > 0 && time >= 0 && time * us <= longest_us;
  if (!is_time) throw messages::bad_loss(text);
  out.at = static_cast<Time>(time * us * 1e3);
  return out;
}

Options parse_options(std::vector<std::string> args) {
  Options options;
  auto& job = options.job;
  std::string network = "ndr", lost, collective, operations;
  std::vector<std::string> figures;
  double skew_us = 0;
  bool shows_networks = false, shows_targets = false, shows_version = false;
  CLI::App grammar(
      "Predict what the operations of a job cost that is too large to run here: times, messages, memory, and "
      "what the slowest node waited for.",
      "weftsim");
  grammar.set_help_flag("-h,--help", "Print this and leave");
  auto* const nodes = grammar.add_option("--nodes", job.nodes, "Nodes of the job")->type_name("N");
  nodes->check(CLI::Range(1u, most_nodes).description(""));
  grammar.add_option("--ppn", job.ranks_a_node, "Processes of each node; default: 1")
      ->type_name("N")
      ->check(CLI::Range(1u, most_ranks_a_node).description(""));
  grammar.add_option("--card", job.card_bytes, "Bytes that each process gives to a full fence; default: 64")
      ->type_name("BYTES")
      ->check(CLI::Range(std::uint64_t{0}, most_card_bytes).description(""));
  grammar
      .add_option("--touch", job.touched,
                  "Peers of other nodes whose cards each process gets after a sparse fence; default: 4")
      ->type_name("N")
      ->check(CLI::Range(0u, most_touched).description(""));
  grammar.add_option("--network", network, "Network by its name in --networks; default: ndr")
      ->type_name("NETWORK");
  grammar.add_option("--set", figures, "Another value for a figure of --networks; may be repeated")
      ->type_name("FIGURE=VALUE")
      ->allow_extra_args(false);
  grammar.add_option("--operations", operations, "Of these only, with commas between; default: all")
      ->type_name("NAMES");
  grammar.add_option("--lose", lost, "The node is lost at that time of each operation, as in 17@20us")
      ->type_name("NODE@TIME");
  grammar.add_option("--skew", skew_us, "Nodes begin up to so many microseconds late, evenly; default: 0")
      ->type_name("US")
      ->check(CLI::Range(0.0, longest_us).description(""));
  grammar.add_option("--seed", job.seed, "What is drawn by chance follows from it; default: 1")
      ->type_name("N");
  grammar.add_option("--collective", collective, "Algorithm, as WEFT_COLLECTIVE has it")
      ->type_name("ALGORITHM");
  grammar.add_flag("--wires-only", job.wires_only,
                   "Leave out what servers and nodes compute: the network alone");
  grammar.add_flag("--servers", options.servers,
                   "Run whole servers, up to 4096, in the place of their schedules alone");
  grammar.add_flag("-j,--json", options.json, "Print one JSON document");
  grammar.add_flag("--networks", shows_networks,
                   "Print the networks with their figures and sources, and leave");
  grammar.add_flag("--targets", shows_targets, "Compare with the targets of the design, and leave");
  grammar.add_flag("-V,--version", shows_version, "Print the version and leave");
  grammar.footer("weftsim(1) explains what is printed and what it leaves out.");
  std::reverse(args.begin(), args.end());  // the order in which CLI11 takes them from a vector
  try {
    grammar.parse(args);
  } catch (const CLI::CallForHelp&) {
    options.help = grammar.help();
    return options;
  } catch (const CLI::ParseError& error) {
    throw messages::usage(error.what());
  }
  options.ask = shows_version    ? Options::Ask::version
                : shows_networks ? Options::Ask::networks
                : shows_targets  ? Options::Ask::targets
                                 : Options::Ask::job;
  if (options.ask == Options::Ask::targets && options.json)
    throw messages::usage("--targets prints lines only, no JSON");
  if (options.ask == Options::Ask::job && nodes->count() == 0)
    throw messages::usage("--nodes is missing: how many nodes has the job");
  const auto* const known = network_of(network);
  if (known == nullptr) throw messages::no_network(network);
  job.network = *known;
  for (const auto& figure : figures) set_figure(job, figure);
  job.skew = static_cast<Time>(skew_us * 1e3);
  if (!lost.empty()) job.lost = parse_loss(lost);
  if (job.lost && job.lost->node >= job.nodes) throw messages::no_such_node(job.lost->node, job.nodes);
  if (!collective.empty()) {
    const auto choice = collectives::parse_choice(collective);
    if (!choice)
      throw messages::usage(fmt::format("--collective: '{}' is {}", collective, choice.error().what));
    job.collective = *choice;
  }
  options.operations = operations.empty()
                           ? std::vector<std::string>(operation_names.begin(), operation_names.end())
                           : operations_of(operations);
  return options;
}

}  // namespace weft::weftsim
