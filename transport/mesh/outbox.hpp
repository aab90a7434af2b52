// SPDX-License-Identifier: BSD-3-Clause
// Messages of one kind for the mesh: the outbox owns their bytes, and keeps those that the mesh has no room
// for.
//
// Threads   As the mesh. The mesh may be destroyed first: the outbox owns what it was still sending.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "transport/mesh/mesh.hpp"

namespace weft::mesh {

class Outbox {
 public:
  /// The mesh refused a message for another reason than a lack of room. True: the outbox tries again later;
  /// false: it drops the message. Called in send() and retry(); does not send.
  using Keeps = std::function<bool(NodeNumber to, Bytes header, const Error& why)>;

  Outbox(Mesh& mesh, std::uint16_t message_id, Keeps keeps);
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// header: at most Sending::max_header bytes, copied.
  void send(NodeNumber to, Bytes header, std::vector<std::byte> payload);
  /// Call after the mesh's progress(): sends what waits.
  void retry();
  /// Drops what waits for a lost node.
  void drop(NodeNumber to);
  /// The mesh is about to end: what is to be sent from now on, and what waits, goes nowhere.
  void close() noexcept;
  bool is_closed() const noexcept { return is_closed_; }
  /// True if the mesh has sent every message.
  bool is_empty() const noexcept { return waiting_.empty() && sending_.empty(); }

 private:
  struct Message;
  void attempt(std::unique_ptr<Message> message);

  Mesh& mesh_;
  std::uint16_t message_id_;
  Keeps keeps_;
  bool is_closed_ = false;
  std::deque<std::unique_ptr<Message>> waiting_;
  std::map<const Message*, std::unique_ptr<Message>> sending_;
};

}  // namespace weft::mesh
