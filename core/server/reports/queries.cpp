// SPDX-License-Identifier: BSD-3-Clause
// Those who look on: tools, which are members of no job, and queries of anybody.
#include <unistd.h>

#include "core/server/server.hpp"

namespace weft::server {

using link::MessageType;

/// Whoever may read this process's memory anyway may look on: its user, and root. The kernel says who it is.
void Server::greet_tool(const SessionRef& session, const link::Frame& frame) {
  if (refuse_other_version(session, frame)) return;
  if (!link::decode<link::HelloTool>(frame.payload))
    return refuse(session, PMIX_ERR_BAD_PARAM, "malformed greeting");
  if (session->uid != ::getuid() && session->uid != 0)
    return refuse(session, PMIX_ERR_NO_PERMISSIONS,
                  "user " + std::to_string(session->uid) + " may not look at jobs of user " +
                      std::to_string(::getuid()));
  session->greeted = true;
  session->is_tool = true;
  (void)session->watch_process();  // without pidfd the closing socket says the same
  const link::Welcome welcome{.local = store::none, .server_nspace = self_.nspace, .server_rank = self_.rank};
  session->send(MessageType::welcome, 0, link::encode(welcome));
  session->admit();
}

void Server::query_request(const SessionRef& session, std::uint64_t tag, link::Query message) {
  const auto reply = [weak = std::weak_ptr(session), tag](pmix_status_t status, data::Infos results) {
    if (const auto s = weak.lock())
      s->send(MessageType::results, tag, link::encode(link::QueryAnswer{status, std::move(results)}));
  };
  if (session->uid != ::getuid() && session->uid != 0) return reply(PMIX_ERR_NO_PERMISSIONS, {});
  query_here(std::move(message), reply);
}

void Server::query(link::Query query, Answered done) {
  auto held = std::make_shared<link::Query>(std::move(query));
  run_later([this, held, done = std::move(done)] { query_here(std::move(*held), done); });
}

void Server::query_here(link::Query query, Answered done) {
  bool wants_session = false, wants_others = false;
  for (const auto& item : query.items) {
    if (std::find(item.keys.begin(), item.keys.end(), session_key) == item.keys.end()) continue;
    const auto* only_here = item.qualifiers.find(PMIX_QUERY_LOCAL_ONLY);
    wants_session = true;
    wants_others |= only_here == nullptr || !data::is_true(only_here->value);
  }
  auto held = std::make_shared<link::Query>(std::move(query));
  if (!wants_session) return answer_query(*held, nullptr, done);
  report_session(wants_others, [this, held, done = std::move(done)](const SessionReport& report) {
    answer_query(*held, &report, done);
  });
}

/// report: if it was asked for.
void Server::answer_query(const link::Query& query, const SessionReport* report, const Answered& done) {
  data::Infos out;
  std::size_t asked = 0;
  for (const auto& item : query.items)
    for (const auto& key : item.keys) {
      ++asked;
      if (key == PMIX_QUERY_NAMESPACES) {
        out.add(key, data::Value::of(std::string_view(namespaces())));
      } else if (key == session_key && report != nullptr) {
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

std::string Server::namespaces() const {
  std::string out;
  for (const auto& [name, job] : jobs_)
    if (job->writer) out += (out.empty() ? "" : ",") + name;
  return out;
}

void Server::report_session(bool with_others, std::function<void(SessionReport)> done) {
  const std::string nspace(link::nspace_of(self_));
  if (nodes_ && with_others) return Survey::run(loop_, *nodes_, nspace, survey_hooks(), std::move(done));
  const NodeNumber self = nodes_ ? nodes_->self() : 0;
  auto report =
      merged(nspace, self, {{self, host_, NodeEntry::State::here, own_report({})}}, survey_hooks().members);
  if (nodes_) report.size = nodes_->count();
  done(std::move(report));
}

}  // namespace weft::server
