// SPDX-License-Identifier: BSD-3-Clause
// The nodes of a job above any endpoint: their contacts, messages to them, reads of their memory, and their
// loss.
//
// Threads   As the endpoint: one thread has all of it. Handlers, done() and the Watcher run in progress() and
//           may call everything but progress() and the destructor.
// Trust     A message reaches its handler only if its sender is authenticated, by the fabric
//           (Capabilities::seals) or by the tag of its envelope, in the present incarnation, and if it comes
//           for the first time. Refused messages are counted, and reported once a node. Bytes that are read
//           are the fabric's: their reader checks them.
// Order     None, where a message is sent in pieces or the endpoint promises none.
// Loss      A node is lost when the endpoint reports it, when it breaks the protocol, or when no message of
//           it has come for Limits::lost_after. All work for it ends as peer_lost, then the Watcher is
//           called, once. The node comes back with a higher incarnation only.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include "transport/mesh/node.hpp"
#include "weft/transport.hpp"

namespace weft::mesh {

/// Why the mesh dropped a message.
enum class Refusal : std::uint8_t {
  unknown_sender,
  not_authentic,
  stale_incarnation,
  replayed,
  malformed,
  unknown_id,
  other_version
};
inline constexpr std::size_t refusals = 7;
const char* to_text(Refusal why) noexcept;

class Watcher {
 public:
  virtual ~Watcher() = default;
  /// why: a literal.
  virtual void node_lost(NodeNumber node, const char* why) noexcept = 0;
  /// The first message that was refused in the name of that node; `sender` proves nothing. version: that the
  /// message claims, beside protocol_version.
  virtual void message_refused(NodeNumber sender, Refusal why, std::uint16_t version) noexcept = 0;
};

struct Limits {
  std::uint32_t most_work =
      1024;  ///< messages and reads that may be open with one node; send() answers `again` then
  std::uint32_t most_in_flight = 64;  ///< of them, pieces that the endpoint has at a time
  Assemblies::Limits assemblies{};
  std::chrono::milliseconds probe_after{1000};  ///< of silence
  std::chrono::milliseconds lost_after{4000};
};

struct Counters {
  std::uint64_t messages_sent = 0, bytes_sent = 0, messages_received = 0, bytes_received = 0;
  std::uint64_t gets = 0, bytes_got = 0;
  std::uint64_t stalls = 0;  ///< the endpoint had no room
  std::uint64_t nodes_lost = 0;
  std::array<std::uint64_t, refusals> refused{};
};

/// The bytes are valid during the call only.
using MessageHandler = void (*)(void* self, NodeNumber from, Bytes header, Bytes payload) noexcept;

class Mesh {
 public:
  static constexpr std::uint16_t most_ids = 64;

  /// nodes: how many the job has; they are numbered from 0. The endpoint and the watcher outlive the mesh.
  Mesh(Endpoint& endpoint, const JobKey& key, NodeIncarnation self, NodeNumber nodes, Watcher& watcher,
       const Limits& limits = {});
  /// Ends all work as `canceled`; the watcher is not called.
  ~Mesh();
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  void on(std::uint16_t id, MessageHandler handler, void* self);
  /// The region's key goes into contact(); the region lives as long as any node may read it.
  RegionNumber offer(const MemoryRegion& region);
  /// For add_peer() at the other nodes.
  Contact contact() const;

  /// Sets where a node is reached. If its incarnation is higher than the known one, the known one is lost.
  /// Errors: invalid (no such node, oneself, incarnation 0), denied (an earlier incarnation than the known
  /// one, or one that was lost).
  Result<void> add_peer(NodeNumber node, const Contact& contact);
  /// The node cannot take part: as if it were lost, until add_peer() with a later incarnation. why: a
  /// literal.
  /// Errors: invalid (no such node, oneself).
  Result<void> exclude(NodeNumber node, const char* why);
  /// Accepts messages of a node whose contact is not known yet: of the first incarnation that sends one, if
  /// it is later than all before.
  Result<void> expect(NodeNumber node);
  /// Connects in the background, and watches the node from then on. Errors: not_found, peer_lost, corrupt.
  Result<void> connect(NodeNumber node);

  /// header: at most Sending::max_header bytes, copied. payload: any length, cut into pieces where it has to
  /// be; all of it arrives in one call of the handler for `id`.
  /// Errors, nothing is open then: not_found (no contact), peer_lost, invalid (too large), again (most_work;
  /// a done() of that node makes room).
  Result<void> send(NodeNumber to, std::uint16_t id, Bytes header, Bytes payload, Sending& sending);
  /// A region that is not in the node's contact; packed: MemoryRegion::packed_key() there. Valid
  /// for this incarnation of the node. Errors: as connect(), corrupt, no_space.
  Result<RegionNumber> import_region(NodeNumber node, Bytes packed);
  /// A region from import_region(); no read of it is open.
  void release_region(NodeNumber node, RegionNumber region) noexcept;
  /// into: as large as it may be, cut into pieces. Errors as send(); not_found also: no such region. In
  /// done() besides: invalid or os (outside of the remote region).
  Result<void> read(NodeNumber from, RegionNumber region, std::uint64_t offset, const LocalSlice& into,
                    Reading& reading);

  /// Events handled; 0: idle.
  std::size_t progress(TimePoint now) noexcept;
  /// Endpoint::arm() of the endpoint below.
  Result<void> arm() noexcept;
  /// progress() is called by then, also when nothing happens; TimePoint::max(): no need.
  TimePoint deadline() const noexcept { return next_check_; }

  /// expected: also a number of which nothing is known.
  NodeState state(NodeNumber node) const noexcept;
  const Counters& counters() const noexcept { return counters_; }

 private:
  struct Dispatch {
    MessageHandler handler = nullptr;
    void* self = nullptr;
  };

  // mesh.cpp: the table, and what arrives
  Node* find(NodeNumber number) const noexcept;
  Result<void> expect_earlier(NodeNumber number, std::uint64_t incarnation);
  Error postpone(Node& node) noexcept;
  Result<Node*> reachable(NodeNumber number);
  void receive(const Message& message) noexcept;
  void refuse(Node* node, const Claim& claim, Refusal why) noexcept;
  void receive_piece(Node& node, const Envelope& envelope, Bytes header, Bytes payload) noexcept;
  void dispatch(Node& node, std::uint16_t id, Bytes header, Bytes payload) noexcept;

  // work.cpp: what leaves
  Result<void> open(Node& node, Work& work);
  void start_pending(Node& node) noexcept;
  void retry_stalled() noexcept;
  Operation* next_operation(Node& node, Work& work) noexcept;
  void build(Node& node, Sending& sending, Operation& operation) noexcept;
  void seal_operation(Node& node, Operation& operation, std::uint8_t flags, std::uint16_t id,
                      Bytes payload) noexcept;
  Result<void> submit(Node& node, Operation& operation) noexcept;
  Result<void> submit_read(Node& node, const Reading& reading, Operation& operation);
  bool is_too_far_ahead(const Node& node) const noexcept;
  Operation* allocate_operation(Node& node, Work* work) noexcept;
  void free_operation(Operation& operation) noexcept;
  void on_complete(Operation& operation, Result<void> outcome) noexcept;
  void dequeue(Node& node) noexcept;
  void end_if_over(Node& node, Work& work) noexcept;
  void run_ended() noexcept;

  // liveness.cpp: probes and losses
  void send_probe(Node& node, std::uint8_t flags) noexcept;
  static const char* why_silent(const Node& node) noexcept;
  void check_liveness(TimePoint now) noexcept;
  void lose(Node& node, const char* why) noexcept;
  void lose_gone() noexcept;
  void reap_lost() noexcept;
  void end_work(Node& node) noexcept;

  static constexpr std::chrono::milliseconds reach_pause{
      50};  ///< before a postponed node is tried again at the latest
  /// In how many passes of progress() that bring messages the last messages of a lost node are read: other
  /// nodes may send without end.
  static constexpr unsigned most_passes_with_gone = 256;

  Endpoint& endpoint_;
  JobKey key_;
  NodeIncarnation self_;
  Watcher& watcher_;
  Limits limits_;
  TimePoint now_{}, last_check_{}, next_check_ = TimePoint::max();
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Node>> lost_;  ///< lost incarnations, until progress() has ended their work
  std::vector<NodeNumber> gone_;  ///< nothing listens there: lost when what they had sent has been read
  unsigned passes_with_gone_ = 0;
  std::vector<Node*> stalled_;
  std::array<Dispatch, most_ids> handlers_{};
  std::vector<const MemoryRegion*> offered_;
  std::vector<std::byte> text_;  ///< of the message that is handled
  std::deque<Operation> operations_;
  Operation* free_operations_ = nullptr;
  Work *first_ended_ = nullptr, *last_ended_ = nullptr;
  bool stranger_is_reported_ = false;
  Counters counters_;
};

}  // namespace weft::mesh
