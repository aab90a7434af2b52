// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/invitation/orphans.hpp"

#include <algorithm>

namespace weft::server {
namespace {

/// With all that any node knows of, in the order of the one that knows the most.
Procs all_members(const std::map<NodeNumber, OrphanPart>& parts) {
  std::vector<Procs> known;
  for (const auto& [node, part] : parts) known.push_back(link::procs_of(part.members).value_or(Procs()));
  std::stable_sort(known.begin(), known.end(),
                   [](const Procs& a, const Procs& b) { return a.size() > b.size(); });
  Procs out;
  for (const auto& procs : known) out.insert(out.end(), procs.begin(), procs.end());
  return link::each_once(out);
}

/// It has no leader. What does not come any more, or whose node is lost, the next leader is asked about.
std::shared_ptr<Invitation> invitation_of(const std::map<NodeNumber, OrphanPart>& parts) {
  const auto& first = parts.begin()->second;
  const auto out = std::make_shared<Invitation>();
  out->group = first.group;
  out->leader = out->inviter = first.leader;
  out->terms = first.terms;
  for (const auto& proc : all_members(parts)) {
    const bool may_come = std::any_of(
        parts.begin(), parts.end(), [&](const auto& each) { return link::holds(each.second.invited, proc); });
    Invitee invitee{proc};
    if (link::is_same(proc, first.leader))
      invitee.state = Invitee::State::out;
    else if (!may_come)
      invitee = {proc, Invitee::State::missing, PMIX_GROUP_INVITE_FAILED};
    out->invitees.push_back(std::move(invitee));
  }
  return out;
}

}  // namespace

Orphans::Orphans(const Jobs& jobs, PeerCalls& peers, Invited& invited, Invitations& invitations)
    : jobs_(jobs), peers_(peers), invited_(invited), invitations_(invitations) {
  peers_.on(RequestType::group_orphaned, [this](NodeNumber, Bytes body, const Rpc::Reply& reply) {
    const auto inquiry = base::decode<OrphanInquiry>(body);
    const bool is_valid = inquiry && jobs_.may_be_named(inquiry->members);
    is_valid ? follow(*inquiry, reply) : reply(PMIX_ERR_BAD_PARAM, {});
  });
  peers_.on(RequestType::group_orphan, [this](NodeNumber from, Bytes body, const Rpc::Reply& reply) {
    const auto inquiry = base::decode<OrphanInquiry>(body);
    if (!inquiry) return reply(PMIX_ERR_BAD_PARAM, {});
    if (inquiry->name.coordinator == peers_.self()) return reply(PMIX_ERR_EXISTS, {});  // it is not lost
    const auto part = invited_.hand_over(inquiry->name, from);
    reply(part ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, part ? base::encode(*part) : std::vector<std::byte>());
  });
  peers_.on(RequestType::group_adopted, [this](NodeNumber from, Bytes body, const Rpc::Reply& reply) {
    const auto word = base::decode<OrphanAdopted>(body);
    if (word) invited_.adopted(from, *word);
    reply(word ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM, {});
  });
}

// ---- at the servers of those invited

void Orphans::node_lost(NodeNumber node) {
  for (const auto& orphan : invited_.waiting_for_node(node)) turn_to_next(orphan);
}

void Orphans::turn_to_next(const Invited::Orphan& orphan) {
  const auto there = peers_.nodes();
  auto next = peers_.self();
  for (const auto& [node, procs] : peers_.by_node(link::procs_of(orphan.members).value_or(Procs()))) {
    const bool is_there =
        node != orphan.name.coordinator && std::find(there.begin(), there.end(), node) != there.end();
    if (is_there) next = std::min(next, node);
  }
  peers_.send(next, RequestType::group_orphaned, base::encode(OrphanInquiry{orphan.name, orphan.members}),
              [this, orphan](pmix_status_t status, Bytes) {
                if (status == PMIX_ERR_UNREACH) return turn_to_next(orphan);
                if (status != PMIX_SUCCESS) invited_.be_over({orphan.name, 0, {}, PMIX_GROUP_LEADER_FAILED});
              });
}

// ---- at the next

/// What the coordinator has sent before its loss is handled before a question to it fails.
void Orphans::follow(const OrphanInquiry& inquiry, const Rpc::Reply& reply) {
  peers_.send(inquiry.name.coordinator, RequestType::group_orphan, base::encode(inquiry),
              [this, inquiry, reply](pmix_status_t status, Bytes) {
                const bool is_lost = status == PMIX_ERR_UNREACH;
                reply(is_lost ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, {});
                if (!is_lost || open_.count(inquiry.name) != 0) return;
                const auto open = std::make_shared<Case>(Case{inquiry.name});
                open_.emplace(inquiry.name, open);
                ask(open, inquiry.members);
              });
}

void Orphans::ask(const CaseRef& open, const link::RankRuns& members) {
  std::set<NodeNumber> nodes{peers_.self()};
  for (const auto& [node, procs] : peers_.by_node(link::procs_of(members).value_or(Procs())))
    nodes.insert(node);
  for (const auto node : nodes) {
    if (node == open->name.coordinator || !open->asked.insert(node).second) continue;
    ++open->left;
    peers_.send(node, RequestType::group_orphan, base::encode(OrphanInquiry{open->name, members}),
                [this, open, node](pmix_status_t status, Bytes body) {
                  auto part =
                      status == PMIX_SUCCESS ? base::decode<OrphanPart>(body) : weft::fail(Errc::not_found);
                  if (part && jobs_.may_be_named(part->members) && jobs_.may_be_named(part->invited)) {
                    const auto known = part->members;
                    open->parts.insert_or_assign(node, std::move(*part));
                    ask(open, known);
                  }
                  if (--open->left == 0) collected(open);
                });
  }
}

void Orphans::collected(const CaseRef& open) {
  open_.erase(open->name);
  if (open->parts.empty()) return;
  for (const auto& [node, part] : open->parts)
    if (!part.made.empty()) return tell(*open, {open->name, 0, part.made});
  for (const auto& [node, part] : open->parts)
    if (part.failed != PMIX_SUCCESS) return tell(*open, {open->name, 0, {}, part.failed});
  const bool may_come = std::any_of(open->parts.begin(), open->parts.end(),
                                    [](const auto& each) { return !each.second.invited.empty(); });
  if (!may_come) return tell(*open, {open->name, 0, {}});
  const auto number = invitations_.adopt(invitation_of(open->parts));
  tell(*open, {open->name, number, {}});
  invitations_.go_on(number);
}

void Orphans::tell(const Case& open, const OrphanAdopted& word) {
  for (const auto& [node, part] : open.parts)
    peers_.send(node, RequestType::group_adopted, base::encode(word), nullptr);
}

}  // namespace weft::server
