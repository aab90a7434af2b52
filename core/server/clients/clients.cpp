// SPDX-License-Identifier: BSD-3-Clause
// A client's way in and out: handshake, finalize, death.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <asio/executor_work_guard.hpp>
#include <set>

#include "core/server/jobs/job_info.hpp"
#include "core/server/server.hpp"

namespace weft::server {

using link::MessageType;
using store::Local;

/// The version stays the first field of a greeting for ever, so that a refusal can name both.
bool Server::refuse_other_version(const SessionRef& session, const link::Frame& frame) {
  data::Reader peek(frame.payload);
  const auto wire = peek.u16();
  if (wire == link::wire_version) return false;
  refuse(session, PMIX_ERR_NOT_SUPPORTED,
         "it speaks version " + std::to_string(wire) + " of the protocol, the server speaks version " +
             std::to_string(link::wire_version) + "; use the libpmix of the same Weft release for both");
  return true;
}

void Server::greet(const SessionRef& session, const link::Frame& frame) {
  if (refuse_other_version(session, frame)) return;
  auto hello = link::decode<link::Hello>(frame.payload);
  if (!hello) return refuse(session, PMIX_ERR_BAD_PARAM, "malformed greeting");
  session->proc = link::make_proc(hello->nspace, hello->rank);
  auto* job = find_job(hello->nspace);
  if (job == nullptr || !job->writer)
    return refuse(session, PMIX_ERR_NOT_FOUND,
                  "namespace " + hello->nspace + " is not registered here (any more)");
  if (!tokens_.accepts(hello->nspace, hello->rank, hello->token))
    return refuse(session, PMIX_ERR_NO_PERMISSIONS,
                  "its token is not the one of rank " + std::to_string(hello->rank));
  const auto registered = job->clients.find(hello->rank);
  const bool owner =
      registered == job->clients.end() ? session->uid == ::getuid() : session->uid == registered->second.uid;
  if (!owner && session->uid != ::getuid())
    return refuse(session, PMIX_ERR_NO_PERMISSIONS,
                  "user " + std::to_string(session->uid) + " may not be this rank");
  const auto local = job->writer->add_local(hello->rank);
  if (!local)
    return refuse(session, PMIX_ERR_NOT_FOUND,
                  "rank " + std::to_string(hello->rank) + " is not one of this node");
  if (const auto open = job->sessions.find(*local); open != job->sessions.end()) {
    const auto old = open->second;
    if (!old->finalized)
      return refuse(session, PMIX_ERR_EXISTS,
                    "rank " + std::to_string(hello->rank) + " is connected already, as pid " +
                        std::to_string(old->pid));
    old->close();  // it said goodbye; the end of its socket is still on its way
  }
  session->greeted = true;
  session->job = job;
  session->local = *local;
  session->has_segment = hello->layout == store::layout_version;
  session->attached = session->has_segment && hello->attached != 0;
  job->sessions[*local] = session;
  if (nodes_) nodes_->share_cores(static_cast<unsigned>(sessions_.size()));
  (void)session->watch_process();  // without pidfd the closing socket says the same

  const auto object = registered == job->clients.end() ? nullptr : registered->second.object;
  const auto admit = [this, session](pmix_status_t status) {
    if (status == PMIX_SUCCESS) return welcome(session);
    refuse(session, status, "the resource manager does not accept it");
  };
  if (module_.client_connected2 != nullptr) {
    OpUpcall::make(upcalls_, admit, [&](void* open) {
      return module_.client_connected2(&session->proc, object, nullptr, 0, on_op_done, open);
    });
  } else if (module_.client_connected != nullptr) {
    // The older upcall has no answer of its own: its status is final.
    const auto status = module_.client_connected(&session->proc, object, nullptr, nullptr);
    admit(status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status);
  } else {
    welcome(session);
  }
}

void Server::refuse(const SessionRef& session, pmix_status_t status, std::string reason) {
  session->send(MessageType::refused, 0, link::encode(link::Refused{status, std::move(reason)}));
  session->close();
}

void Server::welcome(const SessionRef& session) {
  if (session->job == nullptr) return;  // it went while the host made up its mind
  session->admit();
  auto& job = *session->job;
  auto& local = job.view().local(session->local);
  if (local.state.load(std::memory_order_relaxed) == Local::finalized) came_back(job, session->local);
  local.pid.store(session->pid, std::memory_order_relaxed);
  local.state.store(Local::connected, std::memory_order_release);
  rejoin_board(job, session->local);
  session->proxy_next = job.board().open_generation();
  // One that let itself in may have waited for a generation that ended before we knew it: nobody told it then.
  if (session->attached) return board_moved(job);
  link::Welcome message{.server_nspace = self_.nspace, .server_rank = self_.rank};
  message.local = session->local;
  std::vector<int> fds;
  if (session->has_segment) {
    message.segment_bytes = segment_->size();
    message.job = job.writer->offset();
    fds = {segment_->fd()};
  }
  // The first bytes on an empty socket: they fit, so the blocking form does not block.
  if (!link::send_frame(session->native_handle(), MessageType::welcome, 0, link::encode(message), fds))
    session->close();
}

/// A finalized process is initialized again. Then the others that finalized may do so too, each in its own time: they
/// are waited for, like anybody who is late, as long as their processes run.
void Server::came_back(Job& job, std::uint32_t index) {
  job.expected.erase(index);
  if (std::exchange(job.comes_back, true)) return;
  for (std::uint32_t i = 0; i < job.view().local_count(); ++i)
    if (i != index && job.view().local(i).state.load(std::memory_order_relaxed) == Local::finalized &&
        expect_back(job, i))
      rejoin_board(job, i);
}

/// False: its process has ended, or cannot be watched.
bool Server::expect_back(Job& job, std::uint32_t index) {
  const int fd = static_cast<int>(
      ::syscall(SYS_pidfd_open, job.view().local(index).pid.load(std::memory_order_relaxed), 0));
  if (fd < 0) return false;
  job.expected[index] = std::make_shared<asio::posix::stream_descriptor>(loop_, fd);
  wait_for_end(job, index);
  return true;
}

void Server::wait_for_end(Job& job, std::uint32_t index) {
  const auto& watch = job.expected[index];
  watch->async_wait(
      asio::posix::stream_descriptor::wait_read,
      [this, nspace = job.nspace, index, weak = std::weak_ptr(watch)](const std::error_code& error) {
        const auto same = weak.lock();
        auto* open = error || !same ? nullptr : find_job(nspace);
        if (open == nullptr) return;
        const auto entry = open->expected.find(index);
        if (entry == open->expected.end() || entry->second != same) return;  // it came back
        if (!process_has_ended(same->native_handle())) return wait_for_end(*open, index);
        open->expected.erase(entry);
        leave(*open, index, Local::finalized, PMIX_ERR_UNREACH);
      });
}

void Server::finalize_client(const SessionRef& session, std::uint64_t tag) {
  session->finalized = true;
  auto& job = *session->job;
  if (job.comes_back && expect_back(job, session->local)) {
    job.view().local(session->local).state.store(Local::finalized, std::memory_order_release);
    retry_gets(session->proc);
  } else {
    leave(job, session->local, Local::finalized, PMIX_ERR_UNREACH);
  }
  const auto reply = [this, session, tag](pmix_status_t status) { answer(session, tag, status); };
  if (module_.client_finalized == nullptr) return reply(PMIX_SUCCESS);
  const auto registered = job.clients.find(session->proc.rank);
  OpUpcall::make(upcalls_, reply, [&](void* open) {
    return module_.client_finalized(&session->proc,
                                    registered == job.clients.end() ? nullptr : registered->second.object,
                                    on_op_done, open);
  });
}

/// The rank will not arrive, commit or answer any more.
void Server::leave(Job& job, std::uint32_t index, Local::State state, pmix_status_t status) {
  auto& local = job.view().local(index);
  local.state.store(state, std::memory_order_release);
  lose_from_board(job, index, status);
  board_moved(job);
  const auto proc = link::make_proc(job.nspace, local.rank.load(std::memory_order_relaxed));
  lose_from_fences(proc, status);
  retry_gets(proc);
}

void Server::session_closed(const SessionRef& session) {
  std::erase(sessions_, session);
  if (nodes_) nodes_->share_cores(static_cast<unsigned>(sessions_.size()));
  if (closing_ && sessions_.empty()) stopping_.store(true);
  auto* job = session->job;
  if (job == nullptr) return;
  job->sessions.erase(session->local);
  // A wish of a process that is gone must not keep the board's counter up.
  (void)job->board().take_notice(session->local);
  cleanups_.carry_out(session->proc, session->uid);
  session->job = nullptr;
  if (session->finalized || closing_) return;
  leave(*job, session->local, Local::gone, PMIX_ERR_PROC_ABORTED);
  announce_loss(session->proc);
  if (node_fences_) node_fences_->tell_gone(session->proc, job->nodes);
}

void Server::build_job(Job& job, int local_size, const data::Infos& infos, Done done) {
  const auto fail_with = [&](const Error& error) {
    return done(error.code == Errc::no_space    ? PMIX_ERR_OUT_OF_RESOURCE
                : error.code == Errc::no_memory ? PMIX_ERR_NOMEM
                                                : PMIX_ERR_BAD_PARAM);
  };
  if (job.writer) {
    // A second registration adds what it says; the map itself is fixed.
    const auto spec = read_job_info(job.nspace, local_size, infos.data(), infos.size(), {}, host_);
    if (!spec) return fail_with(spec.error());
    for (const auto& key : spec->keys)
      if (auto ok = job.writer->add_info(key); !ok) return fail_with(ok.error());
    return done(PMIX_SUCCESS);
  }
  std::set<std::uint32_t> registered;
  for (const auto& [rank, client] : job.clients) registered.insert(rank);
  const auto spec = read_job_info(job.nspace, local_size, infos.data(), infos.size(), registered, host_);
  if (!spec) return fail_with(spec.error());
  auto writer = store::JobWriter::create(*segment_, *spec, limits_);
  if (!writer) return fail_with(writer.error());
  job.writer = std::move(*writer);
  std::set<NodeNumber> nodes;
  for (const auto& rank : spec->ranks)
    if (rank.node != store::none) nodes.insert(rank.node);
  job.nodes.assign(nodes.begin(), nodes.end());
  if (modex_ && job.nodes.size() > 1) modex_->offer(job.view(), segment_->base());
  done(PMIX_SUCCESS);
}

}  // namespace weft::server
