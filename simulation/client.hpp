// SPDX-License-Identifier: BSD-3-Clause
// A process of a job, as its server sees it: the messages of its socket, its places at boards, its card. It
// never waits: look() says what has come. Its handlers are the owner's: events, questions and changes of
// groups come as words among the ends of calls.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/fd.hpp"
#include "core/link/requests.hpp"
#include "core/server/jobs/proc_set.hpp"
#include "core/store/boards/board_member.hpp"
#include "simulation/group_boards.hpp"
#include "simulation/node.hpp"

namespace weft::simulation {

class Client {
 public:
  using Call = std::uint64_t;
  struct Ended {
    Call call;
    pmix_status_t status;
    link::RankRuns members{};  ///< of a group that was made, by group rank
    std::uint64_t context = 0;
    std::vector<std::byte> value{};  ///< that a Get found: a byte object
    std::uint64_t found = 0;         ///< what a lookup of one name has found
  };
  /// What the server has said, in the order in which it came.
  using Word = std::variant<Ended, link::EventMessage, link::GroupQuestion, link::GroupChange, link::Output>;

  /// The node outlives it, but for remove().
  Client(Node& node, const pmix_proc_t& proc);

  const pmix_proc_t& proc() const noexcept { return proc_; }
  NodeNumber node() const noexcept { return node_->self(); }
  /// The server has let it in.
  bool is_welcome() const noexcept { return is_welcome_; }
  bool is_gone() const noexcept { return node_ == nullptr; }
  bool has_hung_up() const noexcept { return !socket_; }

  // Calls. Each ends once, in look(), unless the process ends before.
  /// At the board of its job.
  Call fence_job(bool collects);
  Call fence(const server::Procs& procs, data::Infos directives);
  // At a board where there is one, as in the library. members: of the group, as this process knows it.
  Call construct(const std::string& group, const server::Procs& procs, data::Infos directives);
  Call destruct(const std::string& group, const link::RankRuns& members, data::Infos directives);
  Call fence_group(const std::string& group, const link::RankRuns& members, data::Infos directives);
  Call get(const pmix_proc_t& proc, const std::string& key);
  Call invite(const std::string& group, const server::Procs& procs, data::Infos directives);
  /// leader: of an empty namespace where the members are asked.
  Call join(const std::string& group, const pmix_proc_t& leader, bool accepts);
  Call leave(const std::string& group);
  Call connect(const server::Procs& procs, data::Infos directives);
  Call disconnect(const server::Procs& procs, data::Infos directives);
  Call publish(const std::string& key, std::uint64_t value, data::Infos infos);
  Call look_up(const std::string& key, data::Infos infos);
  Call unpublish(const std::string& key, data::Infos infos);
  /// The standard output of that process, from here on. handle: this process's name for it.
  Call pull(const pmix_proc_t& of, std::uint64_t handle);
  Call subscribe(std::vector<pmix_status_t> codes);
  Call notify(pmix_status_t code, pmix_data_range_t range, data::Infos infos);
  Call finalize();
  /// To a question of the server.
  void answer(link::GroupVerdict verdict);
  /// To the card, for all nodes.
  void commit(const std::string& key, Bytes value);

  /// Reads what has come and looks at the board. True: something has.
  bool look();
  /// What has come since the last call.
  std::vector<Word> take_words();
  std::size_t open() const noexcept { return open_.size() + at_board_.size() + group_boards_.open(); }
  /// When look() has something to do though nothing comes; TimePoint::max(): never.
  Loop::TimePoint deadline() const { return group_boards_.deadline(); }
  /// After its finalize: as a library that closes its connection.
  void hang_up() { socket_.reset(); }
  /// The process ends without a word, or its node does.
  void remove();

 private:
  struct AtBoard {
    Call call;
    store::BoardMember::Entry entry;
  };
  template <class Message>
  Call send(const Message& message, link::MessageType type = Message::type);
  template <class Message>
  Call meet(const GroupBoards::SeatRef& seat, store::GroupAct act, Message message);
  void send_frame(link::MessageType type, Call call, const std::vector<std::byte>& payload);
  bool write();
  bool read();
  void take(const link::Frame& frame);
  template <class Message>
  void keep(const link::Frame& frame);
  void take_answer(Call call, const link::Frame& frame);
  bool look_at_board();
  void note(store::NoticeKind kind, std::uint32_t arg);
  server::Job& job();

  Node* node_;
  const pmix_proc_t proc_;
  base::Fd socket_;
  bool is_welcome_ = false;
  std::uint32_t local_ = 0;
  std::optional<store::BoardMember> member_;
  std::vector<std::byte> unsent_;
  std::vector<std::byte> read_;  ///< of frames that have not come whole
  Call last_ = 0;
  std::map<Call, link::MessageType> open_;  ///< messages
  std::deque<AtBoard> at_board_;
  GroupBoards group_boards_;
  std::map<Call, server::Procs> constructs_;  ///< messages: what was named
  std::vector<Word> words_;
};

}  // namespace weft::simulation
