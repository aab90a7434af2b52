// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/published/runs/names_link.hpp"

#include <utility>

#include "core/link/messages.hpp"
#include "transport/mesh/version.hpp"

namespace weft::server {

using link::MessageType;

NamesLink::~NamesLink() {
  close();
}

/// Open requests get no reply.
void NamesLink::close() {
  if (const auto connection = std::exchange(connection_, nullptr)) connection->close();
}

void NamesLink::open(base::Fd fd, const pmix_proc_t& server, Done done) {
  if (connection_ || is_used_) return done(PMIX_ERR_EXISTS);
  ClientConnection::Socket socket(loop_.io());
  std::error_code error;
  socket.assign(asio::local::stream_protocol(), fd.get(), error);
  if (error) return done(PMIX_ERROR);
  (void)fd.release();
  connection_ = std::make_shared<ClientConnection>(std::move(socket), static_cast<Owner&>(*this));
  connection_->is_known = true;  // it proves nothing: this server has come to it
  connection_->proc = server_ = server;
  connection_->admit();
  begun_ = std::move(done);
  deadline_ = std::make_unique<Timer>(loop_, patience, [this] {
    close();
    begun(PMIX_ERR_TIMEOUT);
  });
  (void)send(Call::begin, 0, {}, [this](pmix_status_t status, Bytes) { begun(status); });
}

void NamesLink::begun(pmix_status_t status) {
  if (!begun_) return;
  deadline_.reset();
  is_used_ = status == PMIX_SUCCESS;
  if (!is_used_) close();
  // A server that does not know the message hangs up.
  std::exchange(begun_, nullptr)(status == PMIX_ERR_LOST_CONNECTION ? PMIX_ERR_NOT_SUPPORTED : status);
}

std::uint64_t NamesLink::send(Call call, std::uint32_t origin, std::vector<std::byte> body, Replied replied) {
  const auto tag = ++last_tag_;
  replied_.emplace(tag, std::move(replied));
  if (connection_)
    connection_->send(
        MessageType::guest_request, tag,
        link::encode(link::GuestRequest{mesh::protocol_version, call, origin, std::move(body)}));
  else
    loop_.post([this, tag] { take_reply(tag, PMIX_ERR_LOST_CONNECTION, {}); });
  return tag;
}

void NamesLink::end_wait(std::uint64_t tag) {
  if (connection_)
    connection_->send(MessageType::guest_request, tag,
                      link::encode(link::GuestRequest{mesh::protocol_version, Call::end_wait, 0, {}}));
}

void NamesLink::take_reply(std::uint64_t tag, pmix_status_t status, Bytes body) {
  const auto found = replied_.find(tag);
  if (found == replied_.end()) return;
  const auto replied = std::move(found->second);
  replied_.erase(found);
  replied(status, body);
}

/// Not a byte of the other server is believed without a look, and one wrong frame ends the connection.
void NamesLink::on_frame(const ConnectionRef& from, link::Frame frame) {
  if (frame.type == MessageType::guest_reply) {
    const auto reply = link::decode<link::GuestReply>(frame.payload);
    return reply ? take_reply(frame.tag, reply->status, reply->body) : from->close();
  }
  if (frame.type == MessageType::done) {
    const auto reply = link::decode<link::Done>(frame.payload);
    return reply ? take_reply(frame.tag, reply->status, {}) : from->close();
  }
  if (frame.type == MessageType::event) return;  // of all tools
  const auto taken = link::decode<link::GuestTaken>(frame.payload);
  if (frame.type != MessageType::guest_taken || !taken) return from->close();
  events_.taken(*taken);
}

void NamesLink::on_closed(const ConnectionRef& connection) {
  if (connection != connection_) return;  // this server has closed it
  connection_ = nullptr;
  for (auto& [tag, replied] : std::exchange(replied_, {})) replied(PMIX_ERR_LOST_CONNECTION, {});
  if (is_used_) events_.lost(server_);
}

}  // namespace weft::server
