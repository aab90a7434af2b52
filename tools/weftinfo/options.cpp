// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftinfo/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>

#include "tools/weftinfo/messages.hpp"

namespace weft::weftinfo {
namespace {

long pid_in(const std::string& text) {
  int pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc() || end != text.data() + text.size() || pid <= 0)
    throw messages::usage(fmt::format("'{}' is no process id", text));
  return pid;
}

}  // namespace

Options parse_options(std::vector<std::string> args) {
  Options options;
  std::string pid;
  CLI::App grammar(
      "Look into a job that is running under Weft: its nodes, what waits for whom, what was done.",
      "weftinfo");
  grammar.set_help_flag("-h,--help", "Print this and leave");
  grammar.add_option("PID", pid,
                     "Process of weftrun, or of one of its daemons; default: the only launch here");
  grammar.add_flag("-l,--list", options.list, "Only list your launches on this machine");
  grammar.add_flag("-s,--stats", options.stats,
                   "Print counters, too: gets, fences, messages and bytes; and memory by region");
  grammar.add_flag("--memory", options.memory, "Print what takes memory on each node, and nothing else");
  grammar.add_flag("--collectives", options.collectives,
                   "Print which algorithms collectives between the nodes take, and why, and nothing else");
  grammar.add_flag("-j,--json", options.json, "Print one JSON document, counters included");
  grammar.add_flag("--metrics", options.metrics,
                   "Print metrics for Prometheus, in its text format; default: of all your launches here");
  grammar.add_flag("--settings", options.settings,
                   "Print every environment variable of Weft: value, default, source and meaning");
  grammar.add_flag("-V,--version", options.show_version, "Print the version and leave");
  grammar.footer("weftinfo(1) explains what is printed.");
  std::reverse(args.begin(), args.end());  // the order in which CLI11 takes them from a vector
  try {
    grammar.parse(args);
  } catch (const CLI::CallForHelp&) {
    options.help = grammar.help();
    return options;
  } catch (const CLI::ParseError& error) {
    throw messages::usage(error.what());
  }
  if (!pid.empty()) options.pid = pid_in(pid);
  const bool is_part = options.memory || options.collectives;
  if (options.settings && (options.list || options.stats || is_part || options.pid))
    throw messages::usage("--settings goes with --json only: it asks no server");
  if (options.metrics && (options.json || options.stats || is_part || options.list || options.settings))
    throw messages::usage("--metrics is a form of its own; leave out the other options");
  if (options.memory && (options.json || options.stats || options.list))
    throw messages::usage("--memory is printed alone; --stats and --json have it, too");
  if (options.collectives && (options.memory || options.json || options.stats || options.list))
    throw messages::usage("--collectives is printed alone; --json has it, too");
  if (options.list && options.pid) throw messages::usage("--list takes no process id");
  return options;
}

}  // namespace weft::weftinfo
