// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/table/group_events.hpp"

#include "core/data/types/array.hpp"
#include "core/server/events/event_wire.hpp"

namespace weft::server {
namespace {

void add_procs(data::Infos& infos, const char* key, const Procs& procs) {
  if (auto array = data::value_of_array(PMIX_PROC, procs.data(), procs.size()))
    infos.add(key, std::move(*array));
}

}  // namespace

GroupEvents::GroupEvents(EventRelay& events, PeerCalls& peers) : events_(events), peers_(peers) {
  peers_.on(RequestType::group_notice, [this](NodeNumber, Bytes body, const Rpc::Reply& reply) {
    const auto event = decoded_event(body);
    if (event) events_.tell_clients(*event);
    reply(event ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM, {});
  });
}

data::Infos GroupEvents::infos_of(const What& what) {
  data::Infos out;
  out.add(PMIX_GROUP_ID, data::Value::of(what.group));
  if (what.members != nullptr)
    if (const auto procs = link::procs_of(*what.members)) add_procs(out, PMIX_GROUP_MEMBERSHIP, *procs);
  if (what.about != nullptr) out.add(PMIX_EVENT_AFFECTED_PROC, data::Value::of_proc(*what.about));
  return out;
}

events::Event GroupEvents::event_of(const What& what, const Procs& to, const data::Infos* more) {
  events::Event out{what.code, what.source, PMIX_RANGE_CUSTOM, infos_of(what)};
  add_procs(out.infos, PMIX_EVENT_CUSTOM_RANGE, to);
  for (std::size_t i = 0; more != nullptr && i < more->size(); ++i)
    if (auto copy = data::Value::copy_of(more->data()[i].value))
      out.infos.add(more->data()[i].key, std::move(*copy));
  out.infos.add(PMIX_EVENT_NON_DEFAULT, data::Value::of(true));
  events::stamp(out);
  return out;
}

void GroupEvents::tell_leader(std::string_view group, const pmix_proc_t* leader, const pmix_proc_t& lost,
                              const Procs& to) {
  data::Infos more;
  more.add(PMIX_GROUP_LEADER, data::Value::of(leader != nullptr));
  tell({PMIX_GROUP_LEADER_SELECTED, leader != nullptr ? *leader : lost, group, nullptr, leader}, to, &more);
}

void GroupEvents::tell_abort(std::string_view group, const pmix_proc_t& source, pmix_status_t why,
                             const Procs& to) {
  data::Infos more;
  more.add(PMIX_JOB_TERM_STATUS, data::Value::of_status(why));
  tell({PMIX_GROUP_CONSTRUCT_ABORT, source, group, nullptr, nullptr}, to, &more);
}

link::GroupQuestion GroupEvents::question(OperationName::Kind kind, const What& what) {
  link::GroupQuestion out;
  out.operation = to_text({kind, std::string(what.group)});
  out.codes = {what.code};
  out.source = what.source;
  out.infos = infos_of(what);
  return out;
}

void GroupEvents::tell(const What& what, const Procs& to, const data::Infos* more) {
  for (const auto& [node, procs] : peers_.by_node(to)) {
    const auto event = event_of(what, procs, more);
    if (node == peers_.self())
      events_.tell_clients(event);
    else
      peers_.send(node, RequestType::group_notice, encoded(event), nullptr);
  }
}

}  // namespace weft::server
