// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/client.hpp"

#include <sys/socket.h>

#include <type_traits>
#include <utility>

#include "simulation/require.hpp"

namespace weft::simulation {

using link::MessageType;

Client::Client(Node& node, const pmix_proc_t& proc)
    : node_(&node),
      proc_(proc),
      socket_(node.connect()),
      group_boards_({[this](store::NoticeKind kind, store::BoardNumber board) { note(kind, board); },
                     [this](const link::Withdraw& withdraw) {
                       send_frame(MessageType::withdraw, 0, link::encode(withdraw));
                     }}) {
  link::Hello hello;
  hello.layout = store::layout_version;
  hello.attached = 1;
  hello.nspace = link::nspace_of(proc);
  hello.rank = proc.rank;
  hello.token = node.token_of(proc);
  send_frame(MessageType::hello, 0, link::encode(hello));
}

server::Job& Client::job() {
  auto* const job = node_->rooms().jobs.find(link::nspace_of(proc_));
  require(job != nullptr, "the job of a client");
  return *job;
}

template <class Message>
Client::Call Client::send(const Message& message, MessageType type) {
  open_.emplace(++last_, type);
  send_frame(type, last_, link::encode(message));
  return last_;
}

void Client::send_frame(MessageType type, Call call, const std::vector<std::byte>& payload) {
  const auto frame = link::make_frame(type, call, payload);
  unsent_.insert(unsent_.end(), frame.begin(), frame.end());
  write();
}

/// As much as there is room for; the rest when the server has read.
bool Client::write() {
  bool has_sent = false;
  while (!unsent_.empty()) {
    const auto sent = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent <= 0) break;
    unsent_.erase(unsent_.begin(), unsent_.begin() + sent);
    has_sent = true;
  }
  return has_sent;
}

Client::Call Client::fence_job(bool collects) {
  const auto entry = member_->enter(store::Wants(collects));
  require(entry.has_value(), "a place at the job's board");
  at_board_.push_back({++last_, *entry});
  look_at_board();
  return last_;
}

Client::Call Client::fence(const server::Procs& procs, data::Infos directives) {
  link::Fence message;
  message.procs = procs;
  message.directives = std::move(directives);
  return send(message, MessageType::fence);
}

Client::Call Client::construct(const std::string& group, const server::Procs& procs, data::Infos directives) {
  return meet(group_boards_.of_array(procs), store::GroupAct::made,
              link::GroupConstruct{group, procs, std::move(directives)});
}
Client::Call Client::destruct(const std::string& group, const link::RankRuns& members,
                              data::Infos directives) {
  return meet(group_boards_.of_members(members), store::GroupAct::ended,
              link::GroupDestruct{group, std::move(directives)});
}
Client::Call Client::fence_group(const std::string& group, const link::RankRuns& members,
                                 data::Infos directives) {
  return meet(group_boards_.of_members(members), store::GroupAct::fenced,
              link::GroupFence{group, std::move(directives)});
}

/// At that board, or as a message: with directives that the server has to see, or where it has not ended well
/// at the board.
template <class Message>
Client::Call Client::meet(const GroupBoards::SeatRef& seat, store::GroupAct act, Message message) {
  const auto timeout = data::timeout_in(message.directives);
  const bool is_simple = message.directives.size() == (timeout && *timeout ? 1u : 0u);
  const auto call = ++last_;
  const auto group = message.group;
  const auto by_message = [this, call](const Message& to_send) {
    if constexpr (std::is_same_v<Message, link::GroupConstruct>) constructs_.emplace(call, to_send.procs);
    open_.emplace(call, Message::type);
    send_frame(Message::type, call, link::encode(to_send));
  };
  const auto shared = std::make_shared<Message>(std::move(message));
  const auto end = [this, call, act, shared, by_message](bool well, const link::RankRuns& members,
                                                         std::chrono::milliseconds waited) {
    shared->waited_ms = static_cast<std::uint32_t>(waited.count());
    if (!well) return by_message(*shared);
    Ended ended{call, PMIX_SUCCESS};
    if (act == store::GroupAct::made) ended.members = members;
    words_.emplace_back(std::in_place_type<Ended>, std::move(ended));
  };
  const bool is_at_board = seat != nullptr && timeout && is_simple &&
                           group_boards_.enter(seat, act, group, *timeout, node_->now(), end);
  if (!is_at_board) by_message(*shared);
  return call;
}

Client::Call Client::get(const pmix_proc_t& proc, const std::string& key) {
  return send(link::Get{proc, key, {}}, MessageType::get);
}

Client::Call Client::invite(const std::string& group, const server::Procs& procs, data::Infos directives) {
  return send(link::GroupInvite{group, procs, std::move(directives)});
}
Client::Call Client::join(const std::string& group, const pmix_proc_t& leader, bool accepts) {
  return send(link::GroupJoin{group, leader, static_cast<std::uint8_t>(accepts), {}});
}
Client::Call Client::leave(const std::string& group) {
  return send(link::GroupLeave{group, {}});
}
Client::Call Client::connect(const server::Procs& procs, data::Infos directives) {
  return send(link::Connect{procs, std::move(directives)});
}
Client::Call Client::disconnect(const server::Procs& procs, data::Infos directives) {
  return send(link::Disconnect{procs, std::move(directives)});
}

Client::Call Client::publish(const std::string& key, std::uint64_t value, data::Infos infos) {
  infos.add(key, data::Value::of(value));
  return send(link::Publish{std::move(infos)});
}
Client::Call Client::look_up(const std::string& key, data::Infos infos) {
  return send(link::Lookup{{key}, std::move(infos)});
}
Client::Call Client::unpublish(const std::string& key, data::Infos infos) {
  return send(link::Unpublish{{key}, std::move(infos)});
}

Client::Call Client::pull(const pmix_proc_t& of, std::uint64_t handle) {
  return send(link::PullOutput{handle, {of}, PMIX_FWD_STDOUT_CHANNEL, {}});
}

Client::Call Client::subscribe(std::vector<pmix_status_t> codes) {
  return send(link::Subscribe{std::move(codes)}, MessageType::subscribe);
}
Client::Call Client::notify(pmix_status_t code, pmix_data_range_t range, data::Infos infos) {
  return send(link::EventMessage{code, proc_, range, std::move(infos)}, MessageType::notify);
}

void Client::answer(link::GroupVerdict verdict) {
  send_frame(MessageType::group_verdict, 0, link::encode(verdict));
}

Client::Call Client::finalize() {
  open_.emplace(++last_, MessageType::finalize);
  send_frame(MessageType::finalize, last_, {});
  return last_;
}

void Client::commit(const std::string& key, Bytes value) {
  auto card = job().view().cards().to_write(local_);
  data::Writer out;
  require(data::encode_value(out, data::Value::of_bytes(value).get()).has_value(), "a value that travels");
  const auto encoded = std::move(out).take();
  const store::Record record{{store::Realm::rank, 0}, PMIX_GLOBAL, key, encoded};
  const auto end =
      card.end_after(card.published(), store::KeyedLog::record_bytes(key.size(), encoded.size()));
  require(end && card.back(*end) && card.append(record), "room in a card");
  note(store::NoticeKind::committed, 0);
}

/// As client::Control::notify; the server is awake.
void Client::note(store::NoticeKind kind, std::uint32_t arg) {
  auto& writer = *job().writer;
  (void)writer.ring(local_).push({static_cast<std::uint32_t>(kind), arg});
  writer.dirty(local_ / 64).fetch_or(std::uint64_t{1} << local_ % 64, std::memory_order_release);
}

bool Client::look() {
  if (!socket_) return false;
  const bool has_sent = write();
  const bool has_read = read();
  const bool has_met = group_boards_.look(node_->now());
  return look_at_board() || has_met || has_read || has_sent;
}

bool Client::look_at_board() {
  bool has_moved = false;
  while (!at_board_.empty()) {
    auto& first = at_board_.front();
    const auto step = member_->step(first.entry);
    using Owed = store::BoardMember::Owed;
    if (step.owed == Owed::notices) note(store::NoticeKind::board_ended, store::own_job_board);
    if (step.owed == Owed::exchange) note(store::NoticeKind::board_full, store::own_job_board);
    has_moved |= step.owed != Owed::nothing;
    if (!step.status) return has_moved;
    member_->end(first.entry);
    words_.emplace_back(std::in_place_type<Ended>, Ended{first.call, *step.status});
    at_board_.pop_front();
    has_moved = true;
  }
  return has_moved;
}

void Client::remove() {
  socket_.reset();
  node_ = nullptr;
  unsent_.clear();
  open_.clear();
  at_board_.clear();
  group_boards_.clear();
}

}  // namespace weft::simulation
