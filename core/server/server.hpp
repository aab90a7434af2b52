// SPDX-License-Identifier: BSD-3-Clause
// The server role: what PMIx_server_init makes and PMIx_server_finalize ends.
//
// Threads   The API half may be called from any thread; it posts to the loop. The loop half runs on the loop
//           thread only and owns all state but the token book and the event registry, which lock for themselves.
//           Host upcalls and user callbacks run on the loop thread, outside all locks.
#pragma once

#include <array>
#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <future>
#include <list>
#include <mutex>
#include <thread>

#include "core/events/registry.hpp"
#include "core/link/messages.hpp"
#include "core/server/clients/cleanup.hpp"
#include "core/server/fences/contribution.hpp"
#include "core/server/fences/fence_machine.hpp"
#include "core/server/jobs/job.hpp"
#include "core/server/cards/modex.hpp"
#include "core/server/fences/node_fences.hpp"
#include "core/server/cluster/cluster.hpp"
#include "core/server/jobs/proc_set.hpp"
#include "core/server/reports/report.hpp"
#include "core/server/fences/stuck.hpp"
#include "core/server/reports/survey.hpp"
#include "core/server/host/upcall.hpp"
#include "core/store/local_values.hpp"
#include "core/store/lookup.hpp"
#include "pmix_server.h"

namespace weft::server {

/// Tokens by rank: setup_fork runs on the host's thread, the handshake on the loop.
class TokenBook {
 public:
  link::Token token_of(const pmix_proc_t& proc);
  bool accepts(std::string_view nspace, std::uint32_t rank, const link::Token& token) const;
  void forget(std::string_view nspace);

 private:
  using Name = std::pair<std::string, std::uint32_t>;
  mutable std::mutex mutex_;
  std::map<Name, link::Token> tokens_;
};

class Server {
 public:
  using Done = std::function<void(pmix_status_t)>;
  using Blob = std::vector<std::byte>;

  static Result<std::unique_ptr<Server>> start(const pmix_server_module_t* module, const pmix_info_t* infos,
                                               std::size_t ninfo);
  ~Server();

  // The API half (server_api.cpp). `done` runs on the loop thread. Source: PMIx Standard, chapter
  // "Server-specific interfaces".
  const pmix_proc_t& self() const noexcept { return self_; }
  bool on_loop() const noexcept { return std::this_thread::get_id() == thread_.get_id(); }
  void run_later(std::function<void()> task);
  /// Runs `work(done)` on the loop and waits for its status; on the loop itself it goes on serving meanwhile.
  pmix_status_t wait_for(const std::function<void(Done)>& work);
  void register_nspace(std::string nspace, int local_size, data::Infos infos, Done done);
  void deregister_nspace(std::string nspace, Done done);
  void register_client(pmix_proc_t proc, Registered client, Done done);
  void deregister_client(pmix_proc_t proc, Done done);
  pmix_status_t setup_fork(const pmix_proc_t& proc, char*** env);
  void setup_local_support(std::string nspace, data::Infos infos, Done done);
  void dmodex_request(pmix_proc_t proc, std::function<void(pmix_status_t, Blob)> done);
  void get(pmix_proc_t proc, std::string key, data::Infos infos,
           std::function<void(pmix_status_t, data::Value)> done);
  pmix_status_t store_internal(const pmix_proc_t& proc, std::string_view key, const pmix_value_t& value);
  pmix_status_t resolve_peers(std::string_view node, std::string_view nspace, std::vector<pmix_proc_t>& out);
  pmix_status_t resolve_nodes(std::string_view nspace, std::string& out);
  events::Registry& events() noexcept { return *events_; }
  void notify(events::Event event, Done done);
  pmix_value_t* keep(data::Value value);
  /// What other servers have to know to speak to this one.
  void collect_inventory(std::function<void(data::Infos)> done);
  void deliver_inventory(data::Infos infos, Done done);
  /// done: PMIX_QUERY_PARTIAL_SUCCESS: only some keys are answered; PMIX_ERR_NOT_SUPPORTED: none is.
  using Answered = std::function<void(pmix_status_t, data::Infos)>;
  void query(link::Query query, Answered done);

 private:
  using SessionRef = std::shared_ptr<Session>;

  Server() = default;
  void run();
  void accept();
  void close_all();
  bool is_somebody_at_the_door();
  void open_session(shm::Fd fd);
  void wait_for_descriptors();
  void drain_notices();
  void dispatch(const SessionRef& session, link::Frame frame);
  void answer(const SessionRef& session, std::uint64_t tag, pmix_status_t status);
  Job* find_job(std::string_view nspace);
  Job& job_entry(const std::string& nspace);

  // clients.cpp
  void greet(const SessionRef& session, const link::Frame& frame);
  bool refuse_other_version(const SessionRef& session, const link::Frame& frame);
  void refuse(const SessionRef& session, pmix_status_t status, std::string reason);
  void welcome(const SessionRef& session);
  void session_closed(const SessionRef& session);
  void finalize_client(const SessionRef& session, std::uint64_t tag);
  void leave(Job& job, std::uint32_t local, store::Local::State state, pmix_status_t status);
  void came_back(Job& job, std::uint32_t local);
  bool expect_back(Job& job, std::uint32_t local);
  void wait_for_end(Job& job, std::uint32_t local);
  void build_job(Job& job, int local_size, const data::Infos& infos, Done done);

  // gets.cpp
  struct ParkedGet {
    pmix_proc_t proc;
    std::string key;  ///< empty: the whole card as a blob (direct modex of another node)
    std::string hostname;
    store::GetDirectives how;  ///< its hostname points to ours
    store::Asker asker;
    std::function<void(pmix_status_t, data::Value, Blob)> done;
    std::unique_ptr<asio::steady_timer> timer;
    std::uint64_t number = 0;
    bool fetched = false;  ///< the host's direct modex was asked once
  };
  /// Nothing: not decided yet.
  struct Verdict {
    pmix_status_t status;
    data::Value value;
    Blob blob;
  };
  void get_everything(const SessionRef& session, std::uint64_t tag, const pmix_proc_t& proc);
  void serve_get(std::unique_ptr<ParkedGet> get);
  std::optional<Verdict> try_get(ParkedGet& get);
  void park(std::unique_ptr<ParkedGet> get);
  void retry_gets(const pmix_proc_t& about);
  void retry_gets_of(std::string_view nspace);
  void fetch(const pmix_proc_t& proc, const data::Infos& directives);
  void fetch_card(const pmix_proc_t& proc, const data::Infos& directives, Done done);
  void answer_fetch(Job& job, std::uint32_t local);
  void watch(const pmix_proc_t& proc, bool on);
  pmix_status_t take_blobs(Bytes blobs, Procs* behind = nullptr);
  pmix_status_t take_card(const store::Card& card, Procs* behind = nullptr);
  void serve_card(const pmix_proc_t& proc, std::function<void(pmix_status_t, Blob)> done);
  void commit_for(const SessionRef& session, link::Frame frame);

  // fences.cpp
  struct Participant {
    pmix_proc_t proc;
    SessionRef session;
    std::uint64_t tag = 0;
    bool arrived = false;
  };
  struct SetFence {
    Procs signature;  ///< canonical
    std::vector<Participant> local;
    bool remote = false;
    bool collect = false;
    std::optional<NodeFences::Key> exchange;  ///< under way between the nodes, by ourselves
    FenceState state = FenceState::gathering;
    std::uint64_t number = 0;
    StuckClock clock;
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
    std::unique_ptr<asio::steady_timer> timer;
    data::Infos directives;

    bool has_entered(const pmix_proc_t& proc) const;
  };
  void forget_nspace(const std::string& nspace, const Done& done);
  void enter_fence(const SessionRef& session, std::uint64_t tag, link::Fence message);
  SetFence* fence_of_number(std::uint64_t number);
  SetFence* open_fence(const Procs& signature, const pmix_proc_t& who);
  /// status: what the host answered, or why a participant is lost.
  void step_fence(SetFence& fence, FenceEvent event, pmix_status_t status = PMIX_SUCCESS);
  void end_fence(SetFence& fence, pmix_status_t status);
  /// Cards on their way, and up to where those who wait for them know each card then.
  struct Collected {
    struct Part {
      std::string nspace;
      std::uint32_t local;
      std::uint64_t position;
    };
    Blob blob;
    std::vector<Part> parts;
  };
  std::optional<NodeFences::Key> exchange(const Procs& procs, bool collect, const data::Infos& directives,
                                          Done done);
  Blob contribution(const Procs& procs, const Blob& cards, bool is_first);
  pmix_status_t take_contribution(const Procs& procs, NodeNumber from, Bytes bytes, Procs& behind);
  void catch_up(const Procs& behind, Done done);
  void exchange_by_host(const Procs& procs, const data::Infos& directives, const Blob& blob, Done done);
  bool exchanges_itself() const noexcept { return node_fences_ && module_.fence_nb == nullptr; }
  Result<Collected> collect_cards(const Procs& procs);
  void mark_sent(const Procs& procs, const std::vector<Collected::Part>& sent);
  void lose_from_fences(const pmix_proc_t& proc, pmix_status_t status);
  bool means_whole_job(const Procs& signature, const SessionRef& session);
  void enter_board_for(const SessionRef& session, std::uint64_t tag, const data::Infos& directives);
  void end_proxy_late(const std::weak_ptr<Session>& weak, store::Generation generation);
  void step_proxies(Job& job);
  void board_full(Job& job);
  void board_moved(Job& job);
  void withdraw(const SessionRef& session, store::Generation generation);
  void spend_generations(Job& job, store::Generation from, pmix_status_t why);
  void rejoin_board(Job& job, std::uint32_t index);
  void lose_from_board(Job& job, std::uint32_t index, pmix_status_t why);
  void report_stuck();
  void arm_stuck_timer();

  // services.cpp
  void abort_request(const SessionRef& session, std::uint64_t tag, link::Abort message);
  void log_request(const SessionRef& session, std::uint64_t tag, link::Log message);

  // tools.cpp
  void greet_tool(const SessionRef& session, const link::Frame& frame);
  void query_request(const SessionRef& session, std::uint64_t tag, link::Query message);
  void query_here(link::Query query, Answered done);
  void answer_query(const link::Query& query, const SessionReport* report, const Answered& done);
  std::string namespaces() const;
  void report_session(bool with_others, std::function<void(SessionReport)> done);

  // reports.cpp
  NodeReport own_report(const ReportRequest& request);
  JobReport report_of(const Job& job) const;
  std::vector<FencePart> open_parts();
  std::optional<FencePart> part_in(const FenceName& name);
  using HasArrived = std::function<bool(const Job&, std::uint32_t local)>;
  FencePart part_of(const Procs& procs, std::uint64_t generation, const HasArrived& has_arrived) const;
  void add_exchange(FencePart& part, const NodeFences::Key& key) const;
  std::vector<std::uint64_t> counters() const;
  std::vector<NodeNumber> members_of(const FenceName& name);
  Result<Procs> known_procs(const FenceName& name);
  Survey::Hooks survey_hooks();

  // server_nodes.cpp
  void meet_nodes();
  bool turn_nodes();
  void leave_nodes();
  bool names_servers(const events::Event& event) const;
  void notify_servers(std::shared_ptr<events::Event> event, Done done);
  void relay_to_nodes(const events::Event& event);
  void deliver_from_server(Bytes body, const Letters::Answer& answer);
  void lose_node(NodeNumber node, const std::string& why);
  std::vector<NodeNumber> nodes_of(const Procs& procs);
  LocalPart local_part(const Procs& procs, std::uint64_t ahead);
  void give_up(const Procs& procs, pmix_status_t why);

  // server_events.cpp
  void relay(const SessionRef& session, std::uint64_t tag, events::Event event);
  void spread(const events::Event& event, const Session* except);
  void announce_loss(const pmix_proc_t& proc);
  void announce_abort(const pmix_proc_t& proc);
  void tell_who_asked(const events::Event& event);

  pmix_server_module_t module_{};
  pmix_proc_t self_{};
  std::string host_;
  std::string name_;  ///< of the abstract socket
  std::unique_ptr<events::Registry> events_;
  TokenBook tokens_;
  store::LocalValues private_;
  std::mutex launch_mutex_;
  std::map<std::string, std::vector<std::pair<std::string, std::string>>, std::less<>> launch_variables_;
  std::mutex kept_mutex_;
  std::vector<std::unique_ptr<data::Value>> kept_;

  // The loop half.
  asio::io_context loop_{1};
  std::thread thread_;
  bool closing_ = false;  ///< sessions are being closed; then the loop stops
  std::atomic<bool> stopping_{false};
  std::optional<shm::Segment> segment_;
  shm::Doorbell* doorbell_ = nullptr;
  const std::shared_ptr<OpenUpcalls> upcalls_ = std::make_shared<OpenUpcalls>(loop_);
  std::unique_ptr<asio::local::stream_protocol::acceptor> acceptor_;
  shm::Fd spare_fd_;  ///< given up for the moment in which a client is told that there is none left
  std::optional<std::chrono::steady_clock::time_point> full_since_;
  std::map<std::string, std::unique_ptr<Job>, std::less<>> jobs_;
  std::vector<SessionRef> sessions_;
  std::list<std::unique_ptr<ParkedGet>> parked_;
  std::set<std::pair<std::string, std::uint32_t>> fetching_;
  std::list<std::unique_ptr<SetFence>> fences_;
  std::uint64_t next_fence_ = 1;
  std::uint64_t next_parked_ = 1;
  std::unique_ptr<asio::steady_timer> stuck_timer_;
  std::chrono::seconds stuck_after_{60};
  std::optional<bool> collects_;  ///< WEFT_FENCE: whatever the callers ask for
  std::chrono::steady_clock::time_point started_{};
  std::map<std::string, StuckClock> board_clocks_;
  CleanupBook cleanups_;
  store::Limits limits_;
  std::unique_ptr<Nodes> nodes_;             ///< NULL: there is no other node
  std::unique_ptr<NodeFences> node_fences_;  ///< with nodes_
  Packer packer_;                            ///< of contributions to their exchanges
  std::unique_ptr<Modex> modex_;             ///< with nodes_
  /// Up to where each card went in fences of a set that is no whole job: by set, job and local index.
  std::map<collectives::Signature, std::map<std::pair<std::string, std::uint32_t>, std::uint64_t>> sent_;
};

}  // namespace weft::server
