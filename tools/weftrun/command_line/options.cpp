// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/command_line/options.hpp"

#include <fmt/format.h>

#include <utility>

#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/weftrun/command_line/app_file.hpp"
#include "tools/weftrun/command_line/help.hpp"
#include "tools/weftrun/command_line/option_table.hpp"
#include "tools/weftrun/command_line/section_reader.hpp"

namespace weft::weftrun {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

std::vector<std::vector<std::string>> split_at_colons(const std::vector<std::string>& args) {
  std::vector<std::vector<std::string>> sections(1);
  for (const auto& arg : args) {
    if (arg == ":")
      sections.emplace_back();
    else
      sections.back().push_back(arg);
  }
  return sections;
}

void add_app(Section section, Options& options) {
  if (section.app.argv.empty()) refuse("no program is named");
  if (section.app.argv.front().empty()) refuse("the program's name is empty");
  options.apps.push_back(std::move(section.app));
  options.own_hosts.push_back(std::move(section.hosts));
}

void add_apps_of_file(const std::string& file, Options& options) {
  for (const auto& line : read_app_file(file)) {
    try {
      Section section(options);
      read_section(line.words, false, section);
      if (!section.app_file.empty()) refuse("a file of programs names no other file");
      add_app(std::move(section), options);
    } catch (const Stop& stop) {
      throw Stop(stop.exit_code(),
                 messages::on_one_line(fmt::format("--app {}, line {}: {}", file, line.line, stop.what())));
    }
  }
}

/// A section that only names a file has no program of its own that its options could be for.
void check_bare_file(const Section& section) {
  const auto& app = section.app;
  if (app.ranks != 0 || !app.settings.empty() || !app.directory.empty() || !app.path.empty() ||
      !app.process_set.empty() || !section.hosts.empty())
    refuse(fmt::format(
        "--app {}: -n, -x, --mca, --wdir, --path, --pset and --host of its programs stand in its lines",
        section.app_file));
}

/// One section of the command line: a program, the programs of a file, or both.
void add_section(Section section, bool is_first, Options& options) {
  if (is_first) options.hosts = std::exchange(section.hosts, {});
  const auto file = section.app_file;
  if (file.empty()) return add_app(std::move(section), options);
  if (!section.app.argv.empty())
    add_app(std::move(section), options);
  else
    check_bare_file(section);
  add_apps_of_file(file, options);
}

void check_nodes(const Options& options) {
  if (!options.hosts.empty() + !options.hostfile.empty() + options.virtual_nodes.has_value() > 1)
    refuse("--host, --hostfile and --virtual-nodes each say which nodes to use; give one of them");
  if (!options.weftd.empty() && !options.prefix.empty())
    refuse("--weftd and --prefix each say where the daemon is; give one of them");
  for (const auto& hosts : options.own_hosts)
    if (!hosts.empty() && options.virtual_nodes)
      refuse("--host has no meaning with --virtual-nodes, which are all on this machine");
}

void check_placement(const Options& options) {
  const auto& mapping = options.mapping;
  const bool is_of_units = mapping.bind == job::BindTo::automatic || mapping.bind == job::BindTo::none ||
                           mapping.bind == job::BindTo::core || mapping.bind == job::BindTo::hwthread;
  if (mapping.cores_each != 0 && !is_of_units)
    refuse(
        fmt::format("--bind-to {} does not go with pe=N or --cpus-per-rank N, which bind each rank to N "
                    "cores; it can be core, "
                    "hwthread (N hardware threads) or none then",
                    name_of(mapping.bind)));
  if (options.rank_file.empty()) return;
  const char* other = mapping.bind != job::BindTo::automatic ? "--bind-to"
                      : mapping.map != job::MapBy::automatic ? "--map-by"
                      : mapping.cores_each != 0              ? "pe=N or --cpus-per-rank"
                      : options.per_node                     ? "-N"
                      : options.order                        ? "--rank-by"
                                                             : nullptr;
  if (other != nullptr)
    refuse(fmt::format("--rankfile says where each rank goes and to what it is bound; leave out {}", other));
  for (const auto& hosts : options.own_hosts)
    if (!hosts.empty())
      refuse("--rankfile says where each rank goes; name all nodes before the first program");
}

/// What --dvm, --attach and --stop-dvm leave no room for.
void check_service(const Options& options) {
  using What = ServiceOptions::What;
  const auto& service = options.service;
  const bool has_program = !options.apps.empty();
  if (service.what == What::none && (service.detach || service.json))
    refuse(fmt::format("{} goes with --attach", service.detach ? "--detach" : "--json"));
  if (service.what != What::none && options.launch_report != LaunchReport::none)
    refuse("--report tells of the start of a run of its own, and a job of --attach has none; leave it out");
  if (service.what == What::start && has_program)
    refuse("--dvm starts no program; run it with --attach when the daemons are there");
  if (service.what == What::start && !service.first_of_job.empty())
    refuse(fmt::format("{} speaks of a job; give it to --attach", service.first_of_job));
  if ((service.what == What::stop || service.what == What::list) && has_program)
    refuse(fmt::format("{} starts no program", service.what == What::stop ? "--stop-dvm" : "--jobs"));
  if (service.what != What::none && service.what != What::attach && !options.added_hosts.empty())
    refuse("--add-host and --add-hostfile go with --attach and a program");
  if (service.what != What::attach) return;
  if (!service.first_of_nodes.empty())
    refuse(fmt::format("{} speaks of nodes, and those of --dvm are there; leave it out",
                       service.first_of_nodes));
  if (options.dry_run || options.explain || options.shows_map || options.shows_allocation)
    refuse("--dry-run, --explain and --display map, allocation do not go with --attach");
  if (!options.rank_file.empty()) refuse("--rankfile does not go with --attach");
}

void list_jobs(Options& options) {
  if (options.service.what != ServiceOptions::What::attach) refuse("--jobs goes with --attach");
  options.service.what = ServiceOptions::What::list;
}

bool needs_program(const ServiceOptions& service) {
  return service.what == ServiceOptions::What::none || service.what == ServiceOptions::What::attach;
}

/// Sets what follows from all options together.
void complete(Options& options) {
  check_nodes(options);
  check_placement(options);
  check_service(options);
  if (!options.prefix.empty()) options.weftd = options.prefix + "/bin/weftd";
  options.mapping.may_share_cores = options.oversubscribe;
  for (auto& app : options.apps) {
    if (app.ranks == 0 && options.apps.size() > 1)
      refuse(fmt::format("with several programs each needs its own -n; '{}' has none", app.argv[0]));
    app.settings.insert(app.settings.begin(), options.settings_of_all.begin(), options.settings_of_all.end());
  }
}

}  // namespace

void refuse(const std::string& what) {
  throw Stop(exit_status::usage, messages::usage(messages::on_one_line(what)));
}

Options parse_options(const std::vector<std::string>& args) {
  Options options;
  bool is_first = true;
  for (const auto& words : split_at_colons(args)) {
    Section section(options);
    read_section(words, is_first, section);
    if (section.wants_help) options.help = help_text();
    if (section.wants_help || options.show_version) return options;
    if (section.wants_list) list_jobs(options);
    const bool has_program = !section.app.argv.empty() || !section.app_file.empty();
    if (is_first && !has_program && !needs_program(options.service)) {
      options.hosts = std::move(section.hosts);
      complete(options);
      return options;
    }
    add_section(std::move(section), is_first, options);
    is_first = false;
  }
  complete(options);
  return options;
}

}  // namespace weft::weftrun
