// SPDX-License-Identifier: BSD-3-Clause
// The way of a client in and out: handshake, finalize, and how a process ends. The part that tells the rooms
// of an end is process_ends.hpp. The loop's thread only.
#pragma once

#include <asio/posix/stream_descriptor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/server/clients/cleanup.hpp"
#include "core/server/clients/process_ends.hpp"
#include "core/server/connections/connection.hpp"
#include "core/server/connections/tokens.hpp"

namespace weft::server {

class Clients {
 public:
  struct Rooms {
    Jobs& jobs;
    Host& host;
    Gets& gets;
    Fences& fences;
    ProcessEnds& ends;
  };
  Clients(Loop& loop, const pmix_proc_t& server, shm::Segment& segment, Tokens& tokens, Rooms rooms);
  /// Cleans up after the processes that have finalized, whether they have ended or not: no later moment is
  /// seen.
  ~Clients();

  // The requests that connections send.
  void handshake(const ConnectionRef& connection, const link::Frame& hello);
  void finalize(const ConnectionRef& connection, std::uint64_t tag);
  /// A commit of a client without the segment: the server is its card's writer.
  void commit(const ConnectionRef& connection, std::uint64_t tag, const link::Store& message);
  /// Takes the clean-up that a request orders, for processes of this node and of the client's user; none is
  /// well. PMIX_ERR_BAD_PARAM, _NOT_FOUND (a process that is not here), _NO_PERMISSIONS.
  pmix_status_t order_cleanup(const ClientConnection& connection, const link::JobControl& message);

  /// is_expected: the host ends it, or the server ends: no loss is announced.
  void closed(const ConnectionRef& connection, bool is_expected);
  /// The host takes the rank away: its connection ends, and no process of any node waits for it.
  void remove(Job& job, std::uint32_t rank, Done done);
  /// The namespace ends; done: when the last of its connections has.
  void remove_all(Job& job, std::function<void()> done);
  void forget(const std::string& nspace);

 private:
  using Watch = std::shared_ptr<asio::posix::stream_descriptor>;
  using Place = std::pair<std::string, std::uint32_t>;  ///< namespace, local index

  std::string objection(const link::Hello& hello, const ClientConnection& connection, const Job& job) const;
  void welcome(const ConnectionRef& connection);
  static std::optional<uid_t> user_of(const Job& job, std::uint32_t local);
  pmix_status_t cleanup_targets(const ClientConnection& connection, const Procs& named, Procs& out);
  void came_back(Job& job, std::uint32_t local);
  bool expect_back(Job& job, std::uint32_t local);
  void wait_for_end(Job& job, std::uint32_t local);
  void clean_up_after(const ClientConnection& connection);
  void wait_to_clean_up(const pmix_proc_t& proc);
  void clean_up_now(const pmix_proc_t& proc);

  Loop& loop_;
  const pmix_proc_t server_;
  shm::Segment& segment_;
  Tokens& tokens_;
  Rooms rooms_;
  CleanupBook cleanups_;
  /// Finalized processes that have ordered clean-up and run on, by namespace and rank.
  std::map<std::pair<std::string, pmix_rank_t>, Watch> ending_;
  /// Finalized processes that may be initialized again, by their pidfd; kept once a process of the job has
  /// done so.
  std::map<std::string, std::map<std::uint32_t, Watch>> expected_;
};

}  // namespace weft::server
