// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/handlers/losses.hpp"

#include <algorithm>
#include <utility>

#include "core/events/range.hpp"

namespace weft::server {

struct Losses::Case {
  Loss loss;
  Decided decided;
  ConstructFacts facts{};
  std::size_t left = 0;  ///< nodes that have not said what they know
  Procs elected{};
};

Losses::Losses(const Jobs& jobs, const OpenOperations& operations, PeerCalls& peers, Questions& questions,
               GroupEvents& events)
    : jobs_(jobs), operations_(operations), peers_(peers), questions_(questions), events_(events) {
  peers_.on(RequestType::group_facts, *this, &Losses::tell_facts);
}

void Losses::tell_facts(NodeNumber, FenceName construct, const Rpc::Reply& reply) {
  const auto set = jobs_.procs_of(construct.procs);
  if (!set) return reply(PMIX_ERR_BAD_PARAM, {});
  reply(PMIX_SUCCESS, base::encode(operations_.facts_of(construct.operation, *set)));
}

void Losses::decide_each(Loss loss, Procs procs, Decided decided) {
  if (procs.empty()) return decided({PMIX_SUCCESS});
  loss.proc = procs.front();
  procs.erase(procs.begin());
  decide(loss, [this, loss, procs = std::move(procs), decided = std::move(decided)](const Outcome& outcome) {
    outcome.status == PMIX_SUCCESS ? decide_each(loss, procs, decided) : decided({outcome.status});
  });
}

void Losses::decide(Loss loss, Decided decided) {
  const auto open = std::make_shared<Case>(Case{std::move(loss), std::move(decided)});
  auto nodes = jobs_.nodes_of(link::procs_or_none(open->loss.construct.procs));
  if (nodes.size() < 2)
    nodes = {peers_.self()};  // also where a host knows the other nodes, and this server has no way there
  open->left = nodes.size();
  for (const auto node : nodes)
    peers_.send(node, RequestType::group_facts, base::encode(open->loss.construct),
                PeerCalls::expect<ConstructFacts>([this, open](const Result<ConstructFacts>& facts) {
                  if (facts) open->facts.add(*facts);
                  if (--open->left == 0) collected(open);
                }));
}

void Losses::collected(const CaseRef& open) {
  if (open->facts.goes_on_smaller) return open->decided({PMIX_SUCCESS});
  if (open->loss.was_leader) return elect(open);
  if (!open->facts.asks) return open->decided({open->loss.status});
  ask(open);
}

void Losses::elect(const CaseRef& open) {
  questions_.ask_all(
      link::procs_or_none(open->facts.arrived),
      [open] { return question(*open, {PMIX_GROUP_LEADER_FAILED}); },
      [this, open](const std::vector<Questions::Vote>& votes) { elected(open, votes); });
}

void Losses::elected(const CaseRef& open, const std::vector<Questions::Vote>& votes) {
  auto election = election_of(votes);
  if (election.is_aborted) return abort(open);
  const bool is_led = !election.leaders.empty();
  open->elected = std::move(election.leaders);
  for (const auto& run : link::runs_of(open->elected)) open->facts.leaders.push_back(run);
  events_.tell_leader(open->loss.group, is_led ? &open->elected.front() : nullptr, open->loss.proc,
                      link::procs_or_none(open->facts.arrived));
  if (open->loss.is_member) return open->decided({PMIX_SUCCESS, open->elected});
  ask(open);
}

void Losses::ask(const CaseRef& open) {
  const auto& asked = open->facts.leaders.empty() ? open->facts.arrived : open->facts.leaders;
  questions_.ask_all(
      link::procs_or_none(asked),
      [open] {
        return question(*open, {PMIX_GROUP_INVITE_FAILED, PMIX_GROUP_MEMBER_FAILED});
      },
      [this, open](const std::vector<Questions::Vote>& votes) {
        switch (decision_of(votes).kind) {
          case Decision::Kind::aborted:
            return abort(open);
          case Decision::Kind::left_out:
          case Decision::Kind::replaced:
            return open->decided({PMIX_SUCCESS, open->elected});
          case Decision::Kind::gone:
          case Decision::Kind::unheard:
            return open->decided({open->loss.status});
        }
      });
}

/// A handler has given it up for all. Those that have called hear of it besides the status of their calls.
void Losses::abort(const CaseRef& open) {
  events_.tell_abort(open->loss.group, open->loss.proc, PMIX_GROUP_CONSTRUCT_ABORT,
                     link::procs_or_none(open->facts.arrived));
  open->decided({PMIX_GROUP_CONSTRUCT_ABORT});
}

link::GroupQuestion Losses::question(const Case& open, std::vector<pmix_status_t> codes) {
  const auto& loss = open.loss;
  auto out = GroupEvents::question(loss.construct.operation.kind,
                                   {codes.front(), loss.proc, loss.group, &loss.construct.procs, &loss.proc});
  out.codes = std::move(codes);
  return out;
}

}  // namespace weft::server
