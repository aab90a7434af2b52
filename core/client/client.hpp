// SPDX-License-Identifier: BSD-3-Clause
// A process of a job, or a singleton: what PMIx_Init makes and PMIx_Finalize ends. All calls from any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/client/connection/connection.hpp"
#include "core/client/connection/control.hpp"
#include "core/client/connection/outputs.hpp"
#include "core/client/connection/server_events.hpp"
#include "core/client/fence/fences.hpp"
#include "core/client/get/gets.hpp"
#include "core/client/get/kept_values.hpp"
#include "core/client/get/puts.hpp"
#include "core/client/group/group_meetings.hpp"
#include "core/client/group/groups.hpp"
#include "core/events/registry.hpp"
#include "core/link/messages.hpp"
#include "core/link/rendezvous.hpp"

namespace weft::client {

class Client {
 public:
  struct Started {
    std::unique_ptr<Client> client;
    pmix_status_t status;  ///< PMIX_SUCCESS, or PMIX_ERR_UNREACH for a singleton
  };
  /// Reads the environment, shakes hands, maps the segment. Without a server in the environment: a singleton.
  /// Errors, each said on stderr: unreachable (the environment names a server that does not answer), denied.
  static Result<Started> start();
  ~Client();
  /// Returns when a debugger lets this process go on; at once where it is not to stop (debugger_stop.cpp).
  /// is_asked: the caller of PMIx_Init says so itself. Errors: PMIX_ERR_LOST_CONNECTION,
  /// PMIX_ERR_EVENT_REGISTRATION.
  pmix_status_t stop_for_debugger(bool is_asked);
  /// Calls that wait end, with PMIX_ERR_INIT or PMIX_ERR_LOST_CONNECTION; later ones that need the server or
  /// the thread too.
  void stop() { connection_->stop(); }

  const pmix_proc_t& self() const noexcept { return self_; }
  bool singleton() const noexcept { return singleton_; }

  Puts& puts() noexcept { return *puts_; }
  Gets& gets() noexcept { return *gets_; }
  /// A value that stays with the library until finalize (PMIX_GET_POINTER_VALUES).
  pmix_value_t* keep(data::Value value) { return kept_.keep(std::move(value)); }

  Fences& fences() noexcept { return *fences_; }
  Groups& groups() noexcept { return groups_; }
  GroupMeetings& group_meetings() noexcept { return *group_meetings_; }

  // Services: client_services.cpp.
  pmix_status_t abort(int status, std::string_view message, const pmix_proc_t* procs, std::size_t nprocs);
  /// done runs on the connection's thread.
  void query_later(link::Query query, std::function<void(pmix_status_t, data::Infos)> done);
  pmix_status_t finalize(const pmix_info_t* infos, std::size_t ninfo);

  // Events: client_events.cpp.
  events::Registry& events() noexcept { return *events_; }
  void subscribe(std::size_t handler, std::vector<pmix_status_t> codes, ServerEvents::Done done);
  void notify(events::Event event, std::function<void(pmix_status_t)> done);

  /// Empty: no launcher traces the job.
  const store::TraceLog& trace() const noexcept { return job_.control.trace; }

  Outputs& outputs() noexcept { return outputs_; }
  /// The connection, whose thread is the library's; of a singleton one to no server.
  const std::shared_ptr<Connection>& connection() noexcept { return connection_; }

 private:
  Client() = default;
  void become_singleton();
  Result<void> shake_hands(const link::Identity& identity);
  void connect_through(shm::Fd socket);
  void open_rooms();
  void open_events();
  bool stops_in_init();
  Result<void> enter(std::uint64_t job);
  void on_push(link::Frame frame);
  void on_lost();

  pmix_proc_t self_{};
  bool singleton_ = false;
  std::optional<std::chrono::milliseconds>
      key_wait_;  ///< WEFT_GET_WAIT of this process; nothing: its server's holds
  pmix_proc_t server_{};
  Outputs outputs_;  ///< before the connection, whose thread uses it
  std::shared_ptr<Connection> connection_;
  std::unique_ptr<events::Registry> events_;
  std::optional<ServerEvents> server_events_;

  OwnJob job_;

  std::optional<Fences> fences_;
  Groups groups_;
  std::optional<GroupMeetings> group_meetings_;

  store::LocalValues private_;
  std::optional<Puts> puts_;
  std::optional<Gets> gets_;
  KeptValues kept_;
};

}  // namespace weft::client
