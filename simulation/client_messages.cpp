// SPDX-License-Identifier: BSD-3-Clause
// A simulated process: what its server says to it.
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <utility>

#include "core/data/types/array.hpp"
#include "simulation/client.hpp"
#include "simulation/require.hpp"

namespace weft::simulation {

using link::MessageType;

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

template <class Message>
void Client::keep(const link::Frame& frame) {
  auto message = link::decode<Message>(frame.payload);
  require(message.has_value(), "a message of the server that is well-formed");
  words_.emplace_back(std::in_place_type<Message>, std::move(*message));
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
    case MessageType::event:
      return keep<link::EventMessage>(frame);
    case MessageType::group_question:
      return keep<link::GroupQuestion>(frame);
    case MessageType::group_change:
      return keep<link::GroupChange>(frame);
    case MessageType::output:
      return keep<link::Output>(frame);
    default:
      if (open_.count(frame.tag) != 0) take_answer(frame.tag, frame);
      return;
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
                {reinterpret_cast<const std::byte*>(value.data.bo.bytes), value.data.bo.size})) {
          ended.members = members->runs;
          if (const auto named = constructs_.find(call); named != constructs_.end() && members->board != 0)
            group_boards_.take_seat(job().view(), proc_, named->second, *members);
        }
      for (const auto& name : data::elements_of<pmix_pdata_t>(value, PMIX_PDATA))
        ended.found = name.value.data.uint64;
      if (const auto* context = answer->infos.find(PMIX_GROUP_CONTEXT_ID))
        ended.context = data::as_unsigned(context->value).value_or(0);
    }
  }
  open_.erase(call);
  constructs_.erase(call);
  words_.emplace_back(std::in_place_type<Ended>, std::move(ended));
}

std::vector<Client::Word> Client::take_words() {
  return std::exchange(words_, {});
}

}  // namespace weft::simulation
