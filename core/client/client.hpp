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
#include "core/client/get/kept_values.hpp"
#include "core/client/get/resolve.hpp"
#include "core/client/group/group_meetings.hpp"
#include "core/client/group/groups.hpp"
#include "core/events/registry.hpp"
#include "core/link/messages.hpp"
#include "core/link/rendezvous.hpp"
#include "core/store/get/get_decision.hpp"
#include "core/store/get/local_values.hpp"
#include "core/store/get/lookup.hpp"
#include "core/store/segment/job_view.hpp"
#include "transport/shm/partial_window.hpp"

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
  /// Calls that wait end, with PMIX_ERR_INIT or PMIX_ERR_LOST_CONNECTION; later ones that need the server or
  /// the thread too.
  void stop() { connection_->stop(); }

  const pmix_proc_t& self() const noexcept { return self_; }
  bool singleton() const noexcept { return singleton_; }

  // Data: client_data.cpp, client_get.cpp. Source: PMIx Standard, chapter "Data access and sharing".
  pmix_status_t put(pmix_scope_t scope, std::string_view key, const pmix_value_t& value);
  pmix_status_t commit();
  pmix_status_t store_internal(const pmix_proc_t& proc, std::string_view key, const pmix_value_t& value);
  /// Reads what this process can read by itself: its own puts, the segment, its private values. key empty:
  /// everything about proc.
  /// Errors: not_found, outside_scope (ask_server() may help after either), corrupt, no_memory.
  Result<data::Value> look_up(const pmix_proc_t& proc, std::string_view key,
                              const store::GetDirectives& how) const;
  /// After look_up() has failed with `why`: decides what comes next, and has the server do what only it can.
  /// Blocks as long as the Get waits. `found` is written on PMIX_SUCCESS only.
  pmix_status_t ask_server(const Error& why, const pmix_proc_t& proc, std::string_view key,
                           const pmix_info_t* infos, std::size_t ninfo, const store::GetDirectives& how,
                           data::Value& found);
  /// done runs on the connection's thread.
  void get_later(const pmix_proc_t& proc, std::string key, data::Infos infos,
                 std::function<void(pmix_status_t, data::Value)> done);
  /// A value that stays with the library until finalize (PMIX_GET_POINTER_VALUES).
  pmix_value_t* keep(data::Value value) { return kept_.keep(std::move(value)); }
  pmix_status_t resolve_peers(std::string_view node, std::string_view nspace, std::vector<pmix_proc_t>& out);
  pmix_status_t resolve_nodes(std::string_view nspace, std::string& out);

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

  Outputs& outputs() noexcept { return outputs_; }
  /// The connection to the server, whose thread is the library's.
  Connection& connection() noexcept { return *connection_; }
  /// Null: a singleton.
  std::shared_ptr<Connection> server_connection() const noexcept {
    return singleton_ ? nullptr : connection_;
  }

 private:
  struct Staged {
    std::uint8_t scope;
    std::uint64_t hash;
    std::string key;
    std::vector<std::byte> value;
  };

  Client() = default;
  void become_singleton();
  Result<void> shake_hands(const link::Identity& identity);
  void connect_through(shm::Fd socket);
  void open_events();
  Result<void> enter(std::uint64_t job);
  Result<void> make_card_writable(std::uint64_t end);
  void on_push(link::Frame frame);
  void on_lost();

  /// Whether this process sees all of the segment that a lookup may come to. Else it asks the server, as a
  /// process without the segment does.
  bool sees_segment() const noexcept { return segment_ && !segment_.is_incomplete(); }
  std::optional<store::JobView> job(std::string_view nspace) const;
  // Values that this process reads by itself; each function says where it looks.
  Result<data::Value> known_value(const pmix_proc_t& proc, std::string_view key,
                                  const store::GetDirectives& how) const;  ///< all of the following
  Result<data::Value> staged_value(std::string_view key) const;
  Result<data::Value> segment_or_private_value(const pmix_proc_t& proc, std::string_view key,
                                               const store::GetDirectives& how) const;
  Result<data::Value> segment_value(const pmix_proc_t& proc, std::string_view key,
                                    const store::GetDirectives& how) const;
  Result<data::Value> private_value(const pmix_proc_t& proc, std::string_view key) const;
  Result<data::Value> all_known_values(const pmix_proc_t& proc) const;
  bool lives_elsewhere(const pmix_proc_t& proc) const;

  // Steps after a miss.
  store::GetFacts facts_of(const pmix_proc_t& proc, std::string_view key,
                           const store::GetDirectives& how) const;
  std::optional<store::GetStep> step_after(const Error& why, const pmix_proc_t& proc, std::string_view key,
                                           const store::GetDirectives& how) const;
  Result<data::Infos> directives_for_server(const pmix_info_t* infos, std::size_t ninfo) const;
  bool has_fetch_cell_for(const pmix_proc_t& proc, const store::GetDirectives& how) const;
  std::optional<std::int32_t> request_card(std::uint32_t rank, store::RemoteCards::Link seen,
                                           store::FetchCell::Until until);
  std::optional<pmix_status_t> get_by_fetch(const pmix_proc_t& proc, std::string_view key,
                                            const store::GetDirectives& how, data::Value& found);

  Getter getter();
  PeersOf peers_of_namespaces();

  pmix_proc_t self_{};
  bool singleton_ = false;
  std::optional<std::chrono::milliseconds>
      key_wait_;  ///< WEFT_GET_WAIT of this process; nothing: its server's holds
  pmix_proc_t server_{};
  Outputs outputs_;  ///< before the connection, whose thread uses it
  std::shared_ptr<Connection> connection_;
  std::unique_ptr<events::Registry> events_;
  std::optional<ServerEvents> server_events_;

  // The segment; all empty without one.
  shm::SegmentWindows segment_;
  store::JobView own_job_;
  std::uint32_t local_ = store::none;
  Control control_;
  shm::WaitPolicy wait_;

  std::optional<Fences> fences_;
  Groups groups_;
  std::optional<GroupMeetings> group_meetings_;

  mutable std::mutex own_mutex_;  ///< staged puts and the card's writer (KeyedLog I1)
  std::vector<Staged> staged_;
  std::atomic<std::size_t> staged_count_{0};
  std::uint64_t staged_end_ = 0;  ///< where the card will end with all of staged_ in it
  store::KeyedLog card_;
  struct Rest {
    std::uint64_t at = 0;        ///< offset
    std::uint64_t first = 0;     ///< bytes of the card that lie elsewhere
    std::uint64_t most = 0;      ///< bytes
    std::uint64_t writable = 0;  ///< bytes of it, from its start
  };
  Rest rest_;  ///< the second piece of the card
  bool has_card_ = false;

  store::LocalValues private_;
  KeptValues kept_;
};

}  // namespace weft::client
