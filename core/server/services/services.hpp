// SPDX-License-Identifier: BSD-3-Clause
// What clients ask of the host, and operations at which several meet: each request becomes the upcall that it
// is for, and the host's answer the reply. Without the upcall the reply is PMIX_ERR_NOT_SUPPORTED. The loop's
// thread only.
// Source: PMIx Standard, chapter "Server-specific interfaces", "Server Function Pointers".
#pragma once

#include "core/server/clients/clients.hpp"
#include "core/server/events/watched_codes.hpp"
#include "core/server/groups/group_reports.hpp"
#include "core/server/host/outputs.hpp"

namespace weft::server {

class Services {
 public:
  /// The rooms that serve what processes ask of each other.
  struct Groups {
    GroupTable& table;
    Gatherings& gatherings;
    Bootstraps& bootstraps;
    Questions& questions;
    Memberships& memberships;
    Invitations& invitations;
    Invited& invited;
  };
  Services(Host& host, Clients& clients, Groups groups, Outputs& outputs, WatchedCodes& watched_codes)
      : host_(host), clients_(clients), groups_(groups), outputs_(outputs), watched_codes_(watched_codes) {}

  void serve(const Requester& from, link::Publish message);
  void serve(const Requester& from, link::Lookup message);
  void serve(const Requester& from, link::Unpublish message);
  void serve(const Requester& from, link::Spawn message);
  void serve(const Requester& from, link::Connect message);
  void serve(const Requester& from, link::Disconnect message);
  void serve(const Requester& from, link::GroupConstruct message);
  void serve(const Requester& from, link::GroupDestruct message);
  void serve(const Requester& from, link::GroupInvite message);
  void serve(const Requester& from, const link::GroupJoin& message);
  void serve(const Requester& from, const link::GroupLeave& message);
  void serve(const Requester& from, link::GroupFence message) {
    groups().gatherings.enter_known(from, {OperationName::Kind::group_fence, std::move(message.group)},
                                    std::move(message.directives),
                                    std::chrono::milliseconds(message.waited_ms));
  }
  void serve(const Requester& from, link::GroupVerdict message) {
    groups().questions.take(from.connection, std::move(message));
  }
  void serve(const Requester& from, link::Allocate message);
  void serve(const Requester& from, link::JobControl message);
  void serve(const Requester& from, link::Monitor message);
  void serve(const Requester& from, link::GetCredential message);
  void serve(const Requester& from, link::ValidateCredential message);
  void serve(const Requester& from, link::PullOutput message) { outputs_.pull(from, std::move(message)); }
  void serve(const Requester& from, link::StopOutput message) { outputs_.stop(from, std::move(message)); }
  void serve(const Requester& from, link::PushInput message);
  void serve(const Requester& from, link::Fabric message);

  /// The host brings bytes that a process has written.
  void deliver(const OutputBytes& output) { outputs_.deliver(output); }
  /// A client has subscribed to these. The reply comes when the host has heard of what is new here.
  void watch_events(const Requester& from, const EventWishes& added);
  void unwatch_events(const EventWishes& removed) { watched_codes_.remove(removed); }
  /// A handler of the host was removed.
  void release_events() { watched_codes_.release(); }

 private:
  static std::function<void(pmix_status_t, data::Infos)> answering(const Requester& from);
  /// For a request, which comes after what its process has made at boards.
  const Groups& groups() {
    groups_.table.settle();
    return groups_;
  }

  Host& host_;
  Clients& clients_;
  const Groups groups_;
  Outputs& outputs_;
  WatchedCodes& watched_codes_;
};

}  // namespace weft::server
