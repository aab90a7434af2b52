// SPDX-License-Identifier: BSD-3-Clause
// Messages of one kind on their way to the mesh: owns their bytes, and keeps what there is no room for now.
//
// Threads   As the mesh. The mesh may end first: what it was still sending lies here.
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
  /// A message that the mesh does not take, for another reason than a lack of room. True: it is tried again later; else
  /// it is dropped. Runs in send() and retry(), and does not send.
  using Keeps = std::function<bool(NodeNumber to, Bytes header, const Error& why)>;

  Outbox(Mesh& mesh, std::uint16_t message_id, Keeps keeps);
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// header: at most Sending::max_header bytes, copied.
  void send(NodeNumber to, Bytes header, std::vector<std::byte> payload);
  /// After the mesh's progress(): tries again what waits.
  void retry();
  /// Forgets what waits for a node that is lost.
  void drop(NodeNumber to);
  /// The mesh has taken and sent all there was.
  bool is_empty() const noexcept { return waiting_.empty() && sending_.empty(); }

 private:
  struct Message;
  void attempt(std::unique_ptr<Message> message);

  Mesh& mesh_;
  std::uint16_t message_id_;
  Keeps keeps_;
  std::deque<std::unique_ptr<Message>> waiting_;
  std::map<const Message*, std::unique_ptr<Message>> sending_;
};

}  // namespace weft::mesh
