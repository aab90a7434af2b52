// SPDX-License-Identifier: BSD-3-Clause
// The life of a client: find the server, shake hands, map the segment, say goodbye.
#include "core/client/client.hpp"

#include <unistd.h>

#include <cstring>

#include "base/host_name.hpp"
#include "base/local_socket.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "core/link/messages.hpp"
#include "core/store/get/key_wait.hpp"

namespace weft::client {
namespace {

using link::MessageType;

void say(const std::string& text) {
  base::log(base::LogLevel::error, base::LogPart::client, text);
}

std::string rank_text(const link::Identity& identity) {
  return "rank " + std::to_string(identity.rank) + " of namespace " + identity.nspace;
}

/// How long this process's Gets wait for a key that its rank has not committed although it has committed
/// others; nothing: as long as its server says.
std::optional<std::chrono::milliseconds> key_wait() {
  const auto wait = base::read(base::Variable::get_wait);
  if (wait.source != base::Reading::Source::environment) return std::nullopt;
  return wait.limit().value_or(store::KeyWait::forever);
}

/// A test, or an administrator whose kernel forbids memfd between processes, can ask for the slow path.
bool segment_wanted() {
  return !base::read(base::Variable::no_segment).is_on();
}

/// The server's segment, found without its help. Errors: the kernel keeps it from this process, or it is
/// another server's.
Result<shm::SegmentWindows> open_segment(const link::Identity& identity) {
  auto fds = link::open_segment(identity.segment);
  if (!fds) return fail(fds.error());
  auto all = shm::SegmentWindows::map(std::move(fds->server), std::move(fds->clients));
  if (!all) return fail(all.error());
  if (store::check_segment(all->bytes()) != store::Attach::ready) return fail(Errc::not_found, "segment");
  const auto& header = *reinterpret_cast<const store::SegmentHeader*>(all->server.base());
  if (identity.server != std::string_view(header.socket, ::strnlen(header.socket, sizeof header.socket)))
    return fail(Errc::not_found, "another server's segment");
  return all;
}

/// A server that hangs up without a word; it says none to processes of users that it does not expect.
std::string why_closed(int socket) {
  const auto server = base::peer_credentials(socket);
  if (!server || server->uid == ::geteuid())
    return ": the server closed the connection during the handshake; see its own messages.";
  return ": the server is user " + std::to_string(server->uid) + "'s and takes no process of user " +
         std::to_string(::geteuid()) +
         ", which this rank has become on its way (setuid, sudo, su, setpriv). Start the launcher as that "
         "user, or "
         "let the rank stay the launcher's.";
}

}  // namespace

Result<Client::Started> Client::start() {
  const auto begun = store::FirstCall::now();
  std::unique_ptr<Client> client(new Client);
  client->key_wait_ = key_wait();
  link::Identity identity;
  switch (link::from_environment(identity)) {
    case link::Found::none:
      break;
    case link::Found::foreign:
      say("PMIX_NAMESPACE is set but WEFT_SERVER is not: another PMIx library's server started this process "
          "and "
          "cannot be spoken to; going on as a singleton. Launch with weftrun, or unset PMIX_NAMESPACE.");
      break;
    case link::Found::malformed:
      say("PMIX_RANK, PMIX_NAMESPACE or WEFT_TOKEN in the environment is malformed; launch with weftrun, or "
          "unset them.");
      return fail(Errc::denied, "malformed environment");
    case link::Found::identity:
      if (auto ok = client->shake_hands(identity); !ok) return fail(ok.error());
      if (auto* const start = client->job_.control.start; start != nullptr && start->init.begin(begun))
        start->init.end();
      return Started{std::move(client), PMIX_SUCCESS};
  }
  client->become_singleton();
  return Started{std::move(client), PMIX_ERR_UNREACH};
}

void Client::become_singleton() {
  singleton_ = true;
  const auto host = base::host_name();
  self_ = link::make_proc("singleton." + host + "." + std::to_string(::getpid()), 0);
  connection_ = std::make_shared<Connection>(shm::Fd());
  open_events();
  open_rooms();
  const auto add = [&](std::uint32_t rank, const char* key, data::Value value) {
    (void)private_.store(link::nspace_of(self_), rank, key, value.get());
  };
  for (const char* one : {PMIX_JOB_SIZE, PMIX_LOCAL_SIZE, PMIX_UNIV_SIZE, PMIX_MAX_PROCS, PMIX_NUM_NODES,
                          PMIX_JOB_NUM_APPS, PMIX_APP_SIZE, PMIX_NODE_SIZE})
    add(PMIX_RANK_WILDCARD, one, data::Value::of(std::uint32_t{1}));
  add(PMIX_RANK_WILDCARD, PMIX_NUM_SLOTS, data::Value::of(std::uint32_t{1}));
  for (const char* zero : {PMIX_NODEID, PMIX_APPNUM}) add(0, zero, data::Value::of(std::uint32_t{0}));
  add(PMIX_RANK_WILDCARD, PMIX_NODEID, data::Value::of(std::uint32_t{0}));
  add(0, PMIX_REINCARNATION, data::Value::of(std::uint32_t{0}));
  add(0, PMIX_SPAWNED, data::Value::of(false));
  for (const char* name : {PMIX_NSPACE, PMIX_JOBID})
    add(PMIX_RANK_WILDCARD, name, data::Value::of(link::nspace_of(self_)));
  for (const char* map : {PMIX_NODE_MAP, PMIX_NODE_MAP_RAW, PMIX_ALLOCATED_NODELIST})
    add(PMIX_RANK_WILDCARD, map, data::Value::of(std::string_view(host)));
  for (const char* map : {PMIX_PROC_MAP, PMIX_PROC_MAP_RAW})
    add(PMIX_RANK_WILDCARD, map, data::Value::of("0"));
  add(PMIX_RANK_WILDCARD, PMIX_ANL_MAP, data::Value::of("(vector,(0,1,1))"));
  add(PMIX_RANK_WILDCARD, PMIX_APPLDR, data::Value::of_rank(0));
  for (const char* zero : {PMIX_LOCAL_RANK, PMIX_NODE_RANK}) add(0, zero, data::Value::of(std::uint16_t{0}));
  for (const char* first : {PMIX_RANK, PMIX_APP_RANK, PMIX_GLOBAL_RANK})
    add(0, first, data::Value::of_rank(0));
  add(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS, data::Value::of(std::string_view("0")));
  add(PMIX_RANK_WILDCARD, PMIX_LOCALLDR, data::Value::of_rank(0));
  add(PMIX_RANK_WILDCARD, PMIX_NODE_LIST, data::Value::of(std::string_view(host)));
  add(0, PMIX_HOSTNAME, data::Value::of(std::string_view(host)));
}

Result<void> Client::shake_hands(const link::Identity& identity) {
  self_ = link::make_proc(identity.nspace, identity.rank);
  auto socket = link::connect_to(identity);
  if (!socket) {
    say(rank_text(identity) + ": the server that the environment names (WEFT_SERVER=" + identity.server +
        ") does not answer: it has ended, or this process is in another network namespace, where it is "
        "reached "
        "through a folder (WEFT_SOCKET_DIR" +
        (identity.server_file.empty() ? ", which was not set"
                                      : "; there is no way by " + identity.server_file) +
        "). Launch again with weftrun.");
    return fail(socket.error());
  }
  if (auto ok = link::check_server(socket->get(), identity.server_uid); !ok) {
    say(rank_text(identity) +
        ": the process that listens as the server that the environment names (WEFT_SERVER=" +
        identity.server +
        ") is another user's, and gets nothing. The server has ended; launch again with weftrun.");
    return fail(ok.error());
  }
  // The answer brings the segment to a process that cannot find it by itself: of another user, or another pid
  // namespace.
  auto segment = segment_wanted() ? open_segment(identity) : fail(Errc::not_found);
  const link::Hello hello{.layout = segment_wanted() ? store::layout_version : 0,
                          .attached = segment.has_value(),
                          .nspace = identity.nspace,
                          .rank = identity.rank,
                          .token = identity.token};
  const int fd = socket->get();
  connect_through(std::move(*socket));
  std::array<shm::Fd, link::welcome_fds> fds;
  auto sent = link::send_frame(fd, MessageType::hello, 0, link::encode(hello));
  auto answer = sent ? link::receive_frame(fd, &fds) : fail(sent.error());
  if (!answer) {
    say(rank_text(identity) + why_closed(fd));
    return fail(answer.error());
  }
  if (answer->type == MessageType::refused) {
    const auto refused = link::decode<link::Refused>(answer->payload);
    say(rank_text(identity) +
        ": the server refused this process: " + (refused ? refused->reason : "no reason given"));
    // Without a descriptor for this process it is as good as not there.
    const bool is_full = refused && refused->status == PMIX_ERR_OUT_OF_RESOURCE;
    return fail(is_full ? Errc::no_space : Errc::denied, "refused by the server");
  }
  auto welcome = link::decode<link::Welcome>(answer->payload);
  if (answer->type != MessageType::welcome || !welcome) {
    say(rank_text(identity) +
        ": the server's answer to the handshake makes no sense; are both of the same version?");
    return fail(Errc::corrupt, "handshake");
  }
  server_ = link::make_proc(welcome->server_nspace, welcome->server_rank);
  job_.local = welcome->local;
  // A segment that cannot be mapped (address space limits) is no reason to fail: the server answers
  // everything.
  if (welcome->segment_bytes == 0) return {};
  if (!segment) segment = shm::SegmentWindows::map(std::move(fds[0]), std::move(fds[1]));
  if (!segment) return {};
  job_.segment = std::move(*segment);
  if (!enter(welcome->job)) job_.segment = {};
  return {};
}

/// What this process asks for, once it has its name and its connection.
void Client::open_rooms() {
  fences_.emplace(self_, *connection_, singleton_);
  group_meetings_.emplace(self_, *connection_);
  puts_.emplace(self_, singleton_, *connection_, job_, private_);
  gets_.emplace(Gets::Sources{.self = self_,
                              .is_singleton = singleton_,
                              .job = job_,
                              .puts = *puts_,
                              .own = private_,
                              .groups = groups_,
                              .key_wait = key_wait_},
                *connection_);
}

void Client::connect_through(shm::Fd socket) {
  connection_ = std::make_shared<Connection>(std::move(socket));
  connection_->on_push([this](link::Frame frame) { on_push(std::move(frame)); });
  connection_->on_lost([this] { on_lost(); });
  open_events();
  open_rooms();
}

/// Takes this process's place in the mapped segment: the server has let it in, and no other as this rank.
/// After an error nothing refers to the segment.
Result<void> Client::enter(std::uint64_t job) {
  job_.segment.own_job = job;
  const auto bytes = job_.segment.bytes();
  if (store::check_segment(bytes) != store::Attach::ready) return fail(Errc::corrupt, "segment");
  auto view = store::JobView::open(bytes, job);
  if (!view || job_.local >= view->header().local_capacity) return fail(Errc::corrupt, "job");
  const auto& h = view->header();
  if (h.clients_inode != job_.segment.clients.inode()) return fail(Errc::corrupt, "another job's memory");
  const auto& place = view->local(job_.local);
  for (const auto& mine : {h.control_area, store::Area{place.card, shm::page_bytes}})
    if (auto ok = job_.segment.clients.make_writable(mine.offset, mine.bytes); !ok) return ok;
  if (auto ok = puts_->adopt_card(*view, place); !ok) return ok;
  auto* const memory = job_.segment.clients.base();
  if (h.trace_area.bytes != 0) {
    const auto at = h.trace_area.offset + job_.local * store::trace_log_bytes;
    if (auto ok = job_.segment.clients.make_writable(at, store::trace_log_bytes); !ok) return ok;
    job_.control.trace = store::TraceLog(memory + at, store::trace_log_bytes);
  }

  auto& board = view->board();
  job_.control.ring = reinterpret_cast<shm::NoticeRing*>(memory + h.rings) + job_.local;
  job_.control.fetch = reinterpret_cast<store::FetchCell*>(memory + h.fetch_cells) + job_.local;
  if (h.start_cells != 0)
    job_.control.start = reinterpret_cast<store::StartCell*>(memory + h.start_cells) + job_.local;
  job_.control.dirty = reinterpret_cast<std::atomic<std::uint64_t>*>(memory + h.dirty) + job_.local / 64;
  job_.control.dirty_bit = std::uint64_t{1} << (job_.local % 64);
  job_.control.doorbell = reinterpret_cast<shm::Doorbell*>(memory + h.doorbell);
  job_.control.connection = connection_.get();
  job_.view = *view;
  job_.wait = wait_policy(job_.view, board, h.nodes > 1, 0);
  const JobBoards boards{&job_.segment, job_.view, &job_.control};
  fences_->attach(boards, board, job_.local);
  group_meetings_->attach(boards);
  return {};
}

pmix_status_t Client::finalize(const pmix_info_t* infos, std::size_t ninfo) {
  // A process whose barrier has failed leaves all the same, and in an orderly way.
  pmix_status_t barrier = PMIX_SUCCESS;
  for (std::size_t i = 0; i < ninfo; ++i)
    if (data::key_of(infos[i]) == PMIX_EMBED_BARRIER && data::is_true(infos[i].value))
      barrier = fences_->fence(nullptr, 0, nullptr, 0);
  if (singleton_) return barrier;
  const auto answer = connection_->ask_alone(MessageType::finalize, {});
  if (barrier != PMIX_SUCCESS) return barrier;
  return answer ? PMIX_SUCCESS : PMIX_ERR_LOST_CONNECTION;
}

Client::~Client() {
  // Nothing of ours may run on the thread while members go away.
  if (connection_) connection_->stop();
}

}  // namespace weft::client
