// SPDX-License-Identifier: BSD-3-Clause
// The life of a server, its loop and its sockets.
#include "core/server/server.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/descriptors.hpp"
#include "base/host_name.hpp"
#include "base/log_format.hpp"
#include "base/settings.hpp"
#include "base/threads/thread.hpp"
#include "core/data/names/directive.hpp"
#include "core/link/servers.hpp"
#include "core/server/dispatch.hpp"
#include "core/topology/memory.hpp"

namespace weft::server {
namespace {

/// Connections of another user that have not said hello, beside those of registered clients: tools of root.
constexpr std::size_t most_silent = 64;

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
      made->run_later([made] { made->rooms_->services.release_events(); });
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
  settings.limits.card_bytes = base::read(base::Variable::card_bytes).number;
  settings.key_wait = base::read(base::Variable::get_wait).limit().value_or(store::KeyWait::forever);

  if (auto ok = server->open_segment(); !ok) return fail(ok.error());
  auto listener = link::listen_on(server->socket_name_);
  if (!listener) return fail(listener.error());
  server->listener_ = std::make_unique<Listener>(
      server->io_, std::move(*listener),
      Listener::Events{[s = server.get()](const ucred& peer) { return s->may_connect(peer.uid); },
                       [s = server.get()](shm::Fd fd) { s->open_connection(std::move(fd)); }});
  const auto folder = base::read(base::Variable::socket_dir).text;
  if (auto ok = server->listener_->listen_in(folder, server->socket_name_); !ok) return fail(ok.error());
  server->children_ =
      std::make_unique<ChildEnvironment>(server->tokens_, server->socket_name_, server->listener_->file(),
                                         server->segment_->server.fd(), server->segment_->bytes());
  if (spec->has_others())
    if (auto ok = server->open_cluster(*spec); !ok) return fail(ok.error());
  server->rooms_ = std::make_unique<Rooms>(server->loop_, server->self_, module, *server->segment_,
                                           server->tokens_, *server->handlers_, server->cluster_, settings);
  server->rounds_.emplace(*server->rooms_, server->watch_);
  const auto uri = link::uri_of(server->self_, server->socket_name_);
  server->rooms_->jobs.tell_server(server->self_, uri);
  if (!settings.tools.file.empty()) {
    auto file = RendezvousFile::write(settings.tools.file, uri);
    if (!file) return fail(file.error());
    server->rendezvous_file_ = std::move(*file);
  }
  server->accept_clients(module != nullptr ? module->listener : nullptr);

  server->by_calls_ = data::is_set(infos, ninfo, PMIX_EXTERNAL_PROGRESS);
  if (!server->by_calls_)
    server->thread_ = base::start_thread("weft-server", [s = server.get()] { s->run(); });
  server->is_open_ = true;
  return server;
}

/// The socket stays the server's: it looks itself for processes that wait there unaccepted (after_hellos).
void Server::accept_clients(pmix_server_listener_fn_t by_host) {
  if (by_host != nullptr) {
    host_listener_.emplace(io_, [this](base::Fd fd) {
      if (!is_closing_) listener_->take(std::move(fd));
    });
    if (host_listener_->hand_over(by_host, listener_->native_handle())) return;
    host_listener_.reset();
  }
  listener_->start();
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

Result<void> Server::open_cluster(const ClusterSpec& spec) {
  const base::ClosedOnExec closed;  // what the libraries of fabrics open
  const auto opened = cluster_.open(spec);
  // What all servers would say is said by the first.
  const bool is_warning = !opened.is_open || spec.self == 0;
  if (!opened.note.empty())
    base::log(is_warning ? base::LogLevel::warn : base::LogLevel::info, base::LogPart::transport,
              opened.note);
  return opened.is_open ? Result<void>() : fail(Errc::unreachable, "no way to the other nodes");
}

bool Server::stop() {
  if (!std::exchange(is_open_, false)) return !is_abandoned_;
  host_listener_.reset();
  // Orders of clean-up by processes that have ended may lie unread behind their hello.
  loop_.post([this] { after_hellos([this] { close_all(); }); });
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
  const char* const upcall = rooms_->host.running();
  const char* const work = watch_.current();
  const auto where = upcall != nullptr ? fmt::format("the host's upcall {} does not return", upcall)
                     : work != nullptr ? fmt::format("its loop is held up by {}", work)
                                       : std::string("its loop turns, and its connections do not close");
  base::warn(base::LogPart::clients, "the server does not end{}: {}; its thread and memory stay",
             after.count() == 0 ? std::string() : fmt::format(" within {} s", after.count()), where);
  log_thread_.flush();  // the process may end before the thread of the log gets its turn
  is_abandoned_ = true;
  is_stopping_ = true;
  rooms_->host.abandon();
  loop_.post([] {});  // where it sleeps
  if (thread_.joinable()) thread_.detach();
}

Server::~Server() {
  rooms_.reset();
}

void Server::close_all() {
  listener_->stop();
  is_closing_ = true;
  for (const auto& connection : std::vector<ConnectionRef>(connections_)) {
    const LoopWatch::Work work(watch_, "the end of the server", &connection->proc);
    connection->leaving = true;
    connection->close_when_exchanged();
  }
  if (connections_.empty()) is_stopping_.store(true);
}

// ---- the loop

void Server::run() {
  {
    const base::Driver::Turn turn(driver_, base::Driver::IfTaken::wait);
    while (!is_stopping_.load(std::memory_order_acquire) && !by_calls_) {
      rounds_->drain_notices();
      const bool is_busy = run_ready();
      const bool has_introduced = introducers_.turn();
      if (rounds_->progress(!is_busy)) continue;
      if (is_busy || has_introduced) continue;
      rounds_->answer_doorbells(false);
      rounds_->drain_notices();
      if (cluster_.sleep() && introducers_.sleep()) io_.run_one();
      rounds_->answer_doorbells(true);
    }
    if (by_calls_) return;
    end_loop();
  }
  ended_.set_value();
}

void Server::end_loop() {
  // The rest of an abandoned server accepts no process: without this one that connects would wait for ever.
  if (is_abandoned_) return listener_->stop();
  bool is_past_end = false;  // what close() posted, and nothing that comes behind it
  loop_.post([&is_past_end] { is_past_end = true; });
  while (!is_past_end) io_.run_one();
  introducers_.clear();
  cluster_.say_goodbye();
  rooms_->leave_cluster();
}

/// A part of what run() does, for a moment, on a thread that waits. The doorbells are as of a server that is
/// awake: no client rings.
void Server::serve() {
  rounds_->drain_notices();
  introducers_.turn();
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
  introducers_.turn();
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

// ---- the sockets

/// This server's user, root, and the users of the clients that the host has registered. As many processes of
/// another user may be silent at a time as there are registered clients of that user, and a few more: an
/// honest process says hello at once.
bool Server::may_connect(uid_t user) const {
  if (user == ::getuid()) return true;
  const auto registered = rooms_->jobs.count_clients_of(user);
  if (registered == 0 && user != 0) return false;
  const auto silent = std::count_if(
      connections_.begin(), connections_.end(),
      [&](const ConnectionRef& connection) { return !connection->is_known && connection->uid == user; });
  return static_cast<std::size_t>(silent) < registered + most_silent;
}

void Server::open_connection(shm::Fd fd) {
  const LoopWatch::Work work(watch_, "a process that connects");
  asio::local::stream_protocol::socket socket(io_);
  std::error_code error;
  socket.assign(asio::local::stream_protocol(), fd.get(), error);
  if (error) return;
  (void)fd.release();
  const auto connection =
      std::make_shared<ClientConnection>(std::move(socket), static_cast<ClientConnection::Owner&>(*this));
  connections_.push_back(connection);
  cluster_.share_cores(static_cast<unsigned>(connections_.size()));
  connection->start();
}

/// Calls `then` when the hello of each process that has connected by now has been handled: one that has ended
/// already may have left it unread. Processes that connect from here on, or say nothing, are not waited for.
void Server::after_hellos(std::function<void()> then) {
  listener_->accept_waiting();
  std::vector<std::weak_ptr<ClientConnection>> unread;
  for (const auto& connection : connections_)
    if (!connection->is_known) unread.push_back(connection);
  await_hellos(std::move(unread), loop_.now() + std::chrono::seconds(1), std::move(then));
}

void Server::await_hellos(std::vector<std::weak_ptr<ClientConnection>> unread,
                          std::chrono::steady_clock::time_point limit, std::function<void()> then) {
  // From the back and no further than to the first that is not: each is asked about once, however often this
  // comes round.
  const auto is_handled = [](const std::weak_ptr<ClientConnection>& weak) {
    const auto connection = weak.lock();
    return !connection || connection->is_known || !connection->has_unread_bytes();
  };
  while (!unread.empty() && is_handled(unread.back())) unread.pop_back();
  // A hello that was read out of its socket may be handled behind what is handled now.
  if (unread.empty() || loop_.now() >= limit) return loop_.post(std::move(then));
  loop_.post([this, unread = std::move(unread), limit, then = std::move(then)]() mutable {
    await_hellos(std::move(unread), limit, std::move(then));
  });
}

void Server::on_frame(const ConnectionRef& from, link::Frame frame) {
  const LoopWatch::Work work(watch_, link::to_text(frame.type), &from->proc);
  dispatch(*rooms_, from, frame);
}

void Server::on_closed(const ConnectionRef& connection) {
  const LoopWatch::Work work(watch_, "the end of the connection", &connection->proc);
  std::erase(connections_, connection);
  cluster_.share_cores(static_cast<unsigned>(connections_.size()));
  if (is_closing_ && connections_.empty()) is_stopping_.store(true);
  rooms_->connection_closed(connection, is_closing_);
}

}  // namespace weft::server
