// SPDX-License-Identifier: BSD-3-Clause
// The nodes of a job above any endpoint: who is where, messages to them, reads of their memory, and who is lost.
//
// Threads   As the endpoint: one thread has all of it. Handlers, done() and the Watcher run in progress() and may call
//           everything but progress() and the destructor.
// Trust     A message is looked at when its MAC has proved who sent it, in this life of both, for the first time. What
//           is refused is counted, and told once a node.
// Order     None, where a message is sent in pieces or the endpoint promises none.
// Loss      A node is lost when the endpoint says so, when it breaks the rules, or when nothing was heard of it for
//           Limits::lost_after. All work for it ends as peer_lost, then the Watcher hears of it, once. It comes back
//           with a higher incarnation only.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include "transport/mesh/node.hpp"
#include "weft/transport.hpp"

namespace weft::mesh {

/// Why a message was dropped.
enum class Refusal : std::uint8_t {
  unknown_sender,
  not_authentic,
  another_life,
  replayed,
  malformed,
  unknown_id
};
inline constexpr std::size_t refusals = 6;
const char* to_text(Refusal why) noexcept;

class Watcher {
 public:
  virtual ~Watcher() = default;
  /// why: a literal.
  virtual void node_lost(NodeNumber node, const char* why) noexcept = 0;
  /// The first message that was refused in the name of that node; `sender` proves nothing.
  virtual void message_refused(NodeNumber sender, Refusal why) noexcept = 0;
};

struct Limits {
  std::uint32_t most_work =
      1024;  ///< messages and reads that may be open with one node; send() answers `again` then
  std::uint32_t most_in_flight = 64;  ///< of them, pieces that the endpoint has at a time
  Assemblies::Limits assemblies{};
  std::chrono::milliseconds ping_after{1000};  ///< of silence
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
  Mesh(Endpoint& endpoint, const JobKey& key, Life self, NodeNumber nodes, Watcher& watcher,
       const Limits& limits = {});
  /// Ends all work as `canceled`; nobody is told of losses.
  ~Mesh();
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  void on(std::uint16_t id, MessageHandler handler, void* self);
  /// The region's key goes into contact(); the region lives as long as any node may read it.
  RegionNumber offer(const MemoryRegion& region);
  /// For enter() at the others.
  Contact contact() const;

  /// Where a node is. A higher incarnation than the known one: its earlier life is lost.
  /// Errors: invalid (no such node, oneself, incarnation 0), denied (an earlier life than the known one, or one that
  /// was lost).
  Result<void> enter(NodeNumber node, const Contact& contact);
  /// Hears a node whose contact is not known yet: of its lives the first that speaks, if it is later than all before.
  Result<void> expect(NodeNumber node);
  /// Connects in the background, and looks after the node from then on. Errors: not_found, peer_lost, corrupt.
  Result<void> connect(NodeNumber node);

  /// header: at most Sending::max_header bytes, copied. payload: any length, cut into pieces where it has to be; all of
  /// it arrives in one call of the handler for `id`.
  /// Errors, nothing is open then: not_found (no contact), peer_lost, invalid (too large), again (most_work; a done()
  /// of that node makes room).
  Result<void> send(NodeNumber to, std::uint16_t id, Bytes header, Bytes payload, Sending& sending);
  /// A region that the node has told of by other means than its contact; packed: MemoryRegion::packed_key() there. Valid
  /// for this life of the node. Errors: as connect(), corrupt, no_space.
  Result<RegionNumber> learn_region(NodeNumber node, Bytes packed);
  /// One that was learnt; no read of it is open.
  void forget_region(NodeNumber node, RegionNumber region) noexcept;
  /// into: as large as it may be, cut into pieces. Errors as send(); not_found also: no such region. In done() besides:
  /// invalid or os (outside of the remote region).
  Result<void> read(NodeNumber from, RegionNumber region, std::uint64_t offset, const LocalSlice& into,
                    Reading& reading);

  /// Events handled; 0: idle.
  std::size_t progress(TimePoint now) noexcept;
  /// As Endpoint::arm().
  Result<void> arm() noexcept;
  /// progress() is called by then, also when nothing happens; TimePoint::max(): no need.
  TimePoint deadline() const noexcept { return next_look_; }

  /// expected: also a number that was never heard of.
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
  Result<Node*> reachable(NodeNumber number);
  void receive(const Message& message) noexcept;
  void refuse(Node* node, NodeNumber sender, Refusal why) noexcept;
  void receive_piece(Node& node, const Envelope& envelope, Bytes header, Bytes payload) noexcept;
  void dispatch(Node& node, std::uint16_t id, Bytes header, Bytes payload) noexcept;

  // work.cpp: what leaves
  Result<void> open(Node& node, Work& work);
  void push(Node& node) noexcept;
  void push_stalled() noexcept;
  Flight* next_flight(Node& node, Work& work) noexcept;
  void fill(Node& node, Sending& sending, Flight& flight) noexcept;
  void seal_flight(Node& node, Flight& flight, std::uint8_t flags, std::uint16_t id, Bytes payload) noexcept;
  Result<void> launch(Node& node, Flight& flight) noexcept;
  Result<void> launch_read(Node& node, const Reading& reading, Flight& flight);
  bool is_too_far_ahead(const Node& node) const noexcept;
  Flight* take_flight(Node& node, Work* work) noexcept;
  void put_flight(Flight& flight) noexcept;
  void land(Flight& flight, Result<void> outcome) noexcept;
  void pop(Node& node) noexcept;
  void end_if_over(Node& node, Work& work) noexcept;
  void run_ended() noexcept;

  // liveness.cpp: who is lost
  void say(Node& node, std::uint8_t flags) noexcept;
  void look(TimePoint now) noexcept;
  void lose(Node& node, const char* why) noexcept;
  void bury() noexcept;
  void end_all(Node& node) noexcept;

  Endpoint& endpoint_;
  JobKey key_;
  Life self_;
  Watcher& watcher_;
  Limits limits_;
  TimePoint now_{}, last_look_{}, next_look_ = TimePoint::max();
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Node>> lost_;  ///< lives that have ended, until progress() has ended their work
  std::vector<Node*> stalled_;
  std::array<Dispatch, most_ids> handlers_{};
  std::vector<const MemoryRegion*> offered_;
  std::deque<Flight> flights_;
  Flight* free_flights_ = nullptr;
  Work *first_ended_ = nullptr, *last_ended_ = nullptr;
  bool stranger_is_reported_ = false;
  Counters counters_;
};

}  // namespace weft::mesh
