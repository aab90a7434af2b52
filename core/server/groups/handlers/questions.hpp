// SPDX-License-Identifier: BSD-3-Clause
// What the event handlers of a process decide: the process is asked by its own server, wherever that is, and
// its handlers' results come back. The loop's thread only. Source: RFC 0033, "the results array at the end of
// the event handler".
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "core/link/requests.hpp"
#include "core/server/connections/requester.hpp"
#include "core/server/groups/table/peer_calls.hpp"

namespace weft::server {

/// From server to server.
struct PeerQuestion {
  static constexpr std::uint16_t wire_version = 1;
  pmix_proc_t proc{};
  link::GroupQuestion question;
};
template <class Archive>
void fields(Archive& archive, PeerQuestion& m) {
  archive(m.proc, m.question);
}

class Questions {
 public:
  /// Of a process that is gone and another user's than PMIX_USERID of the question says: as of one that has
  /// no handler.
  using Answered = std::function<void(const link::GroupVerdict&)>;

  Questions(Loop& loop, const Jobs& jobs, PeerCalls& peers);

  /// answered: once, never before this returns; when all handlers have ended, which may take as long as the
  /// program likes.
  void ask(const pmix_proc_t& proc, link::GroupQuestion question, Answered answered);

  struct Vote {
    pmix_proc_t proc;
    link::GroupVerdict verdict;
  };
  /// The same of many; when the last has answered.
  void ask_all(const Procs& procs, const std::function<link::GroupQuestion()>& make,
               std::function<void(std::vector<Vote>)> answered);

  /// A client's handlers have ended.
  void take(const ConnectionRef& from, link::GroupVerdict verdict);
  /// What the client was asked ends, also what it is asked before the other rooms have heard of its end.
  void closed(const ConnectionRef& connection);
  /// A process of this node has not answered yet, and that operation waits for it.
  bool is_asked(const pmix_proc_t& proc, std::string_view operation) const;
  /// Questions that processes of this node have not answered.
  std::size_t open() const noexcept { return open_.size(); }

 private:
  struct Open {
    const ClientConnection* client;  ///< to compare with
    pmix_proc_t proc;
    std::string operation;
    Answered answered;
  };
  void end_all(const ClientConnection* client);
  bool is_of_another_user(const pmix_proc_t& proc, const link::GroupQuestion& question) const;
  void ask_here(const pmix_proc_t& proc, link::GroupQuestion question, Answered answered);
  void answer_peer(Bytes body, const Rpc::Reply& reply);

  Loop& loop_;
  const Jobs& jobs_;
  PeerCalls& peers_;
  std::map<std::uint64_t, Open> open_;  ///< by number
  std::uint64_t last_ = 0;
};

}  // namespace weft::server
