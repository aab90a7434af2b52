// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/groups.hpp"

#include <algorithm>

#include "core/data/array.hpp"
#include "core/data/opaque.hpp"
#include "core/data/qualified_key.hpp"
#include "core/link/requests.hpp"
#include "core/server/jobs/members.hpp"

namespace weft::server {
namespace {

constexpr std::chrono::seconds rival_period{1};

bool asks_for(const Meeting& meeting, const char* key) {
  return std::any_of(meeting.arrived.begin(), meeting.arrived.end(), [&](const Arrival& arrival) {
    const auto* info = arrival.directives.find(key);
    return info != nullptr && data::is_true(info->value);
  });
}

void answer(const Meeting& meeting, const link::Answer& answer) {
  const auto bytes = link::encode(answer);
  for (const auto& arrival : meeting.arrived) arrival.from.answer_encoded(bytes);
}

/// What a member gives for the others: the contents of PMIX_GROUP_INFO, and what stands beside it.
Result<data::Infos> given_by(const Arrival& arrival) {
  data::Infos out;
  std::optional<Error> why;
  const auto add = [&](const pmix_info_t& info) {
    auto value = data::Value::copy_of(info.value);
    if (value)
      out.add(data::key_of(info), std::move(*value));
    else
      why = value.error();
  };
  const auto& infos = arrival.directives;
  for (const auto* info = infos.data(); info != infos.data() + infos.size(); ++info) {
    const auto key = data::key_of(*info);
    if (key == PMIX_GROUP_LOCAL_CID || key == PMIX_GROUP_ENDPT_DATA) add(*info);
    if (key != PMIX_GROUP_INFO) continue;
    for (const auto& each : data::elements_of<pmix_info_t>(info->value, PMIX_INFO)) add(each);
  }
  if (why) return fail(*why);
  return out;
}

}  // namespace

/// One that is under way between nodes.
struct Groups::Operation {
  Meeting meeting;
  Participants participants;
  GroupPart own;
  std::optional<Exchanges::Key> key{};
  bool was_over = false;  ///< another node had ended this generation before it began here
  std::unique_ptr<asio::steady_timer> deadline{};
};

Participants Groups::participants_of(const Meeting& meeting) const {
  return Participants(meeting.set, operation_of(meeting), meeting.goes_on_smaller);
}

std::uint64_t Groups::attempts(const Participants& participants) const {
  return exchanges_ == nullptr ? 0 : exchanges_->attempts(participants);
}

bool Groups::has_other_nodes(const Procs& set) const {
  return exchanges_ != nullptr && cards_.is_ours() && jobs_.nodes_of(set).size() > 1;
}

bool Groups::are_all_here(const Procs& set) const {
  return std::all_of(set.begin(), set.end(), [&](const pmix_proc_t& proc) {
    const auto* job = jobs_.find(link::nspace_of(proc));
    if (job == nullptr) return false;
    const auto& view = job->view();
    return proc.rank == PMIX_RANK_WILDCARD ? view.local_count() == view.ranks()
                                           : view.local_index(proc.rank) != store::none;
  });
}

void Groups::run(Meeting meeting) {
  if (meeting.kind == Meeting::Kind::construct && table_.find(meeting.group) != nullptr)
    return fail(meeting, PMIX_ERR_EXISTS);
  auto own = part_of(meeting);
  if (are_all_here(meeting.set)) return end(meeting, {std::move(own)});
  if (jobs_.nodes_of(meeting.set).empty()) return answer(meeting, {PMIX_ERR_NOT_FOUND, {}, {}});
  // A host that carries fences knows no operation but those, of the same processes.
  if (exchanges_ == nullptr || !cards_.is_ours()) return answer(meeting, {PMIX_ERR_NOT_SUPPORTED, {}, {}});
  auto participants = participants_of(meeting);
  if (const auto ahead = refused_ahead_.find(participants.signature()); ahead != refused_ahead_.end()) {
    if (--ahead->second == 0) refused_ahead_.erase(ahead);
    return answer(meeting, {PMIX_ERR_PROC_ABORTED, {}, {}});
  }
  exchange(
      std::make_shared<Operation>(Operation{std::move(meeting), std::move(participants), std::move(own)}));
}

void Groups::exchange(const OperationRef& operation) {
  const auto& meeting = operation->meeting;
  if (!may_exchange_) return answer(meeting, {PMIX_ERR_UNREACH, {}, {}});
  const bool constructs = meeting.kind == Meeting::Kind::construct;
  const bool brings_data = constructs || meeting.kind == Meeting::Kind::connect;
  if (meeting.deadline) {
    operation->deadline = std::make_unique<asio::steady_timer>(loop_, *meeting.deadline);
    operation->deadline->async_wait([this, weak = std::weak_ptr(operation)](const std::error_code& error) {
      const auto open = weak.lock();
      if (!error && open && open->key) exchanges_->abort(*open->key, PMIX_ERR_TIMEOUT);
    });
  }
  const auto key = cards_.begin(
      operation->participants, {brings_data, brings_data}, {},
      [this, operation](CardExchange::End ended) { exchanged(operation, std::move(ended)); },
      constructs ? blob_of(operation->own) : Blob());
  if (!key) return;  // it has failed, and was answered
  operation->key = key;
  operation->was_over = !exchanges_->is_open(*key);
  open_.emplace(*key, operation);
  watch_rivals();
}

/// Not at once: what another node has ended may be seen after what it has begun then.
void Groups::watch_rivals() {
  if (rival_timer_ || open_.empty()) return;
  rival_timer_ = std::make_unique<asio::steady_timer>(loop_, rival_period);
  rival_timer_->async_wait([this](const std::error_code& error) {
    if (error) return;
    rival_timer_.reset();
    for (const auto& [key, operation] : open_) exchanges_->end_rivals(key);
    watch_rivals();
  });
}

/// Only a construct carries parts.
void Groups::exchanged(const OperationRef& operation, CardExchange::End ended) {
  operation->deadline.reset();
  if (operation->key) open_.erase(*operation->key);
  // Members of other nodes have tried before this node did, and have ended that: as on one node, it was no part of this attempt.
  const bool was_another = ended.status == PMIX_ERR_TIMEOUT || ended.status == Exchanges::rivals;
  if (operation->was_over && was_another) return exchange(operation);
  if (ended.status == Exchanges::rivals) ended.status = PMIX_ERR_BAD_PARAM;
  if (ended.status != PMIX_SUCCESS) return answer(operation->meeting, {ended.status, {}, {}});
  std::vector<GroupPart> parts;
  bool has_own = false;
  for (const auto& [node, bytes] : ended.along) {
    if (!has_own && node > server_) {
      parts.push_back(std::move(operation->own));
      has_own = true;
    }
    auto part = base::decode<GroupPart>(bytes);
    if (!part) return answer(operation->meeting, {PMIX_ERR_UNPACK_FAILURE, {}, {}});
    parts.push_back(std::move(*part));
  }
  if (!has_own) parts.push_back(std::move(operation->own));
  end(operation->meeting, parts);
}

void Groups::end(const Meeting& meeting, const std::vector<GroupPart>& parts) {
  switch (meeting.kind) {
    case Meeting::Kind::connect:
      connected_.insert(link::runs_of(meeting.set));
      return answer(meeting, {PMIX_SUCCESS, {}, {}});
    case Meeting::Kind::disconnect:
      if (const auto open = connected_.find(link::runs_of(meeting.set)); open != connected_.end())
        connected_.erase(open);
      return answer(meeting, {PMIX_SUCCESS, {}, {}});
    case Meeting::Kind::destruct:
      table_.erase(meeting.group);
      return answer(meeting, {PMIX_SUCCESS, {}, {}});
    case Meeting::Kind::construct:
      break;
  }
  auto outcome = outcome_of(parts, by_rank(meeting.set));
  link::Answer out{outcome.status, {}, {}};
  if (!outcome.members.empty()) {
    auto offer = outcome.status == PMIX_SUCCESS && may_meet_at_board(meeting, outcome.members)
                     ? boards_.open(meeting.set, outcome.members)
                     : std::nullopt;
    out.value = data::Value::of_bytes(link::encode(offer ? *offer : link::GroupMembers{outcome.members}));
    if (outcome.context_id != 0)
      out.infos.add(PMIX_GROUP_CONTEXT_ID, data::Value::of_size(outcome.context_id));
    for (const auto& part : parts) store(part, outcome.context_id);
    Group group{std::move(outcome.members), outcome.context_id, outcome.tells_ends};
    if (has_live_members(group, {})) table_.add(meeting.group, std::move(group));
  }
  answer(meeting, out);
}

/// Its members, all of them here, have brought the same array and nothing that the server has to see, and can read the segment.
bool Groups::may_meet_at_board(const Meeting& meeting, const link::RankRuns& members) const {
  std::uint64_t count = 0;
  for (const auto& run : members) count += std::uint64_t{run.last} - run.first + 1;
  if (!meeting.is_alone || meeting.arrived.size() != count) return false;
  return std::all_of(meeting.arrived.begin(), meeting.arrived.end(), [&](const Arrival& arrival) {
    const auto* infos = arrival.directives.data();
    const bool is_plain = std::all_of(infos, infos + arrival.directives.size(), [](const pmix_info_t& info) {
      const auto key = data::key_of(info);
      return key == PMIX_TIMEOUT || key == PMIX_GROUP_LOCAL_ONLY;
    });
    return is_plain && arrival.from.connection->has_segment && by_rank(arrival.procs) == members;
  });
}

void Groups::fail(const Meeting& meeting, pmix_status_t why) {
  answer(meeting, {why, {}, {}});
  if (!has_other_nodes(meeting.set)) return;
  const auto participants = participants_of(meeting);
  const auto ahead = refused_ahead_.find(participants.signature());
  if (ahead == refused_ahead_.end()) return exchanges_->refuse(participants, why);
  if (--ahead->second == 0) refused_ahead_.erase(ahead);
}

void Groups::refuse(const Participants& participants, pmix_status_t why) {
  exchanges_->refuse(participants, why);
  ++refused_ahead_[participants.signature()];
}

std::vector<FencePart> Groups::open_parts() const {
  std::vector<FencePart> out;
  for (const auto& [key, operation] : open_) {
    auto part = server::part_of(jobs_, operation->meeting, key.second);
    exchanges_->describe(key, part);
    out.push_back(std::move(part));
  }
  return out;
}

// ---- what this node says

GroupPart Groups::part_of(const Meeting& meeting) {
  GroupPart out;
  if (meeting.kind != Meeting::Kind::construct) return out;
  out.absent = link::runs_of(meeting.lost);
  out.tells_ends = asks_for(meeting, PMIX_GROUP_NOTIFY_TERMINATION) ? 1 : 0;
  if (asks_for(meeting, PMIX_GROUP_ASSIGN_CONTEXT_ID))
    out.context_id = (std::uint64_t{server_} << 32) | ++last_context_;
  const Arrival* first = nullptr;
  for (const auto& arrival : meeting.arrived) {
    if (first == nullptr || link::is_less(arrival.from.proc(), first->from.proc())) first = &arrival;
    auto given = given_by(arrival);
    if (!given || given->size() == 0) continue;
    data::Writer bytes;
    if (!data::encode_infos(bytes, given->data(), given->size())) continue;
    const auto& proc = arrival.from.proc();
    out.data.push_back({std::string(link::nspace_of(proc)), proc.rank, std::move(bytes).take()});
  }
  if (first != nullptr) {
    const auto& proc = first->from.proc();
    out.first = {std::string(link::nspace_of(proc)), proc.rank, proc.rank};
    out.order = by_rank(first->procs);
    if (out.order == by_rank(meeting.set)) out.order.clear();
  }
  return out;
}

link::RankRuns Groups::by_rank(const Procs& procs) const {
  auto out = link::runs_of(procs);
  for (auto& run : out) {
    if (run.first != PMIX_RANK_WILDCARD) continue;
    const auto* job = jobs_.find(run.nspace);
    if (job != nullptr) run = {run.nspace, 0, job->view().ranks() - 1};
  }
  return out;
}

// ---- what members gave

void Groups::store(const GroupPart& part, std::uint64_t context_id) {
  for (const auto& data : part.data)
    if (store(data, context_id)) gets_.retry_all(data.nspace);
}

/// As keys of that rank, for every reader of this node: with the context's identifier as their qualifier, where there is one. Without it a
/// reserved key would hide what the host has said of the rank, and is left out, unless it is one of groups.
bool Groups::store(const MemberData& data, std::uint64_t context_id) {
  auto* job = jobs_.find(data.nspace);
  if (job == nullptr || data.rank >= job->view().ranks()) return false;
  const data::OpaqueIgnored ignored;
  data::Reader in(data.infos);
  const auto infos = data::Infos::decode(in);
  if (!infos || !in.done()) return false;
  data::Infos qualifier;
  if (context_id != 0)
    qualifier.add(PMIX_GROUP_CONTEXT_ID, data::Value::of_size(context_id), PMIX_INFO_QUALIFIER);
  bool is_stored = false;
  for (std::size_t i = 0; i < infos->size(); ++i) {
    const auto& info = infos->data()[i];
    const auto name = data::key_of(info);
    if (context_id == 0 && store::is_reserved(name) && name != PMIX_GROUP_LOCAL_CID &&
        name != PMIX_GROUP_ENDPT_DATA)
      continue;
    const auto key = data::qualified_key(name, qualifier.data(), qualifier.size());
    data::Writer value;
    if (!key || !data::encode_value(value, info.value)) continue;
    is_stored |= job->writer->add_record({{store::Realm::rank, data.rank}, PMIX_REMOTE, *key, value.view()})
                     .has_value();
  }
  return is_stored;
}

// ---- the lives of members

bool Groups::has_live_members(const Group& group, const pmix_proc_t& ended) const {
  bool out = false;
  for (const auto& run : group.members) {
    const auto* job = jobs_.find(run.nspace);
    if (job == nullptr) continue;
    const auto& view = job->view();
    for (std::uint32_t local = 0; local < view.local_count(); ++local) {
      const auto& place = view.local(local);
      const auto rank = place.rank.load(std::memory_order_relaxed);
      const auto state = place.state.load(std::memory_order_relaxed);
      const bool is_member = run.first <= rank && rank <= run.last;
      const bool has_ended = state == store::Local::gone || state == store::Local::finalized ||
                             link::is_same(ended, link::make_proc(run.nspace, rank));
      out |= is_member && !has_ended;
    }
  }
  return out;
}

std::vector<std::string> Groups::process_ended(const pmix_proc_t& proc) {
  std::vector<std::string> to_end;
  table_.each([&](const std::string& name, const Group& group) {
    if (!link::holds(group.members, proc)) return;
    if (group.tells_ends) tell_members(PMIX_GROUP_MEMBER_FAILED, name, group, proc);
    if (!has_live_members(group, proc)) to_end.push_back(name);
  });
  return to_end;
}

/// Those of this node: each server tells its own.
void Groups::tell_members(pmix_status_t code, const std::string& name, const Group& group,
                          const pmix_proc_t& about) {
  auto members = link::procs_of(group.members);
  if (!members) return;
  auto array = data::value_of_array(PMIX_PROC, members->data(), members->size());
  if (!array) return;
  events::Event event{code, about, PMIX_RANGE_CUSTOM, {}};
  event.infos.add(PMIX_EVENT_CUSTOM_RANGE, std::move(*array));
  event.infos.add(PMIX_GROUP_ID, data::Value::of(std::string_view(name)));
  event.infos.add(PMIX_EVENT_AFFECTED_PROC, data::Value::of_proc(about));
  event.infos.add(PMIX_EVENT_NON_DEFAULT, data::Value::of(true));
  events::stamp(event);
  events_.tell_clients(event);
}

void Groups::forget(const std::string& nspace) {
  std::erase_if(connected_, [&](const link::RankRuns& runs) {
    return std::any_of(runs.begin(), runs.end(),
                       [&](const link::RankRun& run) { return run.nspace == nspace; });
  });
  table_.erase_if([&](const std::string&, const Group& group) {
    const bool is_of_it = std::any_of(group.members.begin(), group.members.end(),
                                      [&](const link::RankRun& run) { return run.nspace == nspace; });
    return is_of_it && !has_live_members(group, {});
  });
}

}  // namespace weft::server
