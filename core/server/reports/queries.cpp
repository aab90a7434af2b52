// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/reports/queries.hpp"

#include <unistd.h>

#include <algorithm>

namespace weft::server {

Queries::Queries(asio::io_context& loop, std::string cluster_name, OwnReport& own, Cluster* cluster)
    : loop_(loop), cluster_name_(std::move(cluster_name)), own_(own), cluster_(cluster) {
  if (cluster_ == nullptr) return;
  cluster_->rpc().on(RequestType::report, [this](NodeNumber, Bytes body, const Rpc::Reply& reply) {
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
  query(std::move(request), replied);
}

void Queries::query(link::Query query, Replied done) {
  bool wants_report = false, wants_others = false;
  for (const auto& item : query.items) {
    if (std::find(item.keys.begin(), item.keys.end(), report_key) == item.keys.end()) continue;
    const auto* only_here = item.qualifiers.find(PMIX_QUERY_LOCAL_ONLY);
    wants_report = true;
    wants_others |= only_here == nullptr || !data::is_true(only_here->value);
  }
  if (!wants_report) return reply(query, nullptr, done);
  auto held = std::make_shared<link::Query>(std::move(query));
  with_report(wants_others, [this, held, done = std::move(done)](const ClusterReport& report) {
    reply(*held, &report, done);
  });
}

/// report: if it was asked for.
void Queries::reply(const link::Query& query, const ClusterReport* report, const Replied& done) const {
  data::Infos out;
  std::size_t asked = 0;
  for (const auto& item : query.items)
    for (const auto& key : item.keys) {
      ++asked;
      if (key == PMIX_QUERY_NAMESPACES) {
        out.add(key, data::Value::of(std::string_view(own_.namespaces())));
      } else if (key == report_key && report != nullptr) {
        auto value = to_value(*report);
        if (!value) return done(PMIX_ERR_NOMEM, {});
        out.add(key, std::move(*value));
      }
    }
  if (asked == 0) return done(PMIX_ERR_BAD_PARAM, {});
  if (out.size() == 0) return done(PMIX_ERR_NOT_SUPPORTED, {});
  const auto status = out.size() == asked ? PMIX_SUCCESS : PMIX_QUERY_PARTIAL_SUCCESS;
  done(status, std::move(out));
}

void Queries::with_report(bool with_others, std::function<void(const ClusterReport&)> then) {
  if (cluster_ != nullptr && with_others)
    return Survey::run(loop_, *cluster_, cluster_name_, own_, std::move(then));
  const NodeNumber self = cluster_ != nullptr ? cluster_->self() : 0;
  auto report = merged(cluster_name_, self, {{self, own_.host_name(), NodeEntry::State::here, own_.make({})}},
                       [this](const FenceName& name) { return own_.members_of(name); });
  if (cluster_ != nullptr) report.size = cluster_->count();
  then(report);
}

}  // namespace weft::server
