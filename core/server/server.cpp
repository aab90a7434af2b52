// SPDX-License-Identifier: BSD-3-Clause
// The life of a server and its loop.
#include "core/server/server.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <asio/buffer.hpp>
#include <bit>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/server/events/event_wire.hpp"
#include "core/topology/memory.hpp"

namespace weft::server {
namespace {

// Virtual: pages come when touched. A client maps all of it read-only.
constexpr std::uint64_t default_segment_bytes = std::uint64_t{64} << 30;
constexpr std::uint64_t least_segment_bytes = std::uint64_t{64} << 20;

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

std::uint64_t number_from_env(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  if (text == nullptr) return fallback;
  std::uint64_t value = 0;
  const char* end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, value);
  if (parsed.ec == std::errc{} && parsed.ptr == end) return value;
  std::fprintf(stderr, "weft: [%s] %s=%s is not a whole number; going on with %llu\n", host_name().c_str(),
               name, text, static_cast<unsigned long long>(fallback));
  return fallback;
}

/// WEFT_FENCE: whether cards travel at fences between nodes; nothing: as each fence asks.
std::optional<bool> collects_from_env() {
  const char* text = std::getenv("WEFT_FENCE");
  const std::string_view mode = text == nullptr ? "" : text;
  if (mode == "full") return true;
  if (mode == "sparse") return false;
  if (!mode.empty())
    std::fprintf(stderr, "weft: [%s] WEFT_FENCE=%s is neither full nor sparse; going on as each fence asks\n",
                 host_name().c_str(), text);
  return std::nullopt;
}

/// The most of the wished size that this process's address space holds (ulimit -v).
Result<shm::Segment> create_segment() {
  auto bytes = number_from_env("WEFT_SEGMENT_BYTES", default_segment_bytes);
  for (;;) {
    auto segment = shm::Segment::create(bytes);
    if (segment || segment.error().sys != ENOMEM || bytes / 2 < least_segment_bytes) return segment;
    bytes /= 2;
  }
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

link::Token TokenBook::token_of(const pmix_proc_t& proc) {
  const std::lock_guard lock(mutex_);
  const auto [entry, made] = tokens_.try_emplace({std::string(link::nspace_of(proc)), proc.rank});
  if (made) entry->second = link::Token::random();
  return entry->second;
}

bool TokenBook::accepts(std::string_view nspace, std::uint32_t rank, const link::Token& token) const {
  const std::lock_guard lock(mutex_);
  const auto found = tokens_.find({std::string(nspace), rank});
  return found != tokens_.end() && found->second.equals(token);
}

void TokenBook::forget(std::string_view nspace) {
  const std::lock_guard lock(mutex_);
  std::erase_if(tokens_, [&](const auto& entry) { return entry.first.first == nspace; });
}

Result<std::unique_ptr<Server>> Server::start(const pmix_server_module_t* module, const pmix_info_t* infos,
                                              std::size_t ninfo) {
  std::unique_ptr<Server> server(new Server);
  if (module != nullptr) server->module_ = *module;
  server->self_ = identity_from(infos, ninfo);
  auto spec = SessionSpec::parse(infos, ninfo, server->self_.rank, host_name());
  if (!spec) return tl::unexpected(spec.error());
  server->host_ = spec->host;
  server->name_ = link::new_server_name();
  server->stuck_after_ = std::chrono::seconds(number_from_env("WEFT_STUCK_AFTER", 60));
  server->collects_ = collects_from_env();
  server->limits_.card_bytes = number_from_env("WEFT_CARD_BYTES", server->limits_.card_bytes);
  server->events_ = std::make_unique<events::Registry>(events::Identity{server->self_, {}});

  auto segment = create_segment();
  if (!segment) return tl::unexpected(segment.error());
  server->segment_ = std::move(*segment);
  // Before the first touch; a machine of one NUMA node answers with one name and nothing is done.
  (void)topology::interleave_memory(server->segment_->base(), server->segment_->size(),
                                    topology::usable_numa_nodes());
  if (auto ok = store::format_segment(*server->segment_,
                                      {server->name_, link::nspace_of(server->self_), server->self_.rank});
      !ok)
    return tl::unexpected(ok.error());
  const auto& header = *reinterpret_cast<store::SegmentHeader*>(server->segment_->base());
  server->doorbell_ = reinterpret_cast<shm::Doorbell*>(server->segment_->base() + header.doorbell);

  auto listener = link::listen_on(server->name_);
  if (!listener) return tl::unexpected(listener.error());
  server->acceptor_ = std::make_unique<asio::local::stream_protocol::acceptor>(
      server->loop_, asio::local::stream_protocol(), listener->release());
  server->spare_fd_ = shm::Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (spec->has_others()) {
    auto opened = Nodes::open(
        server->loop_, *spec,
        {[s = server.get()](NodeNumber node, const std::string& why) { s->lose_node(node, why); }});
    if (!opened.note.empty())
      std::fprintf(stderr, "weft: [%s] %s\n", server->host_.c_str(), opened.note.c_str());
    if (!opened.nodes) return fail(Errc::unreachable, "no way to the other nodes");
    server->nodes_ = std::move(opened.nodes);
    server->meet_nodes();
  }
  server->started_ = std::chrono::steady_clock::now();
  server->accept();
  server->arm_stuck_timer();

  sigset_t all, old;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &old);  // signals are for the host's own threads
  server->thread_ = std::thread([s = server.get()] { s->run(); });
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  ::pthread_setname_np(server->thread_.native_handle(), "weft-server");
  return server;
}

Server::~Server() {
  if (thread_.joinable()) {
    asio::post(loop_, [this] { close_all(); });
    thread_.join();
  }
  if (upcalls_) upcalls_->close();
  parked_.clear();
  fences_.clear();
}

void Server::close_all() {
  // What processes that have ended wanted cleaned up may lie unread behind their greeting.
  if (is_somebody_at_the_door()) return asio::post(loop_, [this] { close_all(); });
  closing_ = true;
  for (const auto& session : std::vector<SessionRef>(sessions_)) {
    session->leaving = true;
    session->close_after_last_words();
  }
  if (sessions_.empty()) stopping_.store(true);
}

void Server::run() {
  const auto guard = asio::make_work_guard(loop_);
  while (!stopping_.load(std::memory_order_acquire)) {
    drain_notices();
    if (loop_.poll() != 0) continue;
    if (nodes_ && turn_nodes()) continue;
    doorbell_->asleep();
    drain_notices();
    if (!nodes_ || nodes_->sleep()) loop_.run_one();
    doorbell_->awake();
  }
  loop_.poll();  // what close() posted
  leave_nodes();
}

void Server::accept() {
  acceptor_->async_wait(asio::socket_base::wait_read, [this](const std::error_code& error) {
    if (error) return;
    // By hand: the processes that the host starts meanwhile must not inherit the socket.
    shm::Fd fd(::accept4(acceptor_->native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd && (errno == EMFILE || errno == ENFILE)) return wait_for_descriptors();
    full_since_.reset();
    if (fd) open_session(std::move(fd));
    accept();
  });
}

void Server::open_session(shm::Fd fd) {
  asio::local::stream_protocol::socket socket(loop_);
  std::error_code error;
  socket.assign(asio::local::stream_protocol(), fd.get(), error);
  if (error) return;
  (void)fd.release();
  auto session = std::make_shared<Session>(
      std::move(socket),
      Session::Hooks{[this](const SessionRef& s, link::Frame frame) { dispatch(s, std::move(frame)); },
                     [this](const SessionRef& s) { session_closed(s); }});
  sessions_.push_back(session);
  session->start();
}

/// Out of descriptors: those who wait in the backlog are served when somebody leaves. After two seconds of that they
/// are turned away one by one, with the reason, through a descriptor that was kept for this.
void Server::wait_for_descriptors() {
  const auto now = std::chrono::steady_clock::now();
  if (!full_since_) {
    full_since_ = now;
    std::fprintf(
        stderr,
        "weft: [%s] the server has no file descriptor left for a client that connects; raise ulimit -n.\n",
        host_.c_str());
  }
  if (now - *full_since_ >= std::chrono::seconds(2)) {
    spare_fd_.reset();
    {
      const shm::Fd fd(::accept4(acceptor_->native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      const link::Refused refused{PMIX_ERR_OUT_OF_RESOURCE,
                                  "the server has no file descriptor left; raise ulimit -n"};
      if (fd) (void)link::send_frame(fd.get(), link::MessageType::refused, 0, link::encode(refused));
    }
    spare_fd_ = shm::Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  auto retry = std::make_shared<asio::steady_timer>(loop_, std::chrono::milliseconds(50));
  retry->async_wait([this, retry](const std::error_code& error) {
    if (!error && !stopping_.load()) accept();
  });
}

void Server::drain_notices() {
  for (auto& [name, job] : jobs_) {
    if (!job->writer) continue;
    const auto words = (job->view().header().local_capacity + 63) / 64;
    for (std::uint32_t word = 0; word < words; ++word) {
      auto& dirty = job->writer->dirty(word);
      if (dirty.load(std::memory_order_relaxed) == 0) continue;
      auto bits = dirty.exchange(0, std::memory_order_acquire);
      for (; bits != 0; bits &= bits - 1) {
        const auto local = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
        if (local >= job->view().local_count()) continue;
        std::uint32_t kinds = 0;
        const auto count =
            job->writer->ring(local).drain([&](shm::Notice notice) { kinds |= 1u << (notice.kind & 31); });
        // A full ring may have dropped one, and the bit may have come before its notice: then look at everything.
        const bool all = count == 0 || count == shm::NoticeRing::slots;
        constexpr auto commit = 1u << static_cast<std::uint32_t>(store::NoticeKind::committed);
        constexpr auto fetch = 1u << static_cast<std::uint32_t>(store::NoticeKind::fetch);
        if (all || (kinds & fetch) != 0) answer_fetch(*job, local);
        if (all || (kinds & ~commit & ~fetch) != 0) {
          board_full(*job);
          board_moved(*job);
        }
        if (all || (kinds & commit) != 0)
          retry_gets(link::make_proc(name, job->view().local(local).rank.load(std::memory_order_relaxed)));
      }
    }
  }
}

void Server::dispatch(const SessionRef& session, link::Frame frame) {
  using link::MessageType;
  if (!session->greeted) {
    if (frame.type == MessageType::hello_tool) return greet_tool(session, frame);
    if (frame.type != MessageType::hello) return session->close();
    return greet(session, frame);
  }
  if (session->leaving && frame.type != MessageType::cleanup) return;
  if (session->is_tool && frame.type != MessageType::query)
    return session->close();  // all else is for members
  const auto malformed = [&] { answer(session, frame.tag, PMIX_ERR_BAD_PARAM); };
  switch (frame.type) {
    case MessageType::get: {
      auto message = link::decode<link::Get>(frame.payload);
      if (!message) return malformed();
      const auto how = store::GetDirectives::parse(message->directives.data(), message->directives.size());
      if (!how) return malformed();
      if (message->key.empty()) return get_everything(session, frame.tag, message->proc);
      auto get = std::make_unique<ParkedGet>();
      get->proc = message->proc;
      get->key = std::move(message->key);
      get->hostname = how->hostname;  // it points into the message
      get->how = *how;
      get->how.hostname = get->hostname;
      get->asker = {link::nspace_of(session->proc) == link::nspace_of(message->proc), session->proc.rank};
      get->done = [weak = std::weak_ptr(session), tag = frame.tag](pmix_status_t status, data::Value value,
                                                                   Blob) {
        if (const auto s = weak.lock())
          s->send(MessageType::value, tag, link::encode(link::GotValue{status, std::move(value)}));
      };
      return serve_get(std::move(get));
    }
    case MessageType::nudge:
      return;  // that it woke the loop is all
    case MessageType::store:
      return commit_for(session, std::move(frame));
    case MessageType::fence: {
      auto message = link::decode<link::Fence>(frame.payload);
      return message ? enter_fence(session, frame.tag, std::move(*message)) : malformed();
    }
    case MessageType::withdraw: {
      const auto message = link::decode<link::Withdraw>(frame.payload);
      return message ? withdraw(session, message->generation) : malformed();
    }
    case MessageType::abort: {
      auto message = link::decode<link::Abort>(frame.payload);
      return message ? abort_request(session, frame.tag, std::move(*message)) : malformed();
    }
    case MessageType::finalize:
      return finalize_client(session, frame.tag);
    case MessageType::subscribe: {
      const auto message = link::decode<link::Subscribe>(frame.payload);
      if (!message) return malformed();
      session->wants_all_events |= message->codes.empty();
      session->wanted_events.insert(session->wanted_events.end(), message->codes.begin(),
                                    message->codes.end());
      return answer(session, frame.tag, PMIX_SUCCESS);
    }
    case MessageType::notify: {
      auto event = decoded_event(frame.payload);
      return event ? relay(session, frame.tag, std::move(*event)) : malformed();
    }
    case MessageType::log: {
      auto message = link::decode<link::Log>(frame.payload);
      return message ? log_request(session, frame.tag, std::move(*message)) : malformed();
    }
    case MessageType::cleanup: {
      const auto message = link::decode<link::Cleanup>(frame.payload);
      if (!message) return;
      auto order = CleanupOrder::parse(message->infos.data(), message->infos.size());
      if (order && !order->empty()) cleanups_.add(session->proc, std::move(*order));
      return;
    }
    case MessageType::query: {
      auto message = link::decode<link::Query>(frame.payload);
      return message ? query_request(session, frame.tag, std::move(*message)) : malformed();
    }
    default:
      return session->close();  // a type that only servers send, or none at all
  }
}

void Server::answer(const SessionRef& session, std::uint64_t tag, pmix_status_t status) {
  session->send(link::MessageType::done, tag, link::encode(link::Done{status}));
}

Job* Server::find_job(std::string_view nspace) {
  const auto found = jobs_.find(nspace);
  return found == jobs_.end() ? nullptr : found->second.get();
}

Job& Server::job_entry(const std::string& nspace) {
  auto& job = jobs_[nspace];
  if (!job) {
    job = std::make_unique<Job>();
    job->nspace = nspace;
  }
  return *job;
}

}  // namespace weft::server
