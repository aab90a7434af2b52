// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/cluster/views.hpp"

#include <algorithm>
#include <functional>

#include "base/log_format.hpp"

namespace weft::server {
namespace {

using collectives::End;
using collectives::GivenUp;
using Key = collectives::Engine::Key;

/// view_result: of which collective.
struct ResultRequest {
  static constexpr std::uint16_t wire_version = 1;
  collectives::Signature signature;
  collectives::Generation generation = 0;
};
template <class Archive>
void fields(Archive& archive, ResultRequest& m) {
  archive(m.signature, m.generation);
}

/// The leader mostly knows of a loss by itself, and asks before it is told that a view is wanted.
constexpr std::chrono::milliseconds patience{20};

Key key_of(const End& end) {
  return {end.signature, end.generation};
}

/// All in order.
bool covers(const collectives::Unsettled& about, const std::set<NodeNumber>& lost,
            const std::vector<GivenUp>& given_up) {
  const auto is_before = [](const GivenUp& a, const GivenUp& b) {
    return std::pair(a.signature, a.generation) < std::pair(b.signature, b.generation);
  };
  const auto& all = about.given_up;
  return std::includes(about.lost.begin(), about.lost.end(), lost.begin(), lost.end()) &&
         std::includes(all.begin(), all.end(), given_up.begin(), given_up.end(), is_before);
}

}  // namespace

Views::Views(Loop& loop, NodeNumber self, NodeNumber nodes, mesh::Mesh& mesh, Rpc& rpc,
             collectives::Engine& engine, Others& others, const std::vector<ViewRoom*>& rooms)
    : loop_(loop),
      self_(self),
      nodes_(nodes),
      mesh_(mesh),
      rpc_(rpc),
      engine_(engine),
      others_(others),
      rooms_(rooms) {
  rpc_.on(RequestType::view_wanted,
          [this](NodeNumber from, Bytes body, const Rpc::Reply& reply) { on_wanted(from, body, reply); });
  rpc_.on(RequestType::view_report,
          [this](NodeNumber from, Bytes body, const Rpc::Reply& reply) { on_report(from, body, reply); });
  rpc_.on(RequestType::view_install,
          [this](NodeNumber from, Bytes body, const Rpc::Reply& reply) { on_install(from, body, reply); });
  rpc_.on(RequestType::view_result,
          [this](NodeNumber, Bytes body, const Rpc::Reply& reply) { on_result(body, reply); });
}

void Views::node_lost(NodeNumber node) {
  lost_.insert(node);
  engine_.suspend(node);
  is_wanted_ = true;
  is_for_others_ |= is_asking_;
  is_asking_ = false;
}

void Views::close() noexcept {
  is_closed_ = true;
  is_asking_ = false;
  patience_.reset();
}

bool Views::progress() {
  if (is_closed_) return false;
  is_wanted_ |= engine_.take_begun_undecided();
  if (is_asking_ || !std::exchange(is_wanted_, false)) return false;
  if (!is_for_others_ && !has_undecided()) return false;
  const auto whose = leader();
  if (whose == self_) {
    begin_round();
    return true;
  }
  if (!patience_) patience_.emplace(loop_, patience, [this] { tell_leader(); });
  return true;
}

bool Views::has_undecided() const {
  return engine_.has_undecided() || std::any_of(rooms_.begin(), rooms_.end(),
                                                [](const ViewRoom* room) { return room->has_undecided(); });
}

/// Lost before it asks: the next one is wanted. It replies when it knows of these losses.
void Views::tell_leader() {
  patience_.reset();
  if (!is_for_others_ && !has_undecided()) return;
  const auto whose = leader();
  if (whose == self_) {
    is_wanted_ = true;  // progress() comes after each timer
    return;
  }
  rpc_.send(whose, RequestType::view_wanted, base::encode(Request{newest_.first, known()}), nullptr);
}

NodeNumber Views::leader() const {
  for (const auto node : others_.others()) {  // ascending
    if (node > self_) break;
    if (lost_.count(node) == 0) return node;
  }
  return self_;
}

/// True: of a loss that was not known.
bool Views::learn(const collectives::Unsettled& about) {
  const auto before = lost_.size();
  for (const auto node : about.lost) {
    if (!lost_.insert(node).second) continue;
    engine_.suspend(node);
    others_.take_for_lost(node);
    static_cast<void>(mesh_.exclude(node, "another node's server has lost it"));
  }
  for (const auto& each : about.given_up) engine_.give_up(each);
  return lost_.size() != before;
}

/// Errors: corrupt (also: nodes out of order, twice, or of another cluster; the sender or the receiver among
/// them).
weft::Result<Views::Request> Views::read(NodeNumber from, Bytes body) const {
  auto request = base::decode<Request>(body);
  if (!request) return fail(request.error());
  const auto& lost = request->about.lost;
  const bool is_in_order = std::adjacent_find(lost.begin(), lost.end(), std::greater_equal<>()) == lost.end();
  const bool is_known = lost.empty() || lost.back() < nodes_;
  const auto names = [&](NodeNumber node) { return std::binary_search(lost.begin(), lost.end(), node); };
  if (!is_in_order || !is_known || names(from) || names(self_)) return fail(Errc::corrupt);
  return request;
}

/// What is given up: in the order of the names, each once.
collectives::Unsettled Views::known() const {
  auto given_up = wanted_;
  for (const auto& each : engine_.given_up())
    given_up.emplace(Key{each.signature, each.generation}, each.why);
  collectives::Unsettled out{{lost_.begin(), lost_.end()}, {}};
  for (const auto& [key, why] : given_up) out.given_up.push_back({key.first, key.second, why});
  return out;
}

// ---- the leader

void Views::on_wanted(NodeNumber from, Bytes body, const Rpc::Reply& reply) {
  const auto request = read(from, body);
  if (!request) return reply(PMIX_ERR_BAD_PARAM, {});
  if (learn(request->about)) is_asking_ = false;
  for (const auto& each : request->about.given_up)
    wanted_.emplace(Key{each.signature, each.generation}, each.why);
  // A view that is asked for covers what a server wants that has not reported to it.
  if (!is_asking_ || request->number >= newest_.first) is_wanted_ = is_for_others_ = true;
  reply(PMIX_SUCCESS, {});
}

void Views::begin_round() {
  newest_ = {newest_.first + 1, self_};
  is_asking_ = true;
  is_for_others_ = false;
  reports_.clear();
  silent_.clear();
  for (const auto node : others_.others())
    if (lost_.count(node) == 0) silent_.insert(node);
  const Request request{newest_.first, known()};
  asked_ = request.about.given_up;
  base::info(
      base::LogPart::mesh,
      "servers agree on what {} lost nodes leave undecided, and {} operations that are given up: view {}",
      lost_.size(), request.about.given_up.size(), request.number);
  const auto body = base::encode(request);
  for (const auto node : silent_)
    rpc_.send(node, RequestType::view_report, body,
              [this, node, number = request.number](pmix_status_t status, Bytes reported) {
                if (!is_asking_ || number != newest_.first) return;
                auto report = status == PMIX_SUCCESS ? base::decode<Report>(reported) : fail(Errc::not_found);
                if (report && report->outcome == Report::Outcome::has_newer) {
                  is_asking_ = false;
                  is_wanted_ = is_for_others_ = true;
                  return;
                }
                // A server that has left has nothing undecided. The loss of one begins another round.
                take(node, report ? std::move(*report) : Report());
              });
  take(self_, report(request.about));
}

void Views::take(NodeNumber from, Report report) {
  silent_.erase(from);
  reports_[from] = std::move(report);
  if (!silent_.empty() || reports_.count(self_) == 0) return;
  is_asking_ = false;
  for (const auto& each : asked_) wanted_.erase({each.signature, each.generation});
  Installation installation{newest_.first, decide(reports_)};
  bool is_empty = installation.decisions.empty();
  for (std::size_t i = 0; i < rooms_.size(); ++i) {
    ViewRoom::Reports of_room;
    for (auto& [node, reported] : reports_)
      if (i < reported.rooms.size()) of_room.emplace(node, std::move(reported.rooms[i]));
    installation.rooms.push_back(rooms_[i]->decide(of_room));
    is_empty &= installation.rooms.back().empty();
  }
  const auto reports = std::exchange(reports_, {});
  if (is_empty) return;
  const auto body = base::encode(installation);
  for (const auto& [node, reported] : reports)
    if (node != self_) rpc_.send(node, RequestType::view_install, body, nullptr);
  install(installation);
}

std::vector<Views::Decision> Views::decide(const std::map<NodeNumber, Report>& reports) {
  std::map<Key, Decision> decisions;
  for (const auto& [node, report] : reports)
    for (const auto& end : report.collectives.undecided) {
      const auto [known, is_new] = decisions.emplace(key_of(end), Decision{end, node});
      if (is_new) continue;
      auto& all = known->second.end;
      all.lost = std::min(all.lost, end.lost);
      all.after_loss = std::max(all.after_loss, end.after_loss);
    }
  std::set<Key> ended;
  for (const auto& [node, report] : reports)
    for (const auto& end : report.collectives.ended) {
      const auto known = decisions.find(key_of(end));
      if (known == decisions.end() || known->second.end.is_well != 0) continue;
      if (end.is_well != 0 || ended.insert(key_of(end)).second) known->second = {end, node};
    }
  std::vector<Decision> out;
  for (const auto& [key, decision] : decisions) out.push_back(decision);
  return out;
}

// ---- the others

Views::Report Views::report(const collectives::Unsettled& about) {
  Report out{engine_.account(about)};
  for (const auto* room : rooms_) out.rooms.push_back(room->report());
  return out;
}

void Views::on_report(NodeNumber from, Bytes body, const Rpc::Reply& reply) {
  const auto request = read(from, body);
  if (!request) return reply(PMIX_ERR_BAD_PARAM, {});
  const auto reply_with = [&reply](const Report& report) { reply(PMIX_SUCCESS, base::encode(report)); };
  if (is_closed_) return reply_with({.outcome = Report::Outcome::has_left});
  if (std::pair(request->number, from) < newest_) return reply_with({.outcome = Report::Outcome::has_newer});
  newest_ = {request->number, from};
  patience_.reset();
  learn(request->about);
  is_wanted_ |= !covers(request->about, lost_, engine_.given_up());
  reply_with(report(request->about));
}

void Views::on_install(NodeNumber from, Bytes body, const Rpc::Reply& reply) {
  const auto installation = base::decode<Installation>(body);
  if (!installation) return reply(PMIX_ERR_BAD_PARAM, {});
  // Of a view before the last that this server has reported to: that one decides.
  if (!is_closed_ && std::pair(installation->number, from) == newest_) install(*installation);
  reply(PMIX_SUCCESS, {});
}

void Views::install(const Installation& installation) {
  for (const auto& decision : installation.decisions) {
    const bool is_to_fetch =
        decision.end.is_well != 0 && decision.holder != self_ && engine_.has_data(key_of(decision.end));
    is_to_fetch ? fetch(decision) : engine_.settle(decision.end, nullptr);
  }
  for (std::size_t i = 0; i < std::min(rooms_.size(), installation.rooms.size()); ++i)
    if (!installation.rooms[i].empty()) rooms_[i]->install(installation.rooms[i]);
}

void Views::fetch(const Decision& decision) {
  const auto& end = decision.end;
  rpc_.send(decision.holder, RequestType::view_result,
            base::encode(ResultRequest{end.signature, end.generation}),
            [this, end](pmix_status_t status, Bytes body) {
              // Another view says which server has it now, or that none has.
              if (status == PMIX_ERR_UNREACH) {
                is_wanted_ = true;
                return;
              }
              auto came = status == PMIX_SUCCESS ? base::decode<Result>(body) : fail(Errc::not_found);
              engine_.settle(end, came && came->contributions ? &*came->contributions : nullptr);
            });
}

void Views::on_result(Bytes body, const Rpc::Reply& reply) {
  const auto request = base::decode<ResultRequest>(body);
  if (!request) return reply(PMIX_ERR_BAD_PARAM, {});
  const auto* const result = engine_.result_of({request->signature, request->generation});
  reply(PMIX_SUCCESS, base::encode(Result{result != nullptr ? std::optional(*result) : std::nullopt}));
}

}  // namespace weft::server
