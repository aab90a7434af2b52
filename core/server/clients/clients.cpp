// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/clients/clients.hpp"
#include "base/process.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/log_format.hpp"
#include "core/server/clients/refusal.hpp"
#include "core/server/jobs/localities.hpp"
#include "core/server/jobs/members.hpp"

namespace weft::server {

using link::MessageType;
using store::Local;

Clients::Clients(Loop& loop, const pmix_proc_t& server, shm::Segment& segment, Tokens& tokens, Rooms rooms)
    : loop_(loop), server_(server), segment_(segment), tokens_(tokens), rooms_(rooms) {}

// ---- in

/// Why the process behind the connection may not be that rank; empty: it may.
std::string Clients::objection(const link::Hello& hello, const ClientConnection& connection,
                               const Job& job) const {
  if (!tokens_.accepts(hello.nspace, hello.rank, hello.token))
    return "its token is not the one of rank " + std::to_string(hello.rank);
  const auto registered = job.clients.find(hello.rank);
  const auto owner = registered == job.clients.end() ? ::getuid() : registered->second.uid;
  if (connection.uid != owner && connection.uid != ::getuid())
    return "user " + std::to_string(connection.uid) + " may not be this rank";
  return {};
}

void Clients::handshake(const ConnectionRef& connection, const link::Frame& frame) {
  if (refuse_other_version(connection, frame)) return;
  auto hello = link::decode<link::Hello>(frame.payload);
  if (!hello) return refuse(connection, PMIX_ERR_BAD_PARAM, "malformed hello");
  connection->proc = link::make_proc(hello->nspace, hello->rank);
  auto* job = rooms_.jobs.find(hello->nspace);
  if (job == nullptr)
    return refuse(connection, PMIX_ERR_NOT_FOUND,
                  "namespace " + hello->nspace + " is not registered here (any more)");
  if (auto why = objection(*hello, *connection, *job); !why.empty())
    return refuse(connection, PMIX_ERR_NO_PERMISSIONS, std::move(why));
  const auto local = job->writer->add_local(hello->rank);
  if (!local)
    return refuse(connection, PMIX_ERR_NOT_FOUND,
                  "rank " + std::to_string(hello->rank) + " is not one of this node");
  if (const auto open = job->connections.find(*local); open != job->connections.end()) {
    const auto old = open->second;
    if (!old->finalized)
      return refuse(connection, PMIX_ERR_EXISTS,
                    "rank " + std::to_string(hello->rank) + " is connected already, as pid " +
                        std::to_string(old->pid));
    old->close();  // it has finalized; the end of its socket is still on its way
  }
  connection->is_known = true;
  connection->job = job;
  connection->local = *local;
  connection->has_segment = hello->layout == store::layout_version && job->gives_memory_to(connection->uid);
  connection->attached = connection->has_segment && hello->attached != 0;
  job->connections[*local] = connection;
  (void)connection->watch_process();  // without pidfd the closing socket says the same
  make_localities(*job);
  rooms_.host.client_connected(connection->proc, job->object_of(hello->rank),
                               [this, connection](pmix_status_t status) {
                                 if (status == PMIX_SUCCESS) return welcome(connection);
                                 refuse(connection, status, "the resource manager does not accept it");
                               });
}

void Clients::welcome(const ConnectionRef& connection) {
  if (connection->job == nullptr) return;  // it ended while the host decided
  connection->admit();
  auto& job = *connection->job;
  auto& local = job.view().local(connection->local);
  if (local.state.load(std::memory_order_relaxed) == Local::finalized) came_back(job, connection->local);
  local.pid.store(connection->pid, std::memory_order_relaxed);
  local.state.store(Local::connected, std::memory_order_release);
  base::debug(base::LogPart::clients, "rank {} of {} is connected: pid {}{}", connection->proc.rank,
              job.nspace, connection->pid, connection->has_segment ? "" : ", without the segment");
  // A client that let itself in may have waited for a generation that ended before this: it is told now.
  rooms_.fences.join(job, connection->local);
  rooms_.ends.tell_of_absentees(job);
  link::Welcome message{.server_nspace = server_.nspace, .server_rank = server_.rank};
  message.local = connection->local;
  std::vector<int> fds;
  if (connection->has_segment) {
    message.segment_bytes = segment_.server.size();
    message.job = job.writer->offset();
    if (!connection->attached) fds = {segment_.server.fd(), job.view().header().clients_fd};
  }
  // The first bytes on an empty socket: they fit, so the blocking form does not block.
  if (!link::send_frame(connection->native_handle(), MessageType::welcome, 0, link::encode(message), fds))
    connection->close();
}

void Clients::commit(const ConnectionRef& connection, std::uint64_t tag, const link::Store& message) {
  auto card = connection->job->view().cards().to_write(connection->local);
  // The first one: it wanted no segment, or could not map the one it was offered, and will not write itself.
  if (!connection->card_is_ours) {
    if (!card.adopt()) return connection->reply(tag, PMIX_ERROR);
    connection->card_is_ours = true;
    connection->has_segment = false;
  }
  for (const auto& item : message.items) {
    const store::Record record{{store::Realm::rank, 0}, item.scope, item.key, item.value};
    const auto end =
        card.end_after(card.published(), store::KeyedLog::record_bytes(item.key.size(), item.value.size()));
    if (!end || !card.back(*end) || !card.append(record))
      return connection->reply(tag, PMIX_ERR_OUT_OF_RESOURCE);
  }
  connection->reply(tag, PMIX_SUCCESS);
  rooms_.gets.retry(connection->proc);
}

pmix_status_t Clients::order_cleanup(const ClientConnection& connection, const link::JobControl& message) {
  const auto order = CleanupOrder::parse(message.directives.data(), message.directives.size());
  if (!order) return PMIX_ERR_BAD_PARAM;
  if (order->empty()) return PMIX_SUCCESS;
  Procs targets;
  const auto status = cleanup_targets(connection, message.targets, targets);
  if (status != PMIX_SUCCESS) return status;
  bool has_room = true;
  for (const auto& target : targets) has_room &= cleanups_.add(target, *order, connection.uid);
  return has_room ? PMIX_SUCCESS : PMIX_ERR_OUT_OF_RESOURCE;
}

/// Whose process that is, or will be; nothing: the host has not said, and no process has come.
std::optional<uid_t> Clients::user_of(const Job& job, std::uint32_t local) {
  if (const auto client = job.clients.find(job.rank_of(local)); client != job.clients.end())
    return client->second.uid;
  const auto open = job.connections.find(local);
  return open == job.connections.end() ? std::nullopt : std::optional(open->second->uid);
}

/// named: none: the client itself.
pmix_status_t Clients::cleanup_targets(const ClientConnection& connection, const Procs& named, Procs& out) {
  if (named.empty()) out.push_back(connection.proc);
  for (const auto& target : named) {
    const auto before = out.size();
    bool is_other_users = false, is_unknown = false;
    each_local(rooms_.jobs, {target}, [&](const Job& job, std::uint32_t local) {
      const auto user = user_of(job, local);
      is_unknown |= !user;
      is_other_users |= user.value_or(connection.uid) != connection.uid;
      out.push_back(link::make_proc(job.nspace, job.rank_of(local)));
    });
    if (is_other_users) return PMIX_ERR_NO_PERMISSIONS;
    if (is_unknown) return PMIX_ERR_NOT_FOUND;
    if (out.size() == before) return PMIX_ERR_NOT_FOUND;
  }
  return PMIX_SUCCESS;
}

// ---- finalized, and perhaps back

/// A finalized process is initialized again. Then the others that finalized may do so too, each in its own
/// time: fences wait for them, as for any process that is late, as long as their processes run.
void Clients::came_back(Job& job, std::uint32_t index) {
  const auto [expected, is_first] = expected_.try_emplace(job.nspace);
  expected->second.erase(index);
  if (!is_first) return;
  for (std::uint32_t i = 0; i < job.view().local_count(); ++i)
    if (i != index && job.view().local(i).state.load(std::memory_order_relaxed) == Local::finalized &&
        expect_back(job, i))
      rooms_.fences.join(job, i);
}

/// False: its process has ended, or cannot be watched.
bool Clients::expect_back(Job& job, std::uint32_t index) {
  auto process = base::open_process(job.view().local(index).pid.load(std::memory_order_relaxed));
  if (!process) return false;
  expected_[job.nspace][index] =
      std::make_shared<asio::posix::stream_descriptor>(loop_.io(), process->release());
  wait_for_end(job, index);
  return true;
}

void Clients::wait_for_end(Job& job, std::uint32_t index) {
  const auto& watch = expected_[job.nspace][index];
  watch->async_wait(
      asio::posix::stream_descriptor::wait_read,
      [this, nspace = job.nspace, index, weak = std::weak_ptr(watch)](const std::error_code& error) {
        const auto same = weak.lock();
        auto* open = error || !same ? nullptr : rooms_.jobs.find(nspace);
        if (open == nullptr) return;
        auto& expected = expected_[nspace];
        const auto entry = expected.find(index);
        if (entry == expected.end() || entry->second != same) return;  // it came back
        if (!process_has_ended(same->native_handle())) return wait_for_end(*open, index);
        expected.erase(entry);
        rooms_.ends.process_ended(*open, index, ProcessEnds::How::finalized);
      });
}

// ---- out

void Clients::finalize(const ConnectionRef& connection, std::uint64_t tag) {
  connection->finalized = true;
  base::debug(base::LogPart::clients, "rank {} of {} has finalized", connection->proc.rank,
              connection->job->nspace);
  auto& job = *connection->job;
  const bool may_come_back = expected_.count(job.nspace) != 0 && expect_back(job, connection->local);
  rooms_.ends.process_ended(
      job, connection->local,
      may_come_back ? ProcessEnds::How::finalized_for_now : ProcessEnds::How::finalized);
  rooms_.host.client_finalized(connection->proc, job.object_of(connection->proc.rank),
                               [connection, tag](pmix_status_t status) { connection->reply(tag, status); });
}

void Clients::closed(const ConnectionRef& connection, bool is_expected) {
  auto* job = connection->job;
  if (connection->is_tool) cleanups_.carry_out(connection->proc);
  if (job == nullptr) return;
  job->connections.erase(connection->local);
  clean_up_after(*connection);
  connection->job = nullptr;
  if (connection->finalized || is_expected) return;
  base::info(base::LogPart::clients, "rank {} of {} (pid {}) has ended without PMIx_Finalize",
             connection->proc.rank, job->nspace, connection->pid);
  rooms_.ends.process_ended(*job, connection->local, ProcessEnds::How::died);
}

// ---- clean-up, when the process has ended

/// A process that has finalized may be initialized again, and make the files again that it has ordered to be
/// removed.
void Clients::clean_up_after(const ClientConnection& connection) {
  const auto& proc = connection.proc;
  if (!cleanups_.has(proc)) return;
  const bool may_come_back = connection.finalized && !connection.leaving;
  auto process = may_come_back ? base::open_process(connection.pid) : fail(Errc::not_found);
  if (!process) return cleanups_.carry_out(proc);
  ending_[{proc.nspace, proc.rank}] =
      std::make_shared<asio::posix::stream_descriptor>(loop_.io(), process->release());
  wait_to_clean_up(proc);
}

void Clients::wait_to_clean_up(const pmix_proc_t& proc) {
  const auto& watch = ending_.at({proc.nspace, proc.rank});
  watch->async_wait(asio::posix::stream_descriptor::wait_read,
                    [this, proc, weak = std::weak_ptr(watch)](const std::error_code& error) {
                      const auto same = weak.lock();
                      if (error || !same) return;
                      if (!process_has_ended(same->native_handle())) return wait_to_clean_up(proc);
                      clean_up_now(proc);
                    });
}

void Clients::clean_up_now(const pmix_proc_t& proc) {
  const auto found = ending_.find({proc.nspace, proc.rank});
  if (found == ending_.end()) return;
  cleanups_.carry_out(proc);
  ending_.erase(found);
}

Clients::~Clients() {
  while (!ending_.empty()) {
    const auto& [nspace, rank] = ending_.begin()->first;
    clean_up_now(link::make_proc(nspace, rank));
  }
}

void Clients::remove(Job& job, std::uint32_t rank, Done done) {
  if (job.clients.erase(rank) == 0) return done(PMIX_ERR_NOT_FOUND);
  clean_up_now(link::make_proc(job.nspace, rank));
  const auto index = job.writer ? job.view().local_index(rank) : store::none;
  if (index == store::none) return done(PMIX_SUCCESS);
  // No process is to wait for it: not for a process that is thrown out, and not for one that never came.
  const auto leave_now = [this, nspace = job.nspace, index, done] {
    if (auto* open = rooms_.jobs.find(nspace); open != nullptr && open->connections.count(index) == 0)
      rooms_.ends.process_ended(*open, index, ProcessEnds::How::taken_away);
    done(PMIX_SUCCESS);
  };
  const auto found = job.connections.find(index);
  if (found == job.connections.end())
    return job.view().local(index).state.load() == Local::registered ? leave_now() : done(PMIX_SUCCESS);
  const auto connection = found->second;
  const bool was_finalized = std::exchange(connection->finalized, true);
  connection->leaving = true;
  connection->close_when_drained(was_finalized ? std::function<void()>([done] { done(PMIX_SUCCESS); })
                                               : leave_now);
}

void Clients::remove_all(Job& job, std::function<void()> done) {
  std::vector<ConnectionRef> open;
  for (const auto& [index, connection] : job.connections) open.push_back(connection);
  // One more than there are connections, for this function itself.
  const auto left = std::make_shared<std::size_t>(open.size() + 1);
  const auto one_less = [left, done = std::move(done)] {
    if (--*left == 0) done();
  };
  for (const auto& connection : open) {
    connection->finalized = connection->leaving = true;  // the host knows what it does: no loss is announced
    connection->close_when_drained(one_less);
  }
  one_less();
}

void Clients::forget(const std::string& nspace) {
  for (auto place = ending_.lower_bound({nspace, 0});
       place != ending_.end() && place->first.first == nspace;) {
    cleanups_.carry_out(link::make_proc(nspace, place->first.second));
    place = ending_.erase(place);
  }
  expected_.erase(nspace);
  tokens_.forget(nspace);
}

}  // namespace weft::server
