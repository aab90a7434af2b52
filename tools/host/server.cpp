// SPDX-License-Identifier: BSD-3-Clause
#include "tools/host/server.hpp"

#include <fmt/format.h>
#include <pmix.h>
#include <pmix_server.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"

namespace weft::host {
namespace {

using job::Rank;
using messages::Stop;
namespace exit_status = messages::exit_status;

/// The object that the upcalls work on, for the library passes them no context of ours. Set before the job is
/// registered, cleared after the library's end.
std::atomic<Server*> current{nullptr};

void require(pmix_status_t status, const char* step) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return;
  throw Stop(exit_status::own_failure, messages::server_failed(step, PMIx_Error_string(status)));
}

/// Registrations in flight: one wait for all of them instead of two thread switches for each.
class Outstanding {
 public:
  static void completed(pmix_status_t status, void* self) {
    auto& outstanding = *static_cast<Outstanding*>(self);
    const std::lock_guard lock(outstanding.mutex_);
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) outstanding.worst_ = status;
    if (--outstanding.count_ == 0) outstanding.none_left_.notify_one();
  }
  void begin() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  /// returned: by the call itself. Anything but PMIX_SUCCESS means that its callback never comes.
  void began(pmix_status_t returned) {
    if (returned != PMIX_SUCCESS) completed(returned, this);
  }
  pmix_status_t wait() {
    std::unique_lock lock(mutex_);
    none_left_.wait(lock, [this] { return count_ == 0; });
    return worst_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_left_;
  std::size_t count_ = 0;
  pmix_status_t worst_ = PMIX_SUCCESS;
};

/// The library's text for a set of processors; empty if it has none.
std::string generated(pmix_status_t (*generate)(const pmix_cpuset_t*, char**), hwloc_bitmap_t bits) {
  char source[] = "hwloc";
  pmix_cpuset_t cpuset;
  cpuset.source = source;
  cpuset.bitmap = bits;
  char* text = nullptr;
  if (generate(&cpuset, &text) != PMIX_SUCCESS || text == nullptr) return {};
  std::string result(text);
  std::free(text);
  return result;
}

/// The localities of ranks that are bound; the library makes those of other ranks (`weft.unbound`).
std::vector<Locality> localities_of(const JobMap& map) {
  std::vector<Locality> localities;
  if (map.policy.bind == job::BindTo::none) return localities;
  hwloc_bitmap_t bits = hwloc_bitmap_alloc();
  for (const auto& binding : map.bindings) {
    hwloc_bitmap_zero(bits);
    for (const unsigned processor : binding.processors) hwloc_bitmap_set(bits, processor);
    localities.push_back({generated(&PMIx_server_generate_cpuset_string, bits),
                          generated(&PMIx_server_generate_locality_string, bits)});
  }
  hwloc_bitmap_free(bits);
  return localities;
}

using Generator = pmix_status_t (*)(const char*, char**);

std::string map_text(Generator generate, const std::string& input, const char* step) {
  char* text = nullptr;
  require(generate(input.c_str(), &text), step);
  std::string result(text == nullptr ? "" : text);
  std::free(text);
  return result;
}

std::vector<Rank> named_ranks(const std::string& nspace, const pmix_proc_t procs[], std::size_t count) {
  std::vector<Rank> named;
  for (std::size_t i = 0; i < count; ++i) {
    if (procs[i].rank == PMIX_RANK_WILDCARD) return {};  // the whole job
    if (nspace == procs[i].nspace) named.push_back(Rank{procs[i].rank});
  }
  std::sort(named.begin(), named.end());
  return named;
}

pmix_proc_t proc_of(const std::string& nspace, Rank rank) noexcept {
  pmix_proc_t name{};
  std::strncpy(name.nspace, nspace.c_str(), PMIX_MAX_NSLEN);
  name.rank = number(rank);
  return name;
}

/// Strings of malloc, as the library changes them.
struct Environment {
  char** entries;
  explicit Environment(const std::vector<std::string>& variables)
      : entries(static_cast<char**>(std::calloc(variables.size() + 1, sizeof(char*)))) {
    if (entries == nullptr) throw std::bad_alloc();
    for (std::size_t i = 0; i < variables.size(); ++i) entries[i] = ::strdup(variables[i].c_str());
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    for (char** at = entries; at != nullptr && *at != nullptr; ++at) std::free(*at);
    std::free(static_cast<void*>(entries));
  }
};

void raise_event(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range, InfoList& infos) {
  PMIx_Notify_event(
      code, source, range, infos.data(), infos.size(), [](pmix_status_t, void*) {}, nullptr);
}

/// The infos that each event of a job has. The library adds the time.
InfoList about_job(const std::string& nspace) {
  InfoList infos;
  infos.add_string(PMIX_NSPACE, nspace);
  infos.add_proc(PMIX_EVENT_AFFECTED_PROC, proc_of(nspace, Rank{PMIX_RANK_WILDCARD}));
  return infos;
}

}  // namespace

/// The upcalls run on the library's thread and only record what happened: the library must not wait for the
/// loop of the tool.
struct Upcalls {
  static pmix_status_t connected(const pmix_proc_t* proc, void*, pmix_info_t*, std::size_t, pmix_op_cbfunc_t,
                                 void*) {
    return advance(proc, Server::connected_mark);
  }
  static pmix_status_t finalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
    return advance(proc, Server::finalized_mark);
  }

  static pmix_status_t abort(const pmix_proc_t* proc, void*, int status, const char* message,
                             pmix_proc_t procs[], std::size_t count, pmix_op_cbfunc_t, void*) {
    Server* server = current.load(std::memory_order_acquire);
    if (server == nullptr || server->marks_of(*proc) == nullptr) return PMIX_ERR_NOT_FOUND;
    server->marks_of(*proc)->fetch_or(Server::abort_mark, std::memory_order_acq_rel);
    server->events_.abort({Rank{proc->rank}, status, message == nullptr ? "" : message,
                           named_ranks(server->nspace_, procs, procs == nullptr ? 0 : count)});
    return PMIX_OPERATION_SUCCEEDED;
  }

  /// Any rank can raise an event with this code. From a forged one nothing follows but that the end of a rank
  /// is waited for a moment longer.
  static void lost(std::size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t infos[], std::size_t count,
                   pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t done, void* cookie) {
    Server* server = current.load(std::memory_order_acquire);
    for (std::size_t i = 0; server != nullptr && i < count; ++i) {
      const bool is_about =
          PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_AFFECTED_PROC) && infos[i].value.type == PMIX_PROC;
      const auto* proc = is_about ? infos[i].value.data.proc : nullptr;
      if (proc == nullptr || server->marks_of(*proc) == nullptr) continue;
      std::uint32_t none = PMIX_RANK_UNDEF;
      server->first_lost_.compare_exchange_strong(none, proc->rank, std::memory_order_acq_rel);
    }
    if (done != nullptr) done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cookie);
  }

 private:
  static pmix_status_t advance(const pmix_proc_t* proc, Server::Mark mark) {
    Server* server = current.load(std::memory_order_acquire);
    auto* marks = server == nullptr ? nullptr : server->marks_of(*proc);
    if (marks == nullptr) return PMIX_ERR_NOT_FOUND;
    // Either this sees that the process has ended, or mark_ended() comes later and its caller sees this mark.
    const auto before = marks->fetch_or(mark, std::memory_order_acq_rel);
    const bool is_late = mark == Server::connected_mark && (before & Server::ended_mark) != 0;
    if (is_late) {
      server->events_.connected_late(Rank{proc->rank});
      marks->fetch_or(Server::known_mark, std::memory_order_acq_rel);
    }
    return PMIX_OPERATION_SUCCEEDED;
  }
};

Server::Server(const ServerIdentity& identity, hwloc_topology_t topology) {
  static pmix_server_module_t module{};  // the library may keep the address
  module.client_connected2 = &Upcalls::connected;
  module.client_finalized = &Upcalls::finalized;
  module.abort = &Upcalls::abort;
  InfoList infos;
  infos.add_bool("weft.tells_ends", true);
  infos.add_string(PMIX_SERVER_NSPACE, identity.nspace);
  infos.add_rank(PMIX_SERVER_RANK, Rank{identity.number});
  if (identity.servers > 1) {
    infos.add_u32(PMIX_NUM_NODES, identity.servers);
    infos.add_string(PMIX_HOSTNAME, identity.host);
    infos.add_secret("weft.key", identity.key);
    if (!identity.transport.empty()) infos.add_string("weft.transport", identity.transport);
    if (identity.is_on_one_host) infos.add_bool("weft.one_host", true);
    if (!identity.contact.empty()) infos.add_bytes("weft.contact", identity.contact);
  }
  pmix_topology_t loaded{};
  char source[] = "hwloc";
  loaded.source = source;
  loaded.topology = topology;
  // The loaded one, so that the library does not spend milliseconds on loading it again.
  if (topology != nullptr) infos.add_topology(PMIX_TOPOLOGY2, &loaded);
  const auto status = PMIx_server_init(&module, infos.data(), infos.size());
  if (status == PMIX_ERR_UNREACH &&
      !identity.contact.empty())  // a daemon, told of a transport that this node does not have
    throw Stop(exit_status::no_transport,
               messages::server_failed("PMIx_server_init", PMIx_Error_string(status)));
  require(status, "PMIx_server_init");
}

Server::~Server() {
  PMIx_server_finalize();
  current.store(nullptr, std::memory_order_release);
}

void Server::register_job(const JobMap& map, const std::vector<Rank>& local, Events events) {
  nspace_ = map.nspace;
  is_recoverable_ = map.is_recoverable;
  size_ = map.size;
  local_ = local;
  marks_ = std::make_unique<Marks[]>(size_);
  events_ = std::move(events);
  current.store(this, std::memory_order_release);
  watch_losses();
  register_map(map);
  define_process_sets(map);
  register_ranks();
}

void Server::watch_losses() {
  pmix_status_t code = PMIX_ERR_PROC_ABORTED;
  const auto id = PMIx_Register_event_handler(&code, 1, nullptr, 0, &Upcalls::lost, nullptr, nullptr);
  require(id < 0 ? id : PMIX_SUCCESS, "PMIx_Register_event_handler");
}

void Server::register_map(const JobMap& map) {
  const auto node_map = map_text(&PMIx_generate_regex, node_list(map), "PMIx_generate_regex");
  const auto proc_map = map_text(&PMIx_generate_ppn, rank_list(map), "PMIx_generate_ppn");
  auto infos = job_info(map, localities_of(map), node_map, proc_map);
  const auto name = name_of_rank(Rank{0});
  require(PMIx_server_register_nspace(name.nspace, static_cast<int>(local_.size()), infos.data(),
                                      infos.size(), nullptr, nullptr),
          "PMIx_server_register_nspace");
}

/// Programs that share a name are one set.
void Server::define_process_sets(const JobMap& map) {
  std::map<std::string, std::vector<pmix_proc_t>> sets;
  for (std::size_t a = 0; a < map.apps.size(); ++a) {
    const auto& app = map.apps[a];
    if (app.process_set.empty()) continue;
    const auto first = number(map.first_rank_of(a));
    for (std::uint32_t i = 0; i < app.ranks; ++i)
      sets[app.process_set].push_back(name_of_rank(Rank{first + i}));
  }
  for (const auto& [name, members] : sets)
    require(PMIx_server_define_process_set(members.data(), members.size(), name.c_str()),
            "PMIx_server_define_process_set");
}

void Server::register_ranks() {
  Outstanding outstanding;
  const auto user = ::geteuid();
  const auto group = ::getegid();
  for (const Rank rank : local_) {
    const auto name = name_of_rank(rank);
    outstanding.begin();
    outstanding.began(
        PMIx_server_register_client(&name, user, group, nullptr, &Outstanding::completed, &outstanding));
  }
  require(outstanding.wait(), "PMIx_server_register_client");
}

std::vector<std::string> Server::environment_of(Rank rank, const std::vector<std::string>& inherited) const {
  const auto name = name_of_rank(rank);
  Environment environment(inherited);
  require(PMIx_server_setup_fork(&name, &environment.entries), "PMIx_server_setup_fork");
  std::vector<std::string> variables;
  variables.reserve(inherited.size() + 8);
  for (char** at = environment.entries; at != nullptr && *at != nullptr; ++at) variables.emplace_back(*at);
  return variables;
}

void Server::mark_ended(Rank rank) noexcept {
  auto& marks = marks_[index(rank)];
  const auto before = marks.fetch_or(ended_mark, std::memory_order_acq_rel);
  if ((before & (connected_mark | finalized_mark)) != 0)
    marks.fetch_or(known_mark, std::memory_order_relaxed);
}

void Server::announce_end(Rank rank, int wait_status) const {
  const auto marks = marks_[index(rank)].load(std::memory_order_acquire);
  const bool was_killed = WIFSIGNALED(wait_status);
  const bool left_unsynced = (marks & connected_mark) != 0 && (marks & finalized_mark) == 0;
  const int exit_code =
      was_killed ? exit_status::signal_base + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
  const auto how = (marks & abort_mark) != 0 ? PMIX_ERR_PROC_REQUESTED_ABORT
                   : was_killed              ? PMIX_ERR_PROC_ABORTED_BY_SIG
                   : exit_code != 0          ? PMIX_ERR_EXIT_NONZERO_TERM
                   : left_unsynced           ? PMIX_ERR_PROC_TERM_WO_SYNC
                                             : PMIX_SUCCESS;
  const auto name = name_of_rank(rank);
  const auto raise = [&](pmix_status_t code, bool is_for_default_handlers) {
    InfoList infos;
    infos.add_proc(PMIX_EVENT_AFFECTED_PROC, name);
    infos.add_int(PMIX_EXIT_CODE, exit_code);
    infos.add_status(PMIX_PROC_TERM_STATUS, how);
    if (!is_for_default_handlers) infos.add_bool(PMIX_EVENT_NON_DEFAULT, true);
    // On its node only where a large job ends everywhere at once.
    const bool is_end_of_job = how == PMIX_SUCCESS || !is_recoverable_;
    const auto range = is_end_of_job ? PMIX_RANGE_LOCAL : PMIX_RANGE_SESSION;
    raise_event(code, &name, range, infos);
  };
  raise(PMIX_EVENT_PROC_TERMINATED, false);
  // The library has told of a connection that was lost (PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_TERM_WO_SYNC),
  // default handlers too.
  if (how != PMIX_SUCCESS && how != PMIX_ERR_PROC_TERM_WO_SYNC) raise(how, is_recoverable_ && !left_unsynced);
}

void Server::announce_job(pmix_status_t code, const std::string& nspace) const {
  auto infos = about_job(nspace);
  infos.add_bool(PMIX_EVENT_NON_DEFAULT,
                 true);  // for tools: ranks may end themselves for whatever their default handler hears
  raise_event(code, nullptr, PMIX_RANGE_LOCAL, infos);
}

void Server::announce_end_of_job(const std::string& nspace, const job::Ending& ending) const {
  auto infos = about_job(nspace);
  infos.add_status(PMIX_JOB_TERM_STATUS, ending.status);
  if (ending.failed) {
    infos.add_proc(PMIX_PROCID, proc_of(nspace, *ending.failed));
    infos.add_int(PMIX_EXIT_CODE, ending.exit_code);
  }
  raise_event(PMIX_EVENT_JOB_END, nullptr, PMIX_RANGE_LOCAL, infos);
}

void Server::deregister(Rank rank) noexcept {
  const auto name = name_of_rank(rank);
  PMIx_server_deregister_client(
      &name, [](pmix_status_t, void*) {}, nullptr);
}

bool Server::await_late_connections(std::function<void()> done) {
  // `open` counts this function too; the last that is ready calls done and frees this.
  struct Wait {
    std::function<void()> done;
    std::atomic<std::uint32_t> open{1};
    static void ready(pmix_status_t, void* self) {
      auto* wait = static_cast<Wait*>(self);
      if (wait->open.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      wait->done();
      delete wait;
    }
  };
  auto* wait = new Wait{std::move(done)};
  std::uint32_t awaited = 0;
  for (const Rank rank : local_) {
    // The library's thread may be about to call connected_late: then it has the next step behind that call.
    const auto marks = marks_[index(rank)].load(std::memory_order_acquire);
    if ((marks & (ended_mark | known_mark)) != ended_mark) continue;
    ++awaited;
    wait->open.fetch_add(1, std::memory_order_relaxed);
    const auto name = name_of_rank(rank);
    // The library's thread calls back when it has handled all that this process sent.
    PMIx_server_deregister_client(&name, &Wait::ready, wait);
  }
  if (awaited != 0) {
    Wait::ready(PMIX_SUCCESS, wait);
  } else {
    delete wait;
  }
  return awaited != 0;
}

bool Server::has_connected(Rank rank) const noexcept {
  return (marks_[index(rank)].load(std::memory_order_acquire) & (connected_mark | finalized_mark)) != 0;
}

bool Server::has_finalized(Rank rank) const noexcept {
  return (marks_[index(rank)].load(std::memory_order_acquire) & finalized_mark) != 0;
}

std::optional<Rank> Server::first_lost() const noexcept {
  const auto rank = first_lost_.load(std::memory_order_acquire);
  return rank == PMIX_RANK_UNDEF ? std::nullopt : std::optional(Rank{rank});
}

std::uint32_t Server::count_connected() const noexcept {
  std::uint32_t count = 0;
  for (const Rank rank : local_) count += has_connected(rank) ? 1 : 0;
  return count;
}

pmix_proc_t Server::name_of_rank(Rank rank) const noexcept {
  return proc_of(nspace_, rank);
}

Server::Marks* Server::marks_of(const pmix_proc_t& proc) noexcept {
  if (nspace_ != proc.nspace || proc.rank >= size_) return nullptr;
  return &marks_[proc.rank];
}

}  // namespace weft::host
