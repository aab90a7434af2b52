// SPDX-License-Identifier: BSD-3-Clause
// Messages from one server to all others, down a tree: each server is given each message once, also when one
// on the way is lost. docs/design/events.md. The loop's thread only.
//
// Tree      The servers in the order of their numbers, from the sender on and around; the one at position p
//           has those from position 4p + 1 to 4p + 4 below it.
// Loss      A server replies when all below it have the message. A server that is not there, or is lost
//           before its reply, is passed over: the server above it sends to those below it.
// Once      Each sender numbers its messages; a number that has come is not delivered again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/wire.hpp"
#include "transport/mesh/node.hpp"
#include "weft/bytes.hpp"

namespace weft::server {

using mesh::NodeNumber;

/// The nodes directly below `node` in the tree of `count` nodes whose sender is `root`.
std::vector<NodeNumber> nodes_below(NodeNumber node, NodeNumber root, NodeNumber count);

/// The numbers that have come from a sender, which counts from 1. A number that is missing below the latest
/// 1024 counts as having come.
class SeenNumbers {
 public:
  /// False: it came before.
  bool add(std::uint64_t number);

 private:
  static constexpr std::size_t most_above = 1024;
  std::uint64_t all_to_ = 0;
  std::set<std::uint64_t> above_;
};

/// Between servers; its changes raise mesh::protocol_version.
struct TreeMessage {
  NodeNumber root = 0;
  std::uint64_t incarnation = 0;  ///< of the sender: a later one counts from 1 again
  std::uint64_t number = 0;
  std::vector<std::byte> body;
};
template <class Archive>
void fields(Archive& archive, TreeMessage& m) {
  archive(m.root, m.incarnation, m.number, m.body);
}

class TreeRelay {
 public:
  using Sent = std::function<void(bool has_arrived)>;
  /// The way to one other server. `sent`: once; true: with its reply.
  using Send = std::function<void(NodeNumber to, std::vector<std::byte> message, Sent sent)>;
  using IsThere = std::function<bool(NodeNumber)>;
  using Deliver = std::function<void(Bytes body)>;

  TreeRelay(const TreeRelay&) = delete;
  TreeRelay& operator=(const TreeRelay&) = delete;
  ~TreeRelay() { flow_->waiting.clear(); }
  TreeRelay(NodeNumber self, NodeNumber count, std::uint64_t incarnation, IsThere is_there, Send send,
            Deliver deliver)
      : self_(self),
        count_(count),
        incarnation_(incarnation),
        is_there_(std::move(is_there)),
        send_(std::move(send)),
        deliver_(std::move(deliver)) {}

  /// To all others. taken: at once, or once fewer than `most_under_way` of this server's messages, of less
  /// than `most_bytes_under_way`, have not arrived everywhere: so what raises events goes at the pace of the
  /// slowest node. Not called where this object ends before.
  void spread(std::vector<std::byte> body, std::function<void()> taken);
  static constexpr std::size_t most_under_way = 1024, most_bytes_under_way = std::size_t{16} << 20;
  /// A message of another server. done: when all below this one have it. False: it is malformed, and `done`
  /// is not called.
  bool receive(Bytes message, std::function<void()> done);

 private:
  struct Sender {
    std::uint64_t incarnation = 0;
    SeenNumbers seen;
  };
  /// One message on its way; ends when nothing holds it any more.
  struct Passing {
    Passing(NodeNumber from, std::vector<std::byte> bytes, std::function<void()> end)
        : root(from), message(std::move(bytes)), done(std::move(end)) {}
    Passing(const Passing&) = delete;
    Passing& operator=(const Passing&) = delete;
    ~Passing() {
      if (done) done();
    }
    const NodeNumber root;
    const std::vector<std::byte> message;
    const std::function<void()> done;
  };
  /// This server's own messages; outlives the relay where the way to others does.
  struct Flow {
    std::size_t count = 0, bytes = 0;
    std::deque<std::function<void()>> waiting;
    bool has_room() const noexcept { return count < most_under_way && bytes < most_bytes_under_way; }
    void end(std::size_t of_bytes);
  };
  bool is_new(const TreeMessage& message);
  void send_below(NodeNumber node, const std::shared_ptr<Passing>& passing);

  const NodeNumber self_, count_;
  const std::uint64_t incarnation_;
  const IsThere is_there_;
  const Send send_;
  const Deliver deliver_;
  std::uint64_t last_number_ = 0;
  const std::shared_ptr<Flow> flow_ = std::make_shared<Flow>();
  std::map<NodeNumber, Sender> senders_;
};

}  // namespace weft::server
