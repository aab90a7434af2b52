// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/handlers/questions.hpp"

#include <algorithm>

#include "core/data/types/opaque.hpp"
#include "core/server/jobs/members.hpp"

namespace weft::server {
namespace {

link::GroupVerdict gone() {
  return {};
}

link::GroupVerdict without_handler(pmix_status_t status) {
  return {0, link::GroupVerdict::By::no_handler, status, {}};
}

}  // namespace

Questions::Questions(Loop& loop, const Jobs& jobs, PeerCalls& peers)
    : loop_(loop), jobs_(jobs), peers_(peers) {
  peers_.on(RequestType::group_question,
            [this](NodeNumber, Bytes body, const Rpc::Reply& reply) { answer_peer(body, reply); });
}

void Questions::ask(const pmix_proc_t& proc, link::GroupQuestion question, Answered answered) {
  const auto node = peers_.node_of(proc);
  if (!node) return loop_.post([answered = std::move(answered)] { answered(gone()); });
  if (*node == peers_.self()) return ask_here(proc, std::move(question), std::move(answered));
  peers_.send(*node, RequestType::group_question, base::encode(PeerQuestion{proc, std::move(question)}),
              [answered = std::move(answered)](pmix_status_t status, Bytes body) {
                const data::OpaqueIgnored ignored;
                auto verdict = link::decode<link::GroupVerdict>(body);
                answered(status == PMIX_SUCCESS && verdict ? std::move(*verdict) : gone());
              });
}

void Questions::ask_all(const Procs& procs, const std::function<link::GroupQuestion()>& make,
                        std::function<void(std::vector<Vote>)> answered) {
  struct Poll {
    std::vector<Vote> votes;
    std::size_t left;
    std::function<void(std::vector<Vote>)> answered;
  };
  const auto poll = std::make_shared<Poll>(Poll{{}, procs.size(), std::move(answered)});
  if (procs.empty()) return loop_.post([poll] { poll->answered({}); });
  for (const auto& proc : procs) poll->votes.push_back({proc, {}});
  for (std::size_t i = 0; i < procs.size(); ++i)
    ask(procs[i], make(), [poll, i](const link::GroupVerdict& verdict) {
      auto& vote = poll->votes[i].verdict;
      vote.by = verdict.by;
      vote.status = verdict.status;
      if (auto copy = data::Infos::copy_of(verdict.results.data(), verdict.results.size()))
        vote.results = std::move(*copy);
      if (--poll->left == 0) poll->answered(std::move(poll->votes));
    });
}

bool Questions::is_of_another_user(const pmix_proc_t& proc, const link::GroupQuestion& question) const {
  const auto* asker = question.infos.find(PMIX_USERID);
  const auto* job = jobs_.find(link::nspace_of(proc));
  if (asker == nullptr || job == nullptr) return false;
  const auto uid = data::as_unsigned(asker->value);
  const auto client = job->clients.find(proc.rank);
  return uid && client != job->clients.end() && client->second.uid != *uid;
}

void Questions::ask_here(const pmix_proc_t& proc, link::GroupQuestion question, Answered answered) {
  const auto connection = connection_of(jobs_, proc);
  const bool is_there = connection != nullptr && !connection->finalized;
  const auto* wishes = is_there ? &connection->subscription.wishes() : nullptr;
  const bool is_wanted =
      wishes != nullptr && std::any_of(question.codes.begin(), question.codes.end(),
                                       [&](pmix_status_t code) { return holds(wishes->codes, code); });
  if (!is_wanted) {
    const bool is_refused = is_of_another_user(proc, question);
    auto verdict = is_refused ? without_handler(PMIX_ERR_NO_PERMISSIONS)
                   : is_there ? without_handler(PMIX_SUCCESS)
                              : gone();
    return loop_.post([answered = std::move(answered), verdict = std::make_shared<link::GroupVerdict>(
                                                           std::move(verdict))] { answered(*verdict); });
  }
  question.number = ++last_;
  open_.emplace(last_, Open{connection.get(), proc, question.operation, std::move(answered)});
  connection->send(link::MessageType::group_question, 0, link::encode(question));
}

void Questions::take(const ConnectionRef& from, link::GroupVerdict verdict) {
  const auto open = open_.find(verdict.number);
  if (open == open_.end() || open->second.client != from.get()) return;
  const auto answered = std::move(open->second.answered);
  open_.erase(open);
  answered(verdict);
}

void Questions::closed(const ConnectionRef& connection) {
  end_all(connection.get());
  loop_.post([this, connection] { end_all(connection.get()); });
}

void Questions::end_all(const ClientConnection* client) {
  std::vector<Answered> ended;
  for (auto open = open_.begin(); open != open_.end();) {
    const auto each = open++;
    if (each->second.client != client) continue;
    ended.push_back(std::move(each->second.answered));
    open_.erase(each);
  }
  for (const auto& answered : ended) answered(gone());
}

bool Questions::is_asked(const pmix_proc_t& proc, std::string_view operation) const {
  return std::any_of(open_.begin(), open_.end(), [&](const auto& each) {
    return each.second.operation == operation && link::is_same(each.second.proc, proc);
  });
}

void Questions::answer_peer(Bytes body, const Rpc::Reply& reply) {
  const data::OpaqueIgnored ignored;
  auto message = link::decode<PeerQuestion>(body);
  if (!message) return reply(PMIX_ERR_BAD_PARAM, {});
  ask_here(message->proc, std::move(message->question),
           [reply](const link::GroupVerdict& verdict) { reply(PMIX_SUCCESS, link::encode(verdict)); });
}

}  // namespace weft::server
