// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/client.hpp"

#include <sys/socket.h>

#include <array>
#include <cstring>
#include <utility>

#include "simulation/require.hpp"

namespace weft::simulation {

using link::MessageType;

Client::Client(Node& node, const pmix_proc_t& proc) : node_(&node), proc_(proc), socket_(node.connect()) {
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
  const auto sent = ::send(socket_.get(), frame.data(), frame.size(), MSG_NOSIGNAL);
  require(sent == static_cast<ssize_t>(frame.size()), "room in the socket of a client");
}

Client::Call Client::fence_job(bool collects) {
  const auto entry = member_->enter(store::Wants(collects));
  require(entry.has_value(), "a place at the job's board");
  at_board_.push_back({++last_, *entry});
  look_at_board();
  return last_;
}

Client::Call Client::fence(const server::Procs& procs, bool collects) {
  link::Fence message;
  message.procs = procs;
  message.directives.add(PMIX_COLLECT_DATA, data::Value::of(collects));
  return send(message, MessageType::fence);
}

Client::Call Client::construct(const std::string& group, const server::Procs& procs, data::Infos directives) {
  return send(link::GroupConstruct{group, procs, std::move(directives)});
}
Client::Call Client::destruct(const std::string& group) {
  return send(link::GroupDestruct{group, {}});
}
Client::Call Client::fence_group(const std::string& group) {
  return send(link::GroupFence{group, {}});
}

Client::Call Client::get(const pmix_proc_t& proc, const std::string& key) {
  return send(link::Get{proc, key, {}}, MessageType::get);
}

Client::Call Client::finalize() {
  open_.emplace(++last_, MessageType::finalize);
  send_frame(MessageType::finalize, last_, {});
  return last_;
}

void Client::commit(const std::string& key, Bytes value) {
  auto card = job().view().card_to_write(local_);
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
  if (is_gone()) return false;
  const bool has_read = read();
  return look_at_board() || has_read;
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
    ended_.push_back({first.call, *step.status});
    at_board_.pop_front();
    has_moved = true;
  }
  return has_moved;
}

bool Client::read() {
  std::array<std::byte, 65536> room;
  bool has_come = false;
  for (;;) {
    const auto came = ::recv(socket_.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (came <= 0) break;
    has_come = true;
    read_.insert(read_.end(), room.begin(), room.begin() + came);
  }
  std::size_t at = 0;
  while (read_.size() - at >= link::frame_header_bytes) {
    std::array<std::byte, link::frame_header_bytes> front;
    std::memcpy(front.data(), read_.data() + at, front.size());
    const auto header = link::read_header(front, link::max_payload);
    require(header.has_value(), "a frame of the server");
    if (read_.size() - at < front.size() + header->bytes) break;
    const auto* const payload = read_.data() + at + front.size();
    take({header->type, header->tag, {payload, payload + header->bytes}});
    at += front.size() + header->bytes;
  }
  read_.erase(read_.begin(), read_.begin() + static_cast<std::ptrdiff_t>(at));
  return has_come;
}

void Client::take(const link::Frame& frame) {
  switch (frame.type) {
    case MessageType::welcome: {
      const auto welcome = link::decode<link::Welcome>(frame.payload);
      require(welcome && welcome->segment_bytes != 0, "the segment for a client");
      local_ = welcome->local;
      auto& board = job().view().board();
      member_.emplace(board, local_, store::Incarnation{0}, board.open_generation());
      is_welcome_ = true;
      return;
    }
    case MessageType::group_question: {
      const auto question = link::decode<link::GroupQuestion>(frame.payload);
      require(question.has_value(), "a question that is well-formed");
      // It has no handler.
      return send_frame(MessageType::group_verdict, 0,
                        link::encode(link::GroupVerdict{question->number, 0, PMIX_SUCCESS, {}}));
    }
    default:
      if (open_.count(frame.tag) != 0) take_answer(frame.tag, frame);
      return;  // an event, a change of a group
  }
}

void Client::take_answer(Call call, const link::Frame& frame) {
  Ended ended{call, PMIX_ERR_UNPACK_FAILURE};
  if (frame.type == MessageType::done) {
    if (const auto done = link::decode<link::Done>(frame.payload)) ended.status = done->status;
  } else if (frame.type == MessageType::board_offer) {
    if (const auto offer = link::decode<link::BoardOffer>(frame.payload)) ended.status = offer->status;
  } else if (frame.type == MessageType::value) {
    if (const auto got = link::decode<link::GotValue>(frame.payload)) {
      ended.status = got->status;
      const auto& value = got->value.get();
      const auto* const bytes = reinterpret_cast<const std::byte*>(value.data.bo.bytes);
      if (got->status == PMIX_SUCCESS && value.type == PMIX_BYTE_OBJECT)
        ended.value.assign(bytes, bytes + value.data.bo.size);
    }
  } else if (frame.type == MessageType::answer) {
    if (const auto answer = link::decode<link::Answer>(frame.payload)) {
      ended.status = answer->status;
      const auto& value = answer->value.get();
      if (value.type == PMIX_BYTE_OBJECT)
        if (const auto members = link::decode<link::GroupMembers>(
                {reinterpret_cast<const std::byte*>(value.data.bo.bytes), value.data.bo.size}))
          ended.members = members->runs;
      if (const auto* context = answer->infos.find(PMIX_GROUP_CONTEXT_ID))
        ended.context = data::as_unsigned(context->value).value_or(0);
    }
  }
  open_.erase(call);
  ended_.push_back(std::move(ended));
}

std::vector<Client::Ended> Client::take_ended() {
  return std::exchange(ended_, {});
}

void Client::remove() {
  socket_.reset();
  node_ = nullptr;
  open_.clear();
  at_board_.clear();
}

}  // namespace weft::simulation
