// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/reports/query_keys.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "core/data/names/call_attributes.hpp"
#include "core/data/names/directive.hpp"
#include "core/data/types/array.hpp"
#include "core/link/servers.hpp"
#include "core/server/reports/start/start_times.hpp"
#include "core/server/reports/trace/server_trace.hpp"

namespace weft::server {
namespace {

struct Known {
  std::string_view key, qualifiers;
};
// Besides these, the keys of PMIx_Get that are not of a rank's card: of the job, its session, applications,
// nodes and ranks.
constexpr std::array known_keys = {
    Known{PMIX_QUERY_NAMESPACES, PMIX_QUERY_LOCAL_ONLY},
    Known{PMIX_QUERY_NAMESPACE_INFO, PMIX_NSPACE "," PMIX_QUERY_LOCAL_ONLY},
    Known{PMIX_SERVER_URI, PMIX_NSPACE "," PMIX_HOSTNAME "," PMIX_NODEID},
    Known{PMIX_QUERY_JOB_STATUS, PMIX_NSPACE "," PMIX_QUERY_LOCAL_ONLY},
    Known{PMIX_QUERY_PROC_TABLE, PMIX_NSPACE "," PMIX_HOSTNAME "," PMIX_NODEID},
    Known{PMIX_QUERY_LOCAL_PROC_TABLE, PMIX_NSPACE},
    Known{PMIX_PROC_PID, PMIX_PROCID "," PMIX_NSPACE "," PMIX_RANK},
    Known{PMIX_PROC_STATE_STATUS, PMIX_PROCID "," PMIX_NSPACE "," PMIX_RANK},
    Known{PMIX_QUERY_NUM_PSETS, ""},
    Known{PMIX_QUERY_PSET_NAMES, ""},
    Known{PMIX_QUERY_PSET_MEMBERSHIP, PMIX_PSET_NAME},
    Known{PMIX_QUERY_NUM_GROUPS, PMIX_QUERY_LOCAL_ONLY},
    Known{PMIX_QUERY_GROUP_NAMES, PMIX_QUERY_LOCAL_ONLY},
    Known{PMIX_QUERY_GROUP_MEMBERSHIP, PMIX_GROUP_ID "," PMIX_QUERY_LOCAL_ONLY},
    Known{PMIX_QUERY_AVAIL_SERVERS, ""},
    Known{PMIX_QUERY_SPAWN_SUPPORT, ""},
    Known{PMIX_QUERY_DEBUG_SUPPORT, ""},
    Known{PMIX_QUERY_SUPPORTED_KEYS, ""},
    Known{PMIX_QUERY_MEMORY_USAGE, PMIX_HOSTNAME "," PMIX_NODEID},
    Known{PMIX_DAEMON_MEMORY, PMIX_HOSTNAME "," PMIX_NODEID},
    Known{PMIX_CLIENT_AVG_MEMORY, PMIX_HOSTNAME "," PMIX_NODEID},
    Known{report_key, PMIX_QUERY_LOCAL_ONLY},
    Known{calls_key, PMIX_NSPACE},
    Known{start_key, PMIX_NSPACE},
    Known{trace_key, PMIX_NSPACE},
    Known{HostAttributes::query_key, ""},
};
constexpr std::string_view realm_qualifiers =
    PMIX_NSPACE "," PMIX_RANK "," PMIX_PROCID "," PMIX_SESSION_INFO "," PMIX_JOB_INFO "," PMIX_APP_INFO
                "," PMIX_NODE_INFO "," PMIX_APPNUM "," PMIX_NODEID "," PMIX_HOSTNAME;

bool is_of_group(std::string_view key) noexcept {
  return key == PMIX_QUERY_NUM_GROUPS || key == PMIX_QUERY_GROUP_NAMES || key == PMIX_QUERY_GROUP_MEMBERSHIP;
}

std::string supported_keys() {
  std::string out;
  for (const auto& known : known_keys) out += fmt::format("{}{}", out.empty() ? "" : ",", known.key);
  return out;
}

Result<data::Value> text(std::string_view value) {
  return data::Value::of(value);
}

data::Value megabytes(double kib) {
  pmix_value_t raw{};
  raw.type = PMIX_FLOAT;
  raw.data.fval = static_cast<float>(kib / 1024);
  return data::Value::adopt(raw);
}

Result<pmix_rank_t> rank_in(const pmix_value_t& value) {
  if (value.type == PMIX_PROC_RANK) return value.data.rank;
  const auto number = data::as_unsigned(value);
  if (!number || *number > PMIX_RANK_UNDEF) return fail(Errc::invalid, "PMIX_RANK");
  return static_cast<pmix_rank_t>(*number);
}

Result<void> read_process(const data::Infos& infos, QueryScope& scope) {
  const auto* proc = infos.find(PMIX_PROCID);
  const auto* nspace = infos.find(PMIX_NSPACE);
  const auto* rank = infos.find(PMIX_RANK);
  if (proc != nullptr) {
    if (nspace != nullptr || rank != nullptr) return fail(Errc::invalid, "PMIX_PROCID and another name");
    if (proc->value.type != PMIX_PROC || proc->value.data.proc == nullptr)
      return fail(Errc::invalid, "PMIX_PROCID");
    scope.nspace = link::nspace_of(*proc->value.data.proc);
    scope.rank = proc->value.data.proc->rank;
  }
  if (nspace != nullptr) {
    if (nspace->value.type != PMIX_STRING || nspace->value.data.string == nullptr)
      return fail(Errc::invalid, "PMIX_NSPACE");
    scope.nspace = nspace->value.data.string;
  }
  scope.names_nspace = proc != nullptr || nspace != nullptr;
  if (rank != nullptr) {
    const auto number = rank_in(rank->value);
    if (!number) return fail(number.error());
    scope.rank = *number;
  }
  return {};
}

/// False: it is there, and no text.
bool read_text(const data::Infos& infos, const char* key, std::string& out) {
  const auto* info = infos.find(key);
  if (info == nullptr) return true;
  if (info->value.type != PMIX_STRING || info->value.data.string == nullptr) return false;
  out = info->value.data.string;
  return true;
}

/// The command line of a job: the host's own words, or the lines of its applications with " : " between.
/// Empty: the host has said neither.
std::string command_line_of(const Job& job) {
  const auto text_in = [](const Result<data::Value>& value) -> std::string {
    const bool is_text = value && value->get().type == PMIX_STRING && value->get().data.string != nullptr;
    return is_text ? value->get().data.string : "";
  };
  store::GetDirectives how;
  const store::Caller caller{true, PMIX_RANK_UNDEF};
  auto out = text_in(store::lookup(job.view(), PMIX_RANK_WILDCARD, PMIX_CMD_LINE, how, caller));
  if (!out.empty()) return out;
  how.realm = store::Realm::app;
  for (std::uint32_t app = 0; app < job.view().index().apps(); ++app) {
    how.appnum = app;
    const auto line = text_in(store::lookup(job.view(), PMIX_RANK_WILDCARD, PMIX_APP_ARGV, how, caller));
    if (!line.empty()) out += (out.empty() ? "" : " : ") + line;
  }
  return out;
}

Result<data::Value> procs_in(const link::RankRuns* runs) {
  if (runs == nullptr) return fail(Errc::not_found, "no such group or set");
  const auto procs = link::procs_of(*runs);
  if (!procs) return fail(procs.error());
  return data::value_of_array(PMIX_PROC, procs->data(), procs->size());
}

}  // namespace

Result<QueryScope> QueryScope::parse(const data::Infos& qualifiers, const pmix_proc_t& caller) {
  QueryScope out;
  out.nspace = link::nspace_of(caller);
  if (const auto ok = read_process(qualifiers, out); !ok) return fail(ok.error());
  const bool are_texts =
      read_text(qualifiers, PMIX_GROUP_ID, out.group) && read_text(qualifiers, PMIX_PSET_NAME, out.set);
  if (!are_texts) return fail(Errc::invalid, "PMIX_GROUP_ID or PMIX_PSET_NAME");
  auto how = store::GetDirectives::parse(qualifiers.data(), qualifiers.size());
  if (!how) return fail(Errc::invalid, how.error().what);
  out.how = std::move(*how);
  out.is_local_only = data::is_set(qualifiers, PMIX_QUERY_LOCAL_ONLY);
  out.is_for_host =
      data::first_not_understood("PMIx_Query_info", qualifiers.data(), qualifiers.size()) != nullptr;
  out.asks_for_qualifiers = data::is_set(qualifiers, PMIX_QUERY_SUPPORTED_QUALIFIERS);
  return out;
}

bool QueryKeys::needs_report(std::string_view key, const QueryScope& scope) {
  if (scope.asks_for_qualifiers) return false;
  const bool is_of_namespaces = key == PMIX_QUERY_NAMESPACES || key == PMIX_QUERY_NAMESPACE_INFO;
  const bool is_of_memory =
      key == PMIX_QUERY_MEMORY_USAGE || key == PMIX_DAEMON_MEMORY || key == PMIX_CLIENT_AVG_MEMORY;
  const bool names_node = scope.how.nodeid || !scope.how.hostname.empty();
  return key == report_key || (is_of_memory && names_node) ||
         ((is_of_namespaces || is_of_group(key)) && !scope.is_local_only);
}

bool QueryKeys::needs_table(std::string_view key, const QueryScope& scope) {
  if (scope.asks_for_qualifiers || scope.is_local_only) return false;
  return key == PMIX_QUERY_PROC_TABLE || key == PMIX_QUERY_JOB_STATUS || key == PMIX_PROC_PID ||
         key == PMIX_PROC_STATE_STATUS;
}

Result<data::Value> QueryKeys::answer(std::string_view key, const QueryScope& scope,
                                      const Gathered& gathered) const {
  if (scope.is_for_host) return fail(Errc::not_found);
  if (scope.asks_for_qualifiers) {
    const auto known =
        std::find_if(known_keys.begin(), known_keys.end(), [&](const Known& k) { return k.key == key; });
    if (known != known_keys.end()) return text(known->qualifiers);
    return store::is_reserved(key) ? text(realm_qualifiers) : fail(Errc::not_found);
  }
  if (key == PMIX_QUERY_NAMESPACES) return text(namespaces(scope, gathered));
  if (key == report_key) return gathered.report ? to_value(*gathered.report) : fail(Errc::not_found);
  if (key == HostAttributes::query_key) return host_attributes_.value();
  if (key == PMIX_QUERY_SUPPORTED_KEYS) return text(supported_keys());
  if (key == PMIX_QUERY_SPAWN_SUPPORT) return text(host_attributes_.list_of("spawn"));
  if (key == PMIX_QUERY_DEBUG_SUPPORT) return text(debug_support());
  if (key == PMIX_QUERY_AVAIL_SERVERS) return servers_of_machine();
  if (key == PMIX_QUERY_NUM_PSETS || key == PMIX_QUERY_PSET_NAMES || key == PMIX_QUERY_PSET_MEMBERSHIP)
    return of_sets(key, scope);
  if (is_of_group(key)) return of_groups(key, scope, gathered);
  if (key == PMIX_QUERY_NAMESPACE_INFO) return namespace_info(scope, gathered);
  if (key == PMIX_SERVER_URI) return server_uri(scope);
  if (key == PMIX_QUERY_MEMORY_USAGE || key == PMIX_DAEMON_MEMORY || key == PMIX_CLIENT_AVG_MEMORY)
    return memory(key, scope, gathered);
  const auto* job = jobs_.find(scope.nspace);
  const bool is_elsewhere = job == nullptr && needs_table(key, scope) && !rows_of(scope, gathered).empty();
  if (job == nullptr && !is_elsewhere) return fail(Errc::not_found, "no such namespace");
  if (key == calls_key) return to_value(calls_.here(*job));
  if (key == start_key) return to_value(start_times_of(*job));
  if (key == trace_key) return to_value(trace_of(*job));
  if (key == PMIX_QUERY_LOCAL_PROC_TABLE) return table(scope, processes_.here(*job));
  if (key == PMIX_QUERY_PROC_TABLE) return table(scope, rows_of(scope, gathered));
  if (key == PMIX_QUERY_JOB_STATUS) return job_status(scope, gathered);
  if (key == PMIX_PROC_PID || key == PMIX_PROC_STATE_STATUS) return process(key, scope, gathered);
  return of_realm(key, scope);
}

/// What the host has said that it supports of what debuggers ask PMIx_Spawn for.
std::string QueryKeys::debug_support() const {
  const auto all = "," + host_attributes_.list_of("spawn") + ",";
  std::string out;
  for (const char* key :
       {PMIX_DEBUG_STOP_ON_EXEC, PMIX_DEBUG_STOP_IN_INIT, PMIX_DEBUG_STOP_IN_APP, PMIX_DEBUG_TARGET,
        PMIX_DEBUGGER_DAEMONS, PMIX_DEBUG_DAEMONS_PER_NODE, PMIX_DEBUG_DAEMONS_PER_PROC, PMIX_COSPAWN_APP})
    if (all.find(fmt::format(",{},", key)) != std::string::npos)
      out += fmt::format("{}{}", out.empty() ? "" : ",", key);
  return out;
}

std::string QueryKeys::namespaces(const QueryScope& scope, const Gathered& gathered) const {
  if (scope.is_local_only || !gathered.report) return own_.namespaces();
  std::string out;
  for (const auto& job : gathered.report->jobs) out += (out.empty() ? "" : ",") + job.nspace;
  return out;
}

/// An element for each namespace, or for the one that is named: an array of its name and what runs in it. A
/// namespace that is registered on other nodes only has the name alone.
Result<data::Value> QueryKeys::namespace_info(const QueryScope& scope, const Gathered& gathered) const {
  data::Infos out;
  bool is_whole = true;
  const auto add = [&](const std::string& nspace, const std::string& line) {
    if (scope.names_nspace && nspace != scope.nspace) return;
    data::Infos one;
    one.add(PMIX_NSPACE, data::Value::of(nspace));
    if (!line.empty()) one.add(PMIX_CMD_LINE, data::Value::of(line));
    auto array = store::array_of(one);
    is_whole &= array.has_value();
    if (array) out.add(PMIX_QUERY_NAMESPACE_INFO, std::move(*array));
  };
  jobs_.each([&](const Job& job) { add(job.nspace, command_line_of(job)); });
  if (gathered.report && !scope.is_local_only)
    for (const auto& job : gathered.report->jobs)
      if (jobs_.find(job.nspace) == nullptr) add(job.nspace, {});
  if (!is_whole) return fail(Errc::no_memory);
  if (scope.names_nspace && out.size() == 0) return fail(Errc::not_found, "no such namespace");
  return store::array_of(out);
}

/// The URI of this server, which a tool connects to. The host may have told a namespace another one.
Result<data::Value> QueryKeys::server_uri(const QueryScope& scope) const {
  if (!is_of_this_node(scope)) return fail(Errc::not_found, "of this node only");
  if (jobs_.find(scope.nspace) != nullptr) return of_realm(PMIX_SERVER_URI, scope);
  if (scope.names_nspace) return fail(Errc::not_found, "no such namespace");
  return text(jobs_.server_uri());
}

/// Answers keys about the groups of all nodes that have answered, or of this one.
Result<data::Value> QueryKeys::of_groups(std::string_view key, const QueryScope& scope,
                                         const Gathered& gathered) const {
  std::map<std::string, const link::RankRuns*> groups;
  groups_.each([&](const std::string& name, const Group& group) { groups.emplace(name, &group.members); });
  if (gathered.report && !scope.is_local_only)
    for (const auto& entry : gathered.report->nodes)
      for (const auto& group : entry.report.groups) groups.emplace(group.name, &group.members);
  if (key == PMIX_QUERY_NUM_GROUPS) return data::Value::of_size(groups.size());
  if (key == PMIX_QUERY_GROUP_NAMES) {
    std::vector<const char*> names;
    for (const auto& [name, members] : groups) names.push_back(name.c_str());
    return data::value_of_array(PMIX_STRING, names.data(), names.size());
  }
  const auto group = groups.find(scope.group);
  return procs_in(group == groups.end() ? nullptr : group->second);
}

/// The servers that listen on this machine: an array of infos for each.
Result<data::Value> QueryKeys::servers_of_machine() const {
  const auto sockets = link::servers_here();
  if (!sockets) return fail(Errc::not_found, "no list of sockets");
  data::Infos out;
  for (const auto& socket : *sockets) {
    data::Infos one;
    const bool is_own = socket.pid == ::getpid();
    if (is_own) one.add(PMIX_SERVER_URI, data::Value::of(jobs_.server_uri()));
    one.add(PMIX_SERVER_PIDINFO, data::Value::of_pid(socket.pid));
    one.add(PMIX_HOSTNAME, data::Value::of(own_.host_name()));
    auto array = store::array_of(one);
    if (!array) return array;
    out.add(PMIX_SERVER_INFO_ARRAY, std::move(*array));
  }
  return store::array_of(out);
}

Result<data::Value> QueryKeys::of_sets(std::string_view key, const QueryScope& scope) const {
  if (key == PMIX_QUERY_NUM_PSETS) return data::Value::of_size(sets_.size());
  // The header's type, which Open MPI reads; the Standard from 4.1 on has an array.
  if (key == PMIX_QUERY_PSET_NAMES) return text(sets_.names());
  return procs_in(sets_.find(scope.set));
}

/// The rows of the node that the qualifiers name, or of all nodes.
Result<data::Value> QueryKeys::table(const QueryScope& scope, std::vector<ProcessRow> rows) const {
  const auto* job = jobs_.find(scope.nspace);
  auto node = scope.how.nodeid;
  if (job != nullptr && !scope.how.hostname.empty())
    node = store::node_by_name(job->view(), scope.how.hostname);
  std::erase_if(rows, [&](const ProcessRow& row) {
    if (job == nullptr)
      return (node && row.node != *node) || (!scope.how.hostname.empty() && row.host != scope.how.hostname);
    const auto* entry = job->view().rank(row.rank);
    return node && (entry == nullptr || entry->node != *node);
  });
  return process_table(scope.nspace, job, rows);
}

Result<data::Value> QueryKeys::process(std::string_view key, const QueryScope& scope,
                                       const Gathered& gathered) const {
  const auto all = rows_of(scope, gathered);
  const auto row =
      std::find_if(all.begin(), all.end(), [&](const ProcessRow& r) { return r.rank == scope.rank; });
  if (row == all.end()) return fail(Errc::not_found);
  if (key == PMIX_PROC_PID)
    return row->pid != 0 ? data::Value::of_pid(row->pid) : Result<data::Value>(fail(Errc::not_found));
  pmix_value_t raw{};
  raw.type = PMIX_PROC_STATE;
  raw.data.state = row->state;
  return data::Value::adopt(raw);
}

/// The rows of all processes of the job, or of those of this node.
std::vector<ProcessRow> QueryKeys::rows_of(const QueryScope& scope, const Gathered& gathered) const {
  const auto rows = gathered.tables.find(scope.nspace);
  if (rows != gathered.tables.end()) return rows->second;
  const auto* job = jobs_.find(scope.nspace);
  return job == nullptr ? std::vector<ProcessRow>() : processes_.here(*job);
}

/// PMIX_SUCCESS: it runs; else what has become of one of its processes.
Result<data::Value> QueryKeys::job_status(const QueryScope& scope, const Gathered& gathered) const {
  const auto rows = rows_of(scope, gathered);
  const bool has_lost = std::any_of(rows.begin(), rows.end(), [](const ProcessRow& row) {
    return row.state == PMIX_PROC_STATE_TERM_WO_SYNC;
  });
  return data::Value::of_status(has_lost ? PMIX_ERR_PROC_TERM_WO_SYNC : PMIX_SUCCESS);
}

bool QueryKeys::is_of_this_node(const QueryScope& scope) const {
  if (scope.how.nodeid && *scope.how.nodeid != cluster_.self()) return false;
  return scope.how.hostname.empty() || scope.how.hostname == own_.host_name();
}

/// Of this node, or of the one that is named; nothing: its server has not answered.
std::optional<MemoryReport> QueryKeys::memory_of(const QueryScope& scope, const Gathered& gathered) const {
  if (is_of_this_node(scope)) return own_.memory();
  if (!gathered.report) return std::nullopt;
  for (const auto& entry : gathered.report->nodes) {
    const bool is_meant =
        scope.how.nodeid ? entry.node == *scope.how.nodeid : entry.host == scope.how.hostname;
    if (is_meant && entry.state == NodeEntry::State::here) return entry.report.memory;
  }
  return std::nullopt;
}

Result<data::Value> QueryKeys::memory(std::string_view key, const QueryScope& scope,
                                      const Gathered& gathered) const {
  const auto used = memory_of(scope, gathered);
  if (!used) return fail(Errc::not_found, "no such node");
  auto average = megabytes(used->average_of_clients());
  auto own = megabytes(static_cast<double>(used->server));
  if (key == PMIX_DAEMON_MEMORY) return own;
  if (key == PMIX_CLIENT_AVG_MEMORY) return average;
  data::Infos both;
  both.add(PMIX_DAEMON_MEMORY, std::move(own));
  both.add(PMIX_CLIENT_AVG_MEMORY, std::move(average));
  return store::array_of(both);
}

Result<data::Value> QueryKeys::of_realm(std::string_view key, const QueryScope& scope) const {
  if (!store::is_reserved(key)) return fail(Errc::not_found);  // what a rank has put is for PMIx_Get
  return store::lookup(jobs_.find(scope.nspace)->view(), scope.rank, key, scope.how, {true, scope.rank});
}

}  // namespace weft::server
