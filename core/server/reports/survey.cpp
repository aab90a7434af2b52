// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/reports/survey.hpp"

#include <utility>

#include "core/server/reports/choices/choices.hpp"

namespace weft::server {

void Survey::run(Loop& loop, Cluster& cluster, std::string name, OwnReport& own, Then then) {
  std::make_shared<Survey>(loop, cluster, std::move(name), own, std::move(then))->ask_everything();
}

void Survey::ask_everything() {
  const ReportRequest everything;
  entries_.resize(cluster_.servers().count());
  open_ = 1;  // ours, so that the round does not end while it begins
  for (NodeNumber node = 0; node < cluster_.servers().count(); ++node) {
    auto& entry = entries_[node];
    entry.node = node;
    entry.host = cluster_.servers().name_of(node);
    if (node == cluster_.self()) {
      entry.state = NodeEntry::State::here;
      entry.report = own_.make(everything);
    } else if (cluster_.servers().is_there(node)) {
      entry.state = NodeEntry::State::silent;
      ask(node, everything);
    } else {
      entry.state = cluster_.servers().has_left(node)  ? NodeEntry::State::left
                    : cluster_.servers().is_lost(node) ? NodeEntry::State::lost
                                                       : NodeEntry::State::unknown;
    }
  }
  wait(&Survey::ask_parts);
}

/// A node that none of whose ranks has come to a fence does not know that there is one.
void Survey::ask_parts() {
  const auto missing = unanswered(entries_, members());
  open_ = 1;
  for (NodeNumber node = 0; node < missing.size(); ++node) {
    if (missing[node].empty()) continue;
    const ReportRequest request{.everything = 0, .fences = missing[node]};
    if (node != cluster_.self()) {
      ask(node, request);
      continue;
    }
    auto own = own_.make(request);
    for (auto& part : own.fences) entries_[node].report.fences.push_back(std::move(part));
  }
  wait(&Survey::finish);
}

MembersOf Survey::members() const {
  return [this](const FenceName& name) { return own_.members_of(name); };
}

/// Numbers that no node has taken are none.
void Survey::finish() {
  std::erase_if(entries_, [this](const NodeEntry& entry) {
    return entry.state == NodeEntry::State::unknown && !cluster_.servers().is_expected(entry.node);
  });
  auto report = merged(std::move(name_), cluster_.self(), std::move(entries_), members());
  if (cluster_.is_open()) add_choices(engine_options(cluster_.costs().rule()), report);
  then_(std::move(report));
}

void Survey::ask(NodeNumber node, const ReportRequest& request) {
  ++open_;
  const auto answered = [self = shared_from_this(), node, round = round_](pmix_status_t status, Bytes body) {
    if (round == self->round_) self->take(node, status, body);  // else it comes too late
  };
  cluster_.send(node, RequestType::report, encode(request), answered);
}

void Survey::take(NodeNumber node, pmix_status_t status, Bytes body) {
  auto& entry = entries_[node];
  auto report = status == PMIX_SUCCESS ? decode<NodeReport>(body) : fail(Errc::corrupt);
  if (!report)
    entry.state = status == PMIX_ERR_UNREACH ? NodeEntry::State::lost : NodeEntry::State::unreadable;
  else if (std::exchange(entry.state, NodeEntry::State::here) != NodeEntry::State::here)
    entry.report = std::move(*report);
  else
    for (auto& part : report->fences) entry.report.fences.push_back(std::move(part));
  if (--open_ == 0) go_on();
}

/// The round has begun: it ends with its last answer, or when time is up.
void Survey::wait(Next next) {
  next_ = next;
  if (--open_ == 0) return go_on();
  timer_ = std::make_unique<Timer>(loop_, limit, [this, self = shared_from_this()] { go_on(); });
}

void Survey::go_on() {
  ++round_;
  timer_.reset();
  (this->*next_)();
}

}  // namespace weft::server
