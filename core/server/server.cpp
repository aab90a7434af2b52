// SPDX-License-Identifier: BSD-3-Clause
// The life of a server, its loop and its sockets.
#include "core/server/server.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/host_name.hpp"
#include "base/log_format.hpp"
#include "base/settings.hpp"
#include "base/threads/thread.hpp"
#include "core/data/names/directive.hpp"
#include "core/link/servers.hpp"
#include "core/topology/memory.hpp"

namespace weft::server {
namespace {

constexpr std::uint64_t least_segment_bytes = std::uint64_t{64} << 20;

/// Logs what is wrong in the environment, a line each. The servers of a cluster have the settings of the
/// first, which warns; the others tell it where WEFT_LOG asks.
void log_complaints(pmix_rank_t server) {
  const auto level = server == 0 ? base::LogLevel::warn : base::LogLevel::info;
  for (const auto& line : base::complaints(environ)) base::log(level, base::LogPart::settings, line);
}

/// WEFT_FENCE: whether cards travel at fences between nodes; nothing: as each fence asks.
std::optional<bool> collects_setting() {
  const auto fence = base::read(base::Variable::fence).text;
  return fence.empty() ? std::nullopt : std::optional(fence == "full");
}

/// The most of the wished size that this process's address space holds (ulimit -v).
Result<shm::Segment> create_segment() {
  // Virtual: pages come when touched.
  auto bytes = base::read(base::Variable::segment_bytes).number;
  for (;;) {
    auto segment = shm::Segment::create(bytes);
    if (segment || segment.error().sys != ENOMEM || bytes / 2 < least_segment_bytes) return segment;
    bytes /= 2;
  }
}

/// PMIX_HOSTNAME; without it, as the system has it.
std::string host_name_from(const pmix_info_t* infos, std::size_t ninfo) {
  auto out = base::host_name();
  for (std::size_t i = 0; i < ninfo; ++i)
    if (data::key_of(infos[i]) == PMIX_HOSTNAME && infos[i].value.type == PMIX_STRING &&
        infos[i].value.data.string != nullptr)
      out = infos[i].value.data.string;
  return out;
}

pmix_proc_t identity_from(const pmix_info_t* infos, std::size_t ninfo) {
  auto proc = link::make_proc("weft-server-" + std::to_string(::getpid()), 0);
  for (std::size_t i = 0; i < ninfo; ++i) {
    const std::string_view key = infos[i].key;
    if (key == PMIX_SERVER_NSPACE && infos[i].value.type == PMIX_STRING &&
        infos[i].value.data.string != nullptr)
      proc = link::make_proc(infos[i].value.data.string, proc.rank);
    if (key == PMIX_SERVER_RANK)
      if (const auto rank = data::as_unsigned(infos[i].value)) proc.rank = static_cast<pmix_rank_t>(*rank);
  }
  return proc;
}

}  // namespace

Server::Server(const pmix_proc_t& self, std::string host)
    : self_(self), host_name_(std::move(host)), cluster_(loop_, host_name_) {}

Result<Server::Owned> Server::start(const pmix_server_module_t* module, const pmix_info_t* infos,
                                    std::size_t ninfo, std::shared_ptr<events::Registry> handlers) {
  Owned server(new Server(identity_from(infos, ninfo), host_name_from(infos, ninfo)));
  const auto spec = ClusterSpec::parse(infos, ninfo, server->self_.rank);
  if (!spec) return fail(spec.error());
  base::set_log_host(server->host_name_);
  log_complaints(server->self_.rank);
  server->socket_name_ = link::new_server_name();
  server->handlers_ = std::move(handlers);
  if (server->handlers_ == nullptr) {
    server->handlers_ = std::make_shared<events::Registry>(events::Identity{server->self_, {}});
    server->handlers_->on_removed([made = server.get()](std::size_t) {
      made->run_later([made] { made->rooms_->watched_codes.release(); });
    });
    server->handlers_->run_later_by(
        [made = server.get()](std::function<void()> task) { made->run_later(std::move(task)); });
  }
  Rooms::Settings settings;
  auto tools = ToolSupport::parse(infos, ninfo);
  if (!tools) return fail(tools.error());
  settings.tools = std::move(*tools);
  settings.host_name = server->host_name_;
  settings.stuck_after = std::chrono::seconds(base::read(base::Variable::stuck_after).number);
  settings.collects = collects_setting();
  settings.host_tells_ends = data::is_set(infos, ninfo, "weft.tells_ends");
  settings.host_hears_connects = data::is_set(infos, ninfo, "weft.hears_connects");
  settings.limits.card_bytes = base::read(base::Variable::card_bytes).number;
  settings.munge_socket = base::read(base::Variable::munge_socket).text;
  settings.key_wait = base::read(base::Variable::get_wait).limit().value_or(store::KeyWait::forever);

  if (auto ok = server->open_segment(); !ok) return fail(ok.error());
  if (spec->has_others())
    if (auto ok = open_and_log(server->cluster_, *spec); !ok) return fail(ok.error());
  server->rooms_ = std::make_unique<Rooms>(server->loop_, server->self_, module, *server->segment_,
                                           server->tokens_, *server->handlers_, server->cluster_, settings);
  server->rounds_.emplace(*server->rooms_, server->watch_);
  if (auto ok = server->open_door(); !ok) return fail(ok.error());
  const auto uri = link::uri_of(server->self_, server->socket_name_);
  server->rooms_->jobs.tell_server(server->self_, uri);
  if (!settings.tools.file.empty()) {
    auto file = RendezvousFile::write(settings.tools.file, uri);
    if (!file) return fail(file.error());
    server->rendezvous_file_ = std::move(*file);
  }
  server->door_->accept(module != nullptr ? module->listener : nullptr);

  server->by_calls_ = data::is_set(infos, ninfo, PMIX_EXTERNAL_PROGRESS);
  if (!server->by_calls_)
    server->thread_ = base::start_thread("weft-server", [s = server.get()] { s->run(); });
  server->is_open_ = true;
  return server;
}

Result<void> Server::open_segment() {
  auto segment = create_segment();
  if (!segment) return fail(segment.error());
  segment_ = std::move(*segment);
  // Before the first touch; a machine of one NUMA node answers with one name and nothing is done.
  const auto interleave = [nodes = topology::usable_numa_nodes()](MutableBytes memory) {
    (void)topology::interleave_memory(memory.data(), memory.size(), nodes);
  };
  interleave(segment_->server.bytes());
  segment_->clients.on_new(interleave);
  return store::format_segment(*segment_, {socket_name_, link::nspace_of(self_), self_.rank});
}

/// The rooms are there: from here on processes may come in, and calls of the host.
Result<void> Server::open_door() {
  door_ = std::make_unique<Door>(loop_, watch_, rooms_->jobs, cluster_,
                                 static_cast<ClientConnection::Owner&>(*this));
  const auto folder = base::read(base::Variable::socket_dir).text;
  if (auto ok = door_->listen(socket_name_, folder); !ok) return fail(ok.error());
  launch_ =
      std::make_unique<Launch>(loop_, calls_, host_name_, Launch::Rooms{rooms_->host, rooms_->jobs, cluster_},
                               std::make_unique<ChildEnvironment>(tokens_, socket_name_, door_->file(),
                                                                  segment_->server.fd(), segment_->bytes()));
  host_data_.emplace(calls_, *segment_, rooms_->jobs, rooms_->gets);
  registrations_.emplace(calls_, self_, *door_, *rooms_, *launch_, *handlers_);
  return {};
}

bool Server::stop() {
  if (!std::exchange(is_open_, false)) return !is_abandoned_;
  door_->stop_taking();
  // What processes that have ended wanted cleaned up may lie unread behind their hello.
  loop_.post([this] { door_->after_hellos([this] { close_all(); }); });
  const auto hung_for = on_loop() ? std::chrono::seconds(0) : await_the_end();
  if (hung_for)
    abandon(*hung_for);
  else if (thread_.joinable())
    thread_.join();
  waits_.close();
  return !hung_for;
}

/// Its memory stays, for the loop may come out of where it is; the host's may be gone by then. after: 0: not
/// waited for.
void Server::abandon(std::chrono::seconds after) {
  const char* const upcall = rooms_->host.upcalls().running();
  const char* const work = watch_.current();
  const auto where = upcall != nullptr ? fmt::format("the host's upcall {} does not return", upcall)
                     : work != nullptr ? fmt::format("its loop is held up by {}", work)
                                       : std::string("its loop turns, and its connections do not close");
  base::warn(base::LogPart::clients, "the server does not end{}: {}; its thread and memory stay",
             after.count() == 0 ? std::string() : fmt::format(" within {} s", after.count()), where);
  log_thread_.flush();  // the process may end before the thread of the log gets its turn
  is_abandoned_ = true;
  is_stopping_ = true;
  rooms_->host.upcalls().abandon();
  loop_.post([] {});  // where it sleeps
  if (thread_.joinable()) thread_.detach();
}

Server::~Server() {
  launch_.reset();
  rooms_.reset();
}

void Server::close_all() {
  door_->close();
  is_closing_ = true;
  door_->close_connections();
  if (!door_->has_connections()) is_stopping_.store(true);
}

// ---- the loop

void Server::run() {
  {
    const base::Driver::Turn turn(driver_, base::Driver::IfTaken::wait);
    while (!is_stopping_.load(std::memory_order_acquire) && !by_calls_) {
      rounds_->drain_notices();
      const bool is_busy = run_ready();
      const bool has_introduced = launch_->turn();
      if (rounds_->progress(!is_busy)) continue;
      if (is_busy || has_introduced) continue;
      rounds_->answer_doorbells(false);
      rounds_->drain_notices();
      if (pace_of(cluster_).sleep() && launch_->sleep()) io_.run_one();
      rounds_->answer_doorbells(true);
    }
    if (by_calls_) return;
    end_loop();
  }
  ended_.set_value();
}

void Server::end_loop() {
  // What is left of an abandoned server accepts none: without this a process that connects would wait for
  // ever.
  if (is_abandoned_) return door_->close();
  bool is_past_end = false;  // what close() posted, and nothing that comes behind it
  loop_.post([&is_past_end] { is_past_end = true; });
  while (!is_past_end) io_.run_one();
  launch_->close();
  cluster_.say_goodbye();
  rooms_->leave_cluster();
}

/// A part of what run() does, for a moment, on a thread that waits. The doorbells are as of a server that is
/// awake: no client rings.
void Server::serve() {
  rounds_->drain_notices();
  launch_->turn();
  (void)rounds_->progress(false);
  // Inside a handler only a poll sees what the handler itself has posted.
  if (io_.poll_one() == 0) io_.run_one_for(std::chrono::milliseconds(1));
}

/// For how long it was waited for in vain; none: it has ended. A machine with too little of a processor for
/// all is late, and does not hang.
std::optional<std::chrono::seconds> Server::await_the_end() {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + most;
  auto limit = Clock::now() + patience;
  auto seen = watch_.ended();
  const auto ended = ended_.get_future();
  for (auto now = Clock::now(); now < end; now = Clock::now()) {
    if (const auto work = watch_.ended(); work != seen) {
      seen = work;
      limit = now + patience;
    }
    if (now >= limit) return patience;
    if (!by_calls_) {  // an upcall may stop the thread meanwhile
      if (ended.wait_for(std::chrono::milliseconds(100)) == std::future_status::ready) return std::nullopt;
      continue;
    }
    const base::Driver::Turn turn(driver_);
    if (!turn) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    if (is_stopping_.load(std::memory_order_acquire)) {
      end_loop();
      return std::nullopt;
    }
    serve();
  }
  return most;
}

void Server::stop_thread(bool flushes) {
  by_calls_ = true;
  loop_.post([] {});  // where it sleeps
  if (thread_.joinable() && !on_loop()) thread_.join();
  if (flushes) progress();
}

void Server::progress() {
  if (!by_calls_) return;
  const base::Driver::Turn turn(driver_);
  if (!turn || is_stopping_.load(std::memory_order_acquire)) return;
  rounds_->drain_notices();
  (void)run_ready();
  launch_->turn();
  (void)rounds_->progress(false);
  rounds_->drain_notices();
}

/// Not until nothing is ready, which processes that connect without end would put off for ever: what comes by
/// other ways has its turn as well. True: something was ready.
bool Server::run_ready() {
  constexpr int most_in_a_row = 64;
  for (int ran = 0; ran < most_in_a_row; ++ran)
    if (io_.poll_one() == 0) return ran != 0;
  return true;
}

// ---- the connections

void Server::on_frame(const ConnectionRef& from, link::Frame frame) {
  const LoopWatch::Work work(watch_, link::to_text(frame.type), &from->proc);
  rooms_->requests.dispatch(from, frame);
}

void Server::on_closed(const ConnectionRef& connection) {
  const LoopWatch::Work work(watch_, "the end of the connection", &connection->proc);
  door_->remove(connection);
  if (is_closing_ && !door_->has_connections()) is_stopping_.store(true);
  rooms_->connection_closed(connection, is_closing_);
}

}  // namespace weft::server
