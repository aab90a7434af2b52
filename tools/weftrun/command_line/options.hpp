// SPDX-License-Identifier: BSD-3-Clause
// What the command line says: weftrun [options] program [arguments] : [options] program [arguments] : ...
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/allocation/hosts.hpp"
#include "tools/io/output_tags.hpp"
#include "tools/job/app.hpp"
#include "tools/job/input_target.hpp"
#include "tools/job/interface.hpp"
#include "tools/job/mapping.hpp"
#include "tools/job/rank.hpp"
#include "tools/placement/distribution.hpp"

namespace weft::weftrun {

/// --virtual-nodes K[:SLOTS]
struct VirtualNodes {
  std::uint32_t nodes = 0;
  std::uint32_t slots = 0;  ///< of each; 0: enough
};

/// weftrun as a service: daemons that are there, and jobs that come and go.
struct ServiceOptions {
  enum class What : std::uint8_t {
    none,    ///< a job, and daemons for it
    start,   ///< --dvm: the daemons
    attach,  ///< --attach: a job in them
    list,    ///< --attach --jobs
    stop,    ///< --stop-dvm
  };
  What what = What::none;
  std::string name;     ///< of the service
  bool detach = false;  ///< --dvm: returns when the service is ready; --attach: when the job is accepted
  bool json = false;
  std::string first_of_nodes, first_of_job;  ///< options that were given, with these topics; empty: none
};

/// The fate of the rest of the job after the loss of a rank or a node.
enum class OnFailure { end, go_on };

/// --report launch, launch:json
enum class LaunchReport : std::uint8_t { none, text, json };

struct Options {
  std::vector<job::App> apps;
  std::vector<std::vector<std::string>>
      own_hosts;                   ///< of each app: the values of its --host; empty: it has the job's nodes
  std::vector<std::string> hosts;  ///< the values of --host before the first program
  std::string hostfile;            ///< empty: none
  std::optional<VirtualNodes> virtual_nodes;  ///< at most one of the three is given
  job::KeyValues node_keys;                   ///< --node-data: of all nodes
  allocation::Hosts added_hosts;              ///< of --add-host and --add-hostfile
  std::optional<std::uint32_t> growth;        ///< --grow
  std::string agent, weftd, prefix;           ///< as given; empty: not given
  std::optional<std::uint32_t> arity;         ///< --agent-arity
  OnFailure on_failure = OnFailure::end;
  bool oversubscribe = false;
  bool dry_run = false;
  bool explain = false;
  bool shows_map = false, shows_allocation = false;  ///< --display
  job::Mapping mapping;
  bool sets_openmp = false;                ///< --cpus-per-rank
  std::vector<unsigned> processors;        ///< --cpu-list; empty: all
  std::string rank_file;                   ///< empty: none
  std::optional<std::uint32_t> per_node;   ///< --map-by ppr:N:node, or -N
  std::optional<placement::RankBy> order;  ///< --rank-by
  job::InputTarget input;
  job::Pmi pmi = job::Pmi::automatic;
  std::string output_directory;                          ///< empty: forward to weftrun's own standard streams
  std::optional<std::chrono::milliseconds> limit;        ///< --timeout
  std::optional<std::chrono::milliseconds> stuck_after;  ///< --report-stuck
  LaunchReport launch_report = LaunchReport::none;
  std::string trace{};  ///< WEFT_TRACE: the file that is to get the trace of the job; empty: none
  /// From weftrun's start until its plan was made; main() fills it in.
  std::chrono::steady_clock::duration planning_time{};
  std::string names_of;  ///< as given; empty: the run keeps its published names itself
  bool report_bindings = false;
  io::OutputTags tags;
  bool merges_errors = false;     ///< --merge-stderr-to-stdout
  bool pseudo_terminals = false;  ///< --pty
  /// Of a spawned job: what it writes before its parent pulls is kept for the parent.
  bool keeps_output = false, keeps_errors = false;
  bool quiet = false;
  bool verbose = false;
  ServiceOptions service;
  std::vector<job::EnvironmentSetting> settings_of_all;  ///< --gmca: in each app already
  bool show_version = false;                             ///< nothing else is filled in then
  std::string help;                                      ///< not empty: print this and leave
};

/// args: without weftrun's own name. Throws Stop (usage) with a line that says what is wrong and what is
/// right.
Options parse_options(const std::vector<std::string>& args);

/// Throws the Stop of a wrong use of the command line.
[[noreturn]] void refuse(const std::string& what);

}  // namespace weft::weftrun
