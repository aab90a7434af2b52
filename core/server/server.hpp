// SPDX-License-Identifier: BSD-3-Clause
// The server role: what PMIx_server_init makes and PMIx_server_finalize ends. It keeps the loop, the sockets
// and the dispatch; what is done for jobs and clients is done by the rooms (rooms.hpp).
//
// Threads   The API half may be called from any thread; it posts to the loop. The rooms belong to the loop's
//           thread, or, where the host turns the loop by its calls (PMIX_EXTERNAL_PROGRESS), to the thread of
//           the host that does, one at a time. These lock for themselves: the event registry, private values,
//           kept values, the host's attributes, Waits. Host upcalls and user callbacks run on the loop's
//           thread, outside all locks.
// End       stop(), then the wait of its caller for the calls of other threads, then the destructor. A
//           call that the loop did not come to is answered with PMIX_ERR_INIT: to a thread that
//           waits by stop(), to a callback by the destructor.
#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "base/log_thread.hpp"
#include "base/threads/driver.hpp"
#include "core/server/cluster/introducer.hpp"
#include "core/server/connections/host_listener.hpp"
#include "core/server/connections/listener.hpp"
#include "core/server/connections/rendezvous_file.hpp"
#include "core/server/host/child_environment.hpp"
#include "core/server/loop/loop_watch.hpp"
#include "core/server/rooms.hpp"
#include "core/server/rounds.hpp"
#include "core/server/waits.hpp"
#include "core/store/get/local_values.hpp"
#include "pmix_server.h"

namespace weft::server {

class Server final : ClientConnection::Owner {
 public:
  using Done = server::Done;
  using Blob = server::Blob;

  /// Frees a server that has ended, and no other: one whose loop does not end keeps its memory.
  struct Free {
    void operator()(Server* server) const {
      if (server->stop()) delete server;
    }
  };
  using Owned = std::unique_ptr<Server, Free>;
  /// handlers: those of its host in this process; null: it makes them.
  static Result<Owned> start(const pmix_server_module_t* module, const pmix_info_t* infos, std::size_t ninfo,
                             std::shared_ptr<events::Registry> handlers = nullptr);
  /// Lets the clients go and ends the loop; what threads wait for ends. False: the loop hangs, or this is its
  /// own thread. Then the log says what it is at, the host is called no more, and the loop ends when it gets
  /// there.
  bool stop();
  /// A loop that has brought nothing to an end for so long hangs, and all together its end takes no longer
  /// than this.
  static constexpr std::chrono::seconds patience{5}, most{60};

  /// From here on the loop has no thread: progress(), and calls that wait, turn it. In an upcall the thread
  /// ends behind it. flushes: what has come is handled first. Not beside stop().
  void stop_thread(bool flushes);
  /// Turns the loop as long as it has something to do, unless its thread or another of the host does.
  void progress();

  // The API half (api.cpp). `done` runs on the loop's thread. Source: PMIx Standard, chapter
  // "Server-specific interfaces".
  const pmix_proc_t& self() const noexcept { return self_; }
  bool on_loop() const noexcept { return driver_.is_here(); }
  void run_later(std::function<void()> task);
  /// Calls start(done), on this thread, and waits until done(status) is called; on the loop it goes on
  /// serving meanwhile. The object that start is given must own what it writes to: the wait ends with
  /// PMIX_ERR_INIT where the server ends first.
  pmix_status_t await(const std::function<void(Done)>& start);
  void register_nspace(std::string nspace, int local_size, data::Infos infos, Done done);
  void deregister_nspace(std::string nspace, Done done);
  void define_process_set(std::string name, Procs members, Done done);
  void delete_process_set(std::string name, Done done);
  void register_client(pmix_proc_t proc, Registered client, Done done);
  void deregister_client(pmix_proc_t proc, Done done);
  /// Valid as long as the server, and in children that this process forks.
  const ChildEnvironment& children() const noexcept { return *children_; }
  LaunchInfo& launch_info() noexcept { return launch_info_; }
  // launch.cpp
  /// wants_servers: with the contacts of all servers, where the host has made a cluster of them and `fabric`
  /// is not needed.
  void setup_application(std::string nspace, Envars envars, std::optional<FabricPlan> fabric,
                         bool wants_servers, std::function<void(pmix_status_t, data::Infos)> done);
  void setup_local_support(std::string nspace, data::Infos infos, Done done);
  void dmodex_request(pmix_proc_t proc, std::function<void(pmix_status_t, Blob)> done);
  /// Looks among private values, then in the segment. By the calling thread, without the loop: lock-free but
  /// for private values. key empty: everything about proc. Errors: not_found, outside_scope, corrupt,
  /// no_memory.
  Result<data::Value> look_up(const pmix_proc_t& proc, std::string_view key,
                              const store::GetDirectives& how) const;
  void get(pmix_proc_t proc, std::string key, data::Infos infos,
           std::function<void(pmix_status_t, data::Value)> done);
  pmix_status_t store_internal(const pmix_proc_t& proc, std::string_view key, const pmix_value_t& value);
  pmix_status_t resolve_peers(std::string_view node, std::string_view nspace, std::vector<pmix_proc_t>& out);
  pmix_status_t resolve_nodes(std::string_view nspace, std::string& out);
  events::Registry& events() noexcept { return *handlers_; }
  void notify(events::Event event, Done done);
  /// Without the handlers of the host, and without other servers.
  void tell_clients(events::Event event);
  /// Other upcalls than before, for what clients ask from here on; its listener is not called.
  void set_module(const pmix_server_module_t& module, Done done);
  pmix_value_t* keep(data::Value value);
  /// Gives what other servers have to know to speak to this one.
  void collect_inventory(std::function<void(pmix_status_t, data::Infos)> done);
  void deliver_inventory(data::Infos infos, Done done);
  void query(link::Query query, Queries::Replied done);
  /// HostAttributes::add(), by the calling thread, without the loop.
  pmix_status_t register_attributes(const std::string& function, std::vector<std::string> attributes);
  /// To the clients of this server that pull the output of its source.
  void deliver_output(OutputBytes output, Done done);

 private:
  Server(const pmix_proc_t& self, std::string host);
  ~Server();
  Result<void> open_segment();
  Result<void> open_cluster(const ClusterSpec& spec);

  // The way into a cluster that launch information names (launch.cpp).
  pmix_status_t enter_cluster(const std::string& nspace, const FabricPlan& plan, NodeNumber self);
  void be_introduced(const std::string& nspace, const FabricPlan& plan, std::chrono::seconds limit,
                     const Done& done);
  pmix_status_t take_introductions(const FabricPlan& plan, Bytes body);
  bool is_cluster_of_host() const noexcept { return cluster_.is_open() && !plan_key_; }
  /// PMIX_ERR_UNREACH: one is refused; a line says why, and the others are taken all the same.
  pmix_status_t take_contacts(const std::vector<std::vector<std::byte>>& contacts);

  // The loop.
  void run();
  void end_loop();
  void serve();
  std::optional<std::chrono::seconds> await_the_end();
  bool run_ready();
  void close_all();
  void abandon(std::chrono::seconds after);

  // The sockets.
  bool may_connect(uid_t user) const;
  void accept_clients(pmix_server_listener_fn_t by_host);
  void open_connection(shm::Fd fd);
  void after_hellos(std::function<void()> then);
  void await_hellos(std::vector<std::weak_ptr<ClientConnection>> unread,
                    std::chrono::steady_clock::time_point limit, std::function<void()> then);
  void on_frame(const ConnectionRef& from, link::Frame frame) override;
  void on_closed(const ConnectionRef& connection) override;

  void forget_nspace(const std::string& nspace, const Done& done);
  void tell_of_set(pmix_status_t code, const std::string& name);

  base::LogThread log_thread_;  ///< first: all the others log
  const pmix_proc_t self_;
  const std::string host_name_;
  std::string socket_name_;
  Tokens tokens_;
  std::unique_ptr<ChildEnvironment> children_;
  LaunchInfo launch_info_;
  store::LocalValues private_;
  std::mutex kept_mutex_;
  std::vector<std::unique_ptr<data::Value>> kept_;

  Waits waits_;
  asio::io_context io_{1};
  Loop loop_{io_};
  LoopWatch watch_;
  const asio::executor_work_guard<asio::io_context::executor_type> guard_{io_.get_executor()};
  std::shared_ptr<events::Registry> handlers_;  ///< ends before the loop, by which its chains go on
  base::Driver driver_;                         ///< of the loop
  std::thread thread_;
  std::atomic<bool> by_calls_{false};  ///< the host turns the loop
  bool is_open_ = false;               ///< start() has ended well, and stop() has not been called
  std::promise<void> ended_;           ///< the loop has ended
  bool is_closing_ = false;            ///< connections are being closed; then the loop stops
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> is_abandoned_{false};  ///< stop() did not wait for the loop any longer
  std::optional<shm::Segment> segment_;
  std::unique_ptr<Listener> listener_;
  std::optional<HostListener> host_listener_;  ///< the host accepts
  RendezvousFile rendezvous_file_;             ///< of no path: it has none
  std::vector<ConnectionRef> connections_;
  Cluster cluster_;
  std::set<std::vector<std::byte>> inventory_;  ///< contacts of other servers that the host has delivered
  std::optional<decltype(FabricPlan::key)>
      plan_key_;  ///< of the launch information by which the cluster was opened
  Introducers introducers_;
  std::unique_ptr<Rooms> rooms_;
  std::optional<Rounds> rounds_;
};

}  // namespace weft::server
