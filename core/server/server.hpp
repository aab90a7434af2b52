// SPDX-License-Identifier: BSD-3-Clause
// The server role: what PMIx_server_init makes and PMIx_server_finalize ends. It keeps the loop; what is done
// for jobs and clients is done by the rooms (rooms.hpp), and the host's calls are the matter of
// Registrations, Launch, HostData, and api.cpp.
//
// Threads   The API half may be called from any thread; it posts to the loop. The rooms belong to the loop's
//           thread, or, where the host turns the loop by its calls (PMIX_EXTERNAL_PROGRESS), to the thread of
//           the host that does, one at a time. What locks for itself: the event registry, HostData,
//           LaunchInfo, the host's attributes, Waits. Host upcalls and user callbacks run on the loop's
//           thread, outside all locks.
// End       stop(), then the wait of its caller for the calls of other threads, then the destructor. What a
//           call asked for and the loop did not come to is answered with PMIX_ERR_INIT: to a thread that
//           waits by stop(), to a callback by the destructor.
#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <thread>

#include "base/log_thread.hpp"
#include "base/threads/driver.hpp"
#include "core/server/cards/host_data.hpp"
#include "core/server/clients/door.hpp"
#include "core/server/connections/rendezvous_file.hpp"
#include "core/server/launch/launch.hpp"
#include "core/server/loop/loop_watch.hpp"
#include "core/server/loop/waits.hpp"
#include "core/server/registrations.hpp"
#include "core/server/rooms.hpp"
#include "core/server/rounds.hpp"
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
  void run_later(std::function<void()> task) { calls_.run_later(std::move(task)); }
  /// Calls start(done), on this thread, and waits until done(status) is called; on the loop it goes on
  /// serving meanwhile. What start is given must own what it writes to: the wait ends with PMIX_ERR_INIT
  /// where the server ends first.
  pmix_status_t await(const std::function<void(Done)>& start);
  Registrations& registrations() noexcept { return *registrations_; }
  Launch& launch() noexcept { return *launch_; }
  HostData& host_data() noexcept { return *host_data_; }
  events::Registry& events() noexcept { return *handlers_; }
  void notify(events::Event event, Done done);
  /// Without the handlers of the host, and without other servers.
  void tell_clients(events::Event event);
  /// Other upcalls than before, for what clients ask from here on; its listener is not called.
  void set_module(const pmix_server_module_t& module, Done done);
  void query(link::Query query, Queries::Replied done);
  /// HostAttributes::add(), by the calling thread, without the loop.
  pmix_status_t register_attributes(const std::string& function, std::vector<std::string> attributes);
  /// From here on another run keeps this one's names of SESSION and GLOBAL: as NamesLink::open().
  void share_names(base::Fd socket, const pmix_proc_t& server, Done done);
  /// To the clients of this server that pull the output of its source.
  void deliver_output(OutputBytes output, Done done);

 private:
  Server(const pmix_proc_t& self, std::string host);
  ~Server();
  Result<void> open_segment();
  Result<void> open_door();

  // The loop.
  void run();
  void end_loop();
  void serve();
  std::optional<std::chrono::seconds> await_the_end();
  bool run_ready();
  void close_all();
  void abandon(std::chrono::seconds after);

  void on_frame(const ConnectionRef& from, link::Frame frame) override;
  void on_closed(const ConnectionRef& connection) override;

  base::LogThread log_thread_;  ///< first: all the others log
  const pmix_proc_t self_;
  const std::string host_name_;
  std::string socket_name_;
  Tokens tokens_;

  Waits waits_;
  asio::io_context io_{1};
  Loop loop_{io_};
  LoopWatch watch_;
  HostCalls calls_{loop_, watch_};
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
  RendezvousFile rendezvous_file_;  ///< of no path: it has none
  Cluster cluster_;
  // Made by start(), in this order:
  std::unique_ptr<Rooms> rooms_;
  std::optional<Rounds> rounds_;
  std::unique_ptr<Door> door_;
  std::unique_ptr<Launch> launch_;
  std::optional<HostData> host_data_;
  std::optional<Registrations> registrations_;
};

}  // namespace weft::server
