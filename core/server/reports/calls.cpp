// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/reports/calls.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/server/jobs/members.hpp"
#include "core/store/get/lookup.hpp"

namespace weft::server {
namespace {

using link::MessageType;

constexpr std::size_t most_calls = 4;   ///< of one process that are named
constexpr std::size_t most_text = 160;  ///< characters about one call

struct RequestFunction {
  MessageType type;
  const char* name;
};
/// The function behind a request that waits for a reply.
constexpr RequestFunction request_functions[] = {
    {MessageType::get, "PMIx_Get"},
    {MessageType::fence, "PMIx_Fence"},
    {MessageType::abort, "PMIx_Abort"},
    {MessageType::log, "PMIx_Log"},
    {MessageType::query, "PMIx_Query_info"},
    {MessageType::publish, "PMIx_Publish"},
    {MessageType::lookup, "PMIx_Lookup"},
    {MessageType::unpublish, "PMIx_Unpublish"},
    {MessageType::spawn, "PMIx_Spawn"},
    {MessageType::connect, "PMIx_Connect"},
    {MessageType::disconnect, "PMIx_Disconnect"},
    {MessageType::allocate, "PMIx_Allocation_request"},
    {MessageType::job_control, "PMIx_Job_control"},
    {MessageType::monitor, "PMIx_Process_monitor"},
    {MessageType::get_credential, "PMIx_Get_credential"},
    {MessageType::validate_credential, "PMIx_Validate_credential"},
    {MessageType::pull_output, "PMIx_IOF_pull"},
    {MessageType::stop_output, "PMIx_IOF_deregister"},
    {MessageType::push_input, "PMIx_IOF_push"},
    {MessageType::fabric, "PMIx_Fabric_register"},
    {MessageType::subscribe, "PMIx_Register_event_handler"},
    {MessageType::notify, "PMIx_Notify_event"},
    {MessageType::group_construct, "PMIx_Group_construct"},
    {MessageType::group_destruct, "PMIx_Group_destruct"},
    {MessageType::group_invite, "PMIx_Group_invite"},
    {MessageType::group_join, "PMIx_Group_join"},
    {MessageType::group_leave, "PMIx_Group_leave"},
    {MessageType::group_fence, "PMIx_Fence"},
};

const char* function_of(MessageType type) noexcept {
  const auto* at = std::find_if(std::begin(request_functions), std::end(request_functions),
                                [&](const auto& f) { return f.type == type; });
  return at == std::end(request_functions) ? nullptr : at->name;
}

/// Null: its server's open requests tell more than its part.
const char* function_of(OperationName::Kind kind) noexcept {
  using Kind = OperationName::Kind;
  switch (kind) {
    case Kind::fence:
    case Kind::group_fence:
      return "PMIx_Fence";
    case Kind::connect:
      return "PMIx_Connect";
    case Kind::disconnect:
      return "PMIx_Disconnect";
    case Kind::construct:
      return "PMIx_Group_construct";
    case Kind::destruct:
      return "PMIx_Group_destruct";
    case Kind::lookup:
      return "PMIx_Lookup";
    case Kind::invitation:
    case Kind::leave:
    case Kind::join:
    case Kind::bootstrap:
      return nullptr;
  }
  return nullptr;
}

std::string shortened(std::string text) {
  if (text.size() > most_text) text = text.substr(0, most_text) + "...";
  return text;
}

/// "all ranks", "ranks 0,4-5", "ranks 0-3 of job.1, all ranks of job.2": as seen from this namespace.
std::string text_of(const link::RankRuns& runs, const std::string& nspace) {
  std::string out, last;
  for (const auto& run : runs) {
    const bool is_all = run.first == PMIX_RANK_WILDCARD;
    const auto ranks =
        run.first == run.last ? fmt::format("{}", run.first) : fmt::format("{}-{}", run.first, run.last);
    if (!is_all && !out.empty() && last == run.nspace) {
      out += "," + ranks;
      continue;
    }
    if (!out.empty()) out += (last == nspace ? "" : " of " + last) + ", ";
    out += is_all ? "all ranks" : "ranks " + ranks;
    last = run.nspace;
  }
  return shortened(out + (last == nspace ? "" : " of " + last));
}

std::string about(const FenceName& name, const std::string& nspace) {
  if (name.operation.kind == OperationName::Kind::lookup)
    return shortened(fmt::format(" of {}", name.operation.group));
  const auto procs = text_of(name.procs, nspace);
  return name.operation.group.empty() ? " of " + procs
                                      : fmt::format(" of group {} ({})", name.operation.group, procs);
}

std::string about(const Gets::Awaited& get, const std::string& nspace) {
  const auto whose =
      get.proc.rank == PMIX_RANK_WILDCARD ? std::string("the job") : fmt::format("rank {}", get.proc.rank);
  const std::string other(link::nspace_of(get.proc));
  return shortened(fmt::format(" of {} of {}{}", get.key, whose, other == nspace ? "" : " of " + other));
}

std::uint64_t milliseconds(std::chrono::steady_clock::duration time) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

}  // namespace

/// What the boards say: which ranks wait in a fence, or in an operation of several processes.
void Calls::add_parts(const Job& job, const std::vector<FencePart>& parts, CallsOf& out) const {
  for (const auto& part : parts) {
    const auto* const function = function_of(part.name.operation.kind);
    if (function == nullptr || part.state == FencePart::State::absent) continue;
    each_local(jobs_, link::procs_or_none(part.name.procs), [&](const Job& of, std::uint32_t local) {
      const auto rank = of.rank_of(local);
      const bool is_missing = std::any_of(part.missing.begin(), part.missing.end(), [&](const auto& absent) {
        return absent.rank == rank && absent.nspace == of.nspace;
      });
      if (&of == &job && !is_missing)
        out[local].push_back({function, about(part.name, job.nspace), part.age_ms});
    });
  }
}

/// A fence that came by message is at its board as well.
void Calls::add_requests(const ClientConnection& connection, std::vector<Call>& out) const {
  const auto now = OpenRequests::Clock::now();
  const auto gets = gets_.open_of(&connection);
  auto get = gets.begin();
  connection.requests.each([&](const OpenRequests::Request& request) {
    const auto* const function = function_of(request.type);
    const auto is_same = [&](const Call& call) { return function == std::string_view(call.function); };
    const bool is_get = request.type == MessageType::get;
    if (function == nullptr || (!is_get && std::any_of(out.begin(), out.end(), is_same))) return;
    const bool is_known = is_get && get != gets.end();
    auto what = is_known ? about(*get++, std::string(link::nspace_of(connection.proc))) : std::string();
    out.push_back({function, std::move(what), milliseconds(now - request.since)});
  });
}

/// The cell in the segment by which a rank asks for the card of another node's rank, and its connection.
void Calls::add_own(const Job& job, std::uint32_t local, RankCall& row, std::vector<Call>& calls) const {
  if (const auto rank = job.writer->fetch_cell(local).awaited_rank())
    calls.push_back({"PMIx_Get", fmt::format(" of what rank {} has committed", *rank), 0});
  const auto connection = job.connections.find(local);
  if (connection == job.connections.end() || !connection->second) return;
  add_requests(*connection->second, calls);
  const auto& last = connection->second->requests.last();
  const auto* const function = last ? function_of(last->type) : nullptr;
  if (function == nullptr) return;
  row.last = function;
  row.age_ms = milliseconds(OpenRequests::Clock::now() - last->at);
}

std::vector<RankCall> Calls::here(const Job& job) const {
  const auto& view = job.view();
  CallsOf calls(view.local_count());
  add_parts(job, fences_.open_parts(), calls);
  add_parts(job, groups_.open_parts(), calls);
  std::vector<RankCall> out(view.local_count());
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    const auto& local = view.local(i);
    auto& row = out[i];
    row.rank = local.rank.load(std::memory_order_relaxed);
    row.pid = local.pid.load(std::memory_order_relaxed);
    row.state = static_cast<std::uint8_t>(local.state.load(std::memory_order_relaxed));
    const auto client = job.clients.find(row.rank);
    if (row.pid == 0 && client != job.clients.end()) row.pid = client->second.pid;
    if (row.state != store::Local::connected) continue;
    add_own(job, i, row, calls[i]);
    if (!calls[i].empty()) row.age_ms = 0;
    for (std::size_t c = 0; c < std::min(calls[i].size(), most_calls); ++c) {
      row.call += (c == 0 ? "" : "; ") + (calls[i][c].function + calls[i][c].about);
      row.age_ms = std::max(row.age_ms, calls[i][c].age_ms);
    }
  }
  return out;
}

Result<data::Value> to_value(const std::vector<RankCall>& calls) {
  data::Infos out;
  for (const auto& row : calls) {
    data::Infos one;
    one.add(PMIX_RANK, data::Value::of_rank(row.rank));
    one.add(PMIX_PROC_PID, data::Value::of_pid(row.pid));
    one.add("weft.state", data::Value::of(std::uint32_t{row.state}));
    one.add("weft.function", data::Value::of(row.call));
    one.add("weft.last", data::Value::of(row.last));
    one.add("weft.age", data::Value::of(row.age_ms));
    auto array = store::array_of(one);
    if (!array) return array;
    out.add("weft.call", std::move(*array));
  }
  return store::array_of(out);
}

}  // namespace weft::server
