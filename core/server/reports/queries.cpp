// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/reports/queries.hpp"

#include <unistd.h>

#include <algorithm>

#include "core/data/types/array.hpp"
#include "core/server/connections/requester.hpp"

namespace weft::server {

Queries::Queries(Loop& loop, const pmix_proc_t& self, const Jobs& jobs, Host& host,
                 const HostAttributes& host_attributes, OwnReport& own, const ProcessSets& sets,
                 GroupTable& groups, Cluster& cluster, const Calls& calls)
    : loop_(loop),
      cluster_name_(link::nspace_of(self)),
      jobs_(jobs),
      host_(host),
      own_(own),
      groups_(groups),
      cluster_(cluster),
      processes_(jobs, cluster),
      keys_(jobs, own, host_attributes, processes_, sets, groups, cluster, calls) {
  cluster_.on(RequestType::report, [this](NodeNumber, Bytes body, const Rpc::Reply& reply) {
    const auto request = decode<ReportRequest>(body);
    if (!request) return reply(PMIX_ERR_NOT_SUPPORTED, {});
    reply(PMIX_SUCCESS, encode(own_.make(*request)));
  });
}

void Queries::query(const ConnectionRef& connection, std::uint64_t tag, link::Query request) {
  const auto replied = [weak = std::weak_ptr(connection), tag](pmix_status_t status, data::Infos results) {
    if (const auto open = weak.lock())
      open->send(link::MessageType::results, tag,
                 link::encode(link::QueryAnswer{status, std::move(results)}));
  };
  if (connection->uid != ::getuid() && connection->uid != 0) return replied(PMIX_ERR_NO_PERMISSIONS, {});
  const auto open = std::make_shared<Open>();
  open->query = std::move(request);
  open->done = replied;
  open->requester = connection;
  begin(open, connection->proc);
}

void Queries::query(const pmix_proc_t& caller, link::Query query, Replied done) {
  const auto open = std::make_shared<Open>();
  open->query = std::move(query);
  open->done = std::move(done);
  begin(open, caller);
}

void Queries::begin(const OpenRef& open, const pmix_proc_t& caller) {
  std::size_t asked = 0;
  for (const auto& item : open->query.items) {
    auto scope = QueryScope::parse(item.qualifiers, caller);
    if (!scope) return open->done(PMIX_ERR_BAD_PARAM, {});
    open->scopes.push_back(std::move(*scope));
    asked += item.keys.size();
  }
  if (asked == 0) return open->done(PMIX_ERR_BAD_PARAM, {});
  gather(open);
}

/// Gathers one thing after the other; the end of each calls this again.
void Queries::gather(const OpenRef& open) {
  if (gather_report(open) || gather_table(open)) return;
  reply(open);
}

/// Gathers the report of the cluster. True: it is under way.
bool Queries::gather_report(const OpenRef& open) {
  if (open->gathered.report) return false;
  bool is_needed = false, is_of_all = false;
  for (std::size_t i = 0; i < open->scopes.size(); ++i)
    for (const auto& key : open->query.items[i].keys) {
      if (!QueryKeys::needs_report(key, open->scopes[i])) continue;
      is_needed = true;
      is_of_all |= !open->scopes[i].is_local_only;
    }
  if (!is_needed) return false;
  with_report(is_of_all, [this, open](const ClusterReport& report) {
    open->gathered.report = report;
    gather(open);
  });
  return true;
}

/// Gathers the next table of processes. True: it is under way.
bool Queries::gather_table(const OpenRef& open) {
  for (std::size_t i = 0; i < open->scopes.size(); ++i)
    for (const auto& key : open->query.items[i].keys) {
      const auto& scope = open->scopes[i];
      if (!QueryKeys::needs_table(key, scope) || open->gathered.tables.count(scope.nspace) != 0) continue;
      const auto take = [this, open, nspace = scope.nspace](const std::vector<ProcessRow>& rows) {
        open->gathered.tables[nspace] = rows;
        gather(open);
      };
      const auto* job = jobs_.find(scope.nspace);
      job != nullptr ? processes_.collect(*job, take) : processes_.collect(scope.nspace, take);
      return true;
    }
  return false;
}

void Queries::reply(const OpenRef& open) {
  groups_.settle();
  data::Infos out;
  std::vector<std::vector<std::string>> unknown(open->scopes.size());  // one an item
  bool is_all = true;
  for (std::size_t i = 0; i < open->scopes.size(); ++i)
    for (const auto& key : open->query.items[i].keys) {
      auto value = keys_.answer(key, open->scopes[i], open->gathered);
      if (!value && value.error().code == Errc::no_memory) return open->done(PMIX_ERR_NOMEM, {});
      is_all = is_all && value;
      value ? out.add(key, std::move(*value)) : unknown[i].push_back(key);
    }
  if (is_all) return open->done(PMIX_SUCCESS, std::move(out));
  if (open->requester != nullptr && host_.offers(&pmix_server_module_t::query))
    return ask_host(open, std::move(out), unknown);
  if (out.size() != 0) return open->done(PMIX_ERR_PARTIAL_SUCCESS, std::move(out));
  const bool is_for_host = std::any_of(open->scopes.begin(), open->scopes.end(),
                                       [](const QueryScope& scope) { return scope.is_for_host; });
  open->done(is_for_host ? PMIX_ERR_NOT_SUPPORTED : PMIX_ERR_NOT_FOUND, {});
}

/// unknown: the keys of each item that are left for it; the host is told the requester's user, too.
void Queries::ask_host(const OpenRef& open, data::Infos known,
                       const std::vector<std::vector<std::string>>& unknown) {
  const Requester requester{open->requester};
  std::vector<std::vector<char*>> keys(unknown.size());
  std::vector<pmix_query_t> queries;
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    if (unknown[i].empty()) continue;
    for (const auto& key : unknown[i]) keys[i].push_back(const_cast<char*>(key.c_str()));
    keys[i].push_back(nullptr);
    auto& qualifiers = open->query.items[i].qualifiers;
    requester.add_user(qualifiers);
    queries.push_back({keys[i].data(), qualifiers.data(), qualifiers.size()});
  }
  auto all = data::value_of_array(PMIX_QUERY, queries.data(), queries.size());
  if (!all) return open->done(PMIX_ERR_NOMEM, {});
  const auto held = std::make_shared<data::Infos>(std::move(known));
  host_.query(requester.proc(), std::move(*all), [open, held](pmix_status_t status, data::Infos infos) {
    for (std::size_t i = 0; i < infos.size(); ++i) {
      auto& info = infos.data()[i];
      held->add(data::key_of(info), data::Value::adopt(info.value));
      info.value.type = PMIX_UNDEF;  // what it held is the list's now
    }
    if (status != PMIX_SUCCESS && held->size() != 0) status = PMIX_ERR_PARTIAL_SUCCESS;
    open->done(status, std::move(*held));
  });
}

void Queries::with_report(bool with_others, std::function<void(const ClusterReport&)> then) {
  if (with_others) return Survey::run(loop_, cluster_, cluster_name_, own_, std::move(then));
  const auto self = cluster_.self();
  auto report = merged(cluster_name_, self, {{self, own_.host_name(), NodeEntry::State::here, own_.make({})}},
                       [this](const FenceName& name) { return own_.members_of(name); });
  report.size = count_expected(cluster_.servers());
  then(report);
}

}  // namespace weft::server
