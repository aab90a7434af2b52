// SPDX-License-Identifier: BSD-3-Clause
// The rooms of a server, in the order in which they know each other: each may call those above it, and none
// below. What comes up again comes as the completion of an operation. The loop's thread only.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "core/server/clients/clients.hpp"
#include "core/server/clients/tool_entry.hpp"
#include "core/server/credentials/credentials.hpp"
#include "core/server/groups/group_reports.hpp"
#include "core/server/host/host_attributes.hpp"
#include "core/server/monitors/monitors.hpp"
#include "core/server/published/published.hpp"
#include "core/server/records/records.hpp"
#include "core/server/reports/fence_watch.hpp"
#include "core/server/reports/queries.hpp"
#include "core/server/requests/requests.hpp"

namespace weft::server {

struct Rooms {
  struct Settings {
    std::string host_name;
    store::Limits limits;
    std::chrono::seconds stuck_after{60};
    std::optional<bool> collects;
    bool host_tells_ends = false;      ///< weft.tells_ends
    bool host_hears_connects = false;  ///< weft.hears_connects
    std::chrono::milliseconds key_wait{2000};
    std::size_t width_of_ends = ProcessEnds::tree_width;
    ToolSupport tools;
    std::string munge_socket{};  ///< as Munge
  };
  Rooms(Loop& loop, const pmix_proc_t& self, const pmix_server_module_t* module, shm::Segment& segment,
        Tokens& tokens, events::Registry& handlers, Cluster& servers, const Settings& settings)
      : cluster(servers),
        host(module, loop.io(), settings.host_hears_connects),
        host_attributes(module),
        jobs(segment, settings.host_name, settings.limits),
        process_sets(jobs),
        cards(jobs, host, cluster),
        gets(loop, jobs, cards, cluster, settings.key_wait),
        signatures(cluster),
        exchanges(loop, cluster, jobs, signatures),
        card_exchange(jobs, host, cards, gets, exchanges),
        fences(loop, jobs, card_exchange, cluster, exchanges, segment, {settings.collects}),
        events(loop, self, jobs, tools, host, cluster, handlers, settings.host_tells_ends),
        published(loop, cluster, events),
        credentials(loop, cluster, settings.munge_socket),
        monitors(loop, events),
        records(loop, cluster, settings.host_name),
        group_boards(segment),
        group_table(group_boards, cluster, signatures),
        peers(loop, jobs, group_table, cluster),
        questions(loop, jobs, peers),
        group_events(events, peers),
        early_messages(group_table, open_operations),
        losses(jobs, open_operations, peers, questions, group_events),
        groups({jobs, gets, card_exchange, exchanges, group_events, peers, group_boards, group_table,
                open_operations},
               self.rank),
        operations(
            loop, open_operations,
            {jobs, host, card_exchange, exchanges, peers, group_boards, groups, losses, early_messages}),
        gatherings(loop, open_operations,
                   {jobs, host, peers, group_events, group_boards, losses, groups, operations}),
        bootstraps(loop, jobs, peers, groups, gatherings),
        memberships(loop, jobs, peers, questions, group_events, groups, gatherings, early_messages),
        invitations(loop, peers, questions, group_events, groups, memberships),
        invited(loop, jobs, peers, group_events, groups, memberships, invitations, early_messages),
        group_reports({loop, jobs, peers, questions, operations, gatherings, bootstraps, memberships,
                       invitations, invited, published}),
        fence_watch(loop, fences, group_reports, cluster, exchanges, settings.stuck_after),
        outputs(host),
        watched_codes(host, handlers),
        ends({.jobs = jobs,
              .cards = cards,
              .gets = gets,
              .fences = fences,
              .events = events,
              .groups = groups,
              .operations = operations,
              .questions = questions,
              .bootstraps = bootstraps,
              .invited = invited,
              .memberships = memberships,
              .invitations = invitations,
              .gatherings = gatherings,
              .outputs = outputs,
              .published = published,
              .monitors = monitors,
              .watched_codes = watched_codes,
              .process_sets = process_sets},
             loop, cluster, exchanges, settings.width_of_ends),
        clients(loop, self, segment, tokens, {jobs, host, gets, fences, ends}),
        tool_entry(self, settings.host_name, settings.tools, jobs, host, tools),
        own_report(settings.host_name, jobs, cards, card_exchange, fences, group_reports, group_table,
                   process_sets, published, cluster),
        calls(jobs, gets, fences, group_reports),
        queries(loop, self, jobs, host, host_attributes, own_report, process_sets, group_table, cluster,
                calls),
        requests({.host = host,
                  .clients = clients,
                  .tool_entry = tool_entry,
                  .jobs = jobs,
                  .gets = gets,
                  .fences = fences,
                  .events = events,
                  .watched_codes = watched_codes,
                  .outputs = outputs,
                  .published = published,
                  .credentials = credentials,
                  .monitors = monitors,
                  .records = records,
                  .queries = queries,
                  .group_boards = group_boards,
                  .group_table = group_table,
                  .gatherings = gatherings,
                  .bootstraps = bootstraps,
                  .questions = questions,
                  .memberships = memberships,
                  .invitations = invitations,
                  .invited = invited}) {}
  Rooms(const Rooms&) = delete;
  Rooms& operator=(const Rooms&) = delete;

  // What concerns several of them, each in its order:
  /// The host registers a namespace, or says more of one. Errors: PMIX_ERR_BAD_PARAM (what it says makes no
  /// sense; nothing stays of a namespace that is new), _OUT_OF_RESOURCE, _NOMEM.
  pmix_status_t register_nspace(const std::string& nspace, int local_size, const data::Infos& infos);
  /// The host ends it, once the connections of its processes are closed. False: it is not known.
  bool end_nspace(const std::string& nspace);
  /// Of a client, of a tool, or of a process that has said nothing. is_expected: as Clients::closed().
  void connection_closed(const ConnectionRef& connection, bool is_expected);
  /// Open work ends while the rooms are there to hear of it; what the endpoint knows of their memory goes
  /// before the endpoint.
  void leave_cluster();

  Cluster& cluster;  ///< it outlives them
  Tools tools;
  Host host;
  HostAttributes host_attributes;
  Jobs jobs;
  ProcessSets process_sets;
  Cards cards;
  Gets gets;
  Signatures signatures;
  Exchanges exchanges;
  CardExchange card_exchange;
  Fences fences;
  EventRelay events;
  Published published;
  Credentials credentials;
  Monitors monitors;
  Records records;
  GroupBoards group_boards;
  GroupTable group_table;
  PeerCalls peers;
  Questions questions;
  GroupEvents group_events;
  OpenOperations open_operations;
  EarlyMessages early_messages;
  Losses losses;
  Groups groups;
  Operations operations;
  Gatherings gatherings;
  Bootstraps bootstraps;
  Memberships memberships;
  Invitations invitations;
  Invited invited;
  GroupReports group_reports;
  FenceWatch fence_watch;
  Outputs outputs;
  WatchedCodes watched_codes;
  ProcessEnds ends;
  Clients clients;
  ToolEntry tool_entry;
  OwnReport own_report;
  Calls calls;
  Queries queries;
  Requests requests;
};

}  // namespace weft::server
