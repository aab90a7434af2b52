// SPDX-License-Identifier: BSD-3-Clause
// Groups: operations that go on without nodes that are lost.
//
// A loss ends the attempt at each node that has not ended it yet, and others may have ended it well before. So a node that sees it fail asks all
// others, which end the attempt by that question if it is still open there: either one has ended it well, and its end is that of all, as if the
// node had been lost right after; or no node has, and all begin again without the lost nodes' members. A node that has ended it with an error,
// because its own members would not go on, ends it so for all. Whether a construct goes on is what handlers say (losses.hpp), or its members'
// directives.
#include <algorithm>

#include "core/server/groups/groups.hpp"

namespace weft::server {
namespace {

bool may_leave_out(const Meeting& meeting) noexcept {
  return meeting.goes_on_smaller || meeting.kind == Meeting::Kind::construct;
}

}  // namespace

/// Nodes that know of other losses are in other attempts (Exchanges::rivals), and agree by asking each other; in each round one of
/// them learns of a loss.
bool Groups::may_go_on_without(const Operation& operation, pmix_status_t status) const {
  const bool may_be_of_loss = status == PMIX_ERR_PROC_ABORTED || status == Exchanges::rivals;
  return may_be_of_loss && may_leave_out(operation.meeting) && !operation.lost.empty() &&
         operation.failed.size() <= jobs_.nodes_of(operation.meeting.set).size();
}

AttemptInquiry Groups::inquiry_about(const Operation& operation) {
  return {Exchanges::name_of(operation.participants, operation.key->second),
          *operation.first,
          {operation.lost.begin(), operation.lost.end()}};
}

/// Other nodes go on without the attempt, whose last part has come here nevertheless.
void Groups::keep_word(Operation& operation, CardExchange::End& ended) const {
  const auto* lost = operation.key ? given_up_.find(*operation.key) : nullptr;
  if (lost == nullptr || ended.status != PMIX_SUCCESS) return;
  ended.status = PMIX_ERR_PROC_ABORTED;
  operation.lost.insert(lost->begin(), lost->end());
}

void Groups::settle(const OperationRef& operation) {
  operation->failed.push_back(*operation->key);
  if (!operation->first)
    operation->first = Exchanges::name_of(operation->participants, operation->key->second);
  settling_.push_back(operation);
  watch_deadline(operation);
  auto nodes = jobs_.nodes_of(operation->meeting.set);
  std::erase_if(nodes,
                [&](NodeNumber node) { return node == peers_.self() || operation->lost.count(node) != 0; });
  struct Answers {
    std::size_t left;
    std::optional<std::vector<std::byte>> made{};
    pmix_status_t over = PMIX_SUCCESS;  ///< it has ended so at a node
  };
  const auto answers = std::make_shared<Answers>(Answers{nodes.size()});
  const auto inquiry = inquiry_about(*operation);
  if (nodes.empty()) return go_on(operation);
  for (const auto node : nodes)
    peers_.send(node, RequestType::group_attempt, base::encode(inquiry),
                [this, operation, answers, node](pmix_status_t status, Bytes body) {
                  if (status == PMIX_SUCCESS)
                    answers->made.emplace(body.begin(), body.end());
                  else if (status == PMIX_ERR_UNREACH)
                    operation->lost.insert(node);
                  else if (status != PMIX_ERR_NOT_FOUND)
                    answers->over = status;
                  if (--answers->left != 0 || !is_settling(operation)) return;
                  if (answers->made) return adopt(operation, *answers->made);
                  answers->over != PMIX_SUCCESS ? give_up(operation, answers->over) : go_on(operation);
                });
}

/// About a construct the lowest node that is left decides for all: by its members' directives, or by handlers.
void Groups::go_on(const OperationRef& operation) {
  if (operation->meeting.kind != Meeting::Kind::construct) return go_on_without(operation);
  auto nodes = jobs_.nodes_of(operation->meeting.set);
  std::erase_if(nodes, [&](NodeNumber node) { return operation->lost.count(node) != 0; });
  const auto inquiry = inquiry_about(*operation);
  peers_.send(nodes.front(), RequestType::group_verdict, base::encode(inquiry),
              [this, operation, node = nodes.front()](pmix_status_t status, Bytes) {
                if (!is_settling(operation)) return;
                if (status == PMIX_SUCCESS) return go_on_without(operation);
                if (status == PMIX_ERR_UNREACH) {
                  operation->lost.insert(node);
                  return go_on(operation);
                }
                give_up(operation, status);
              });
}

void Groups::give_up(const OperationRef& operation, pmix_status_t why) {
  std::erase(settling_, operation);
  for (const auto& attempt : operation->failed) recent_.add(attempt, {why, {}});
  answer(operation->meeting, {why, {}, {}});
  tell_constructed(operation->meeting);
}

/// What another node has made of it.
void Groups::adopt(const OperationRef& operation, Bytes bytes) {
  std::erase(settling_, operation);
  const auto& meeting = operation->meeting;
  if (meeting.kind != Meeting::Kind::construct) return end(meeting, {}, operation->failed.back());
  auto made = made_in(bytes);
  if (!made || made->name != meeting.group || made->group.members.empty()) {
    answer(meeting, {PMIX_ERR_UNPACK_FAILURE, {}, {}});
  } else {
    recent_.add(operation->failed.back(), {PMIX_SUCCESS, {bytes.begin(), bytes.end()}});
    const bool is_smaller = link::count_of(made->group.members) < link::count_of(by_rank(meeting.set));
    const link::GroupMembers members{.runs = made->group.members};
    conclude(meeting, std::move(*made), is_smaller ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_SUCCESS, members);
  }
  tell_constructed(meeting);
}

Participants Groups::leave_out_lost(Operation& operation) const {
  const auto& meeting = operation.meeting;
  Procs left;
  operation.absent.clear();
  for (const auto& proc : link::procs_of(by_rank(meeting.set)).value_or(Procs())) {
    const auto node = peers_.node_of(proc);
    (node && operation.lost.count(*node) != 0 ? operation.absent : left).push_back(proc);
  }
  return Participants(set_of_group(left), operation_of(meeting), meeting.goes_on_smaller);
}

void Groups::go_on_without(const OperationRef& operation) {
  std::erase(settling_, operation);
  operation->participants = leave_out_lost(*operation);
  if (!are_all_here(operation->participants)) return exchange(operation);
  const auto& meeting = operation->meeting;
  end(meeting, {std::move(operation->own), {.absent = link::runs_of(operation->absent)}}, std::nullopt);
  tell_constructed(meeting);
}

/// PMIX_SUCCESS: it has ended well here, with what it has made. PMIX_ERR_NOT_FOUND: it has not, and will not. Another status: it has ended so
/// here, and is over.
void Groups::answer_attempt(Bytes body, const Rpc::Reply& reply) {
  const auto inquiry = base::decode<AttemptInquiry>(body);
  auto procs = inquiry ? jobs_.procs_of(inquiry->attempt.procs) : weft::fail(Errc::corrupt);
  auto all = inquiry ? jobs_.procs_of(inquiry->first.procs) : weft::fail(Errc::corrupt);
  if (!procs || !all || jobs_.nodes_of(*procs).empty()) return reply(PMIX_ERR_BAD_PARAM, {});
  const Participants participants(std::move(*procs), inquiry->attempt.operation);
  const Exchanges::Key key{participants.signature(), inquiry->attempt.generation};
  // How it has ended with those that were lost since counts, too.
  const Participants before(std::move(*all), inquiry->first.operation);
  const auto* end = recent_.find({before.signature(), inquiry->first.generation});
  if (end == nullptr) end = recent_.find(key);
  if (end != nullptr) return reply(end->status, end->made);
  const auto is_it = [&](const OperationRef& each) {
    return each->key == key || std::find(each->failed.begin(), each->failed.end(), key) != each->failed.end();
  };
  const auto learn = [&](Operation& operation) {
    const auto known = operation.lost.size();
    for (const auto node : inquiry->lost)
      if (node != peers_.self()) operation.lost.insert(node);
    return operation.lost.size() != known;
  };
  if (const auto settling = std::find_if(settling_.begin(), settling_.end(), is_it);
      settling != settling_.end()) {
    learn(**settling);
    return reply(PMIX_ERR_NOT_FOUND, {});
  }
  const auto open =
      std::find_if(open_.begin(), open_.end(), [&](const auto& each) { return is_it(each.second); });
  // All parts of it may be here already, or come before word of its end.
  const auto give_up_on = [&](const Exchanges::Key& attempt) {
    auto lost = inquiry->lost;
    if (const auto* known = given_up_.find(attempt)) lost.insert(lost.end(), known->begin(), known->end());
    given_up_.add(attempt, std::move(lost));
  };
  if (open == open_.end()) {
    if (attempts(participants) >= key.second) return reply(PMIX_ERR_PROC_ABORTED, {});
    give_up_on(key);
    return reply(PMIX_ERR_NOT_FOUND, {});
  }
  const auto operation = open->second;
  if (learn(*operation) || operation->key == key) {
    give_up_on(*operation->key);
    abort(*operation->key, PMIX_ERR_PROC_ABORTED);
  }
  reply(may_leave_out(operation->meeting) ? PMIX_ERR_NOT_FOUND : PMIX_ERR_PROC_ABORTED, {});
}

}  // namespace weft::server
