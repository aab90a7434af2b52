// SPDX-License-Identifier: BSD-3-Clause
// Servers that have the key and say what they like, in any order, to the engine of collectives and to rpc:
// over a simulated network, through their own meshes. Whatever they say, what this node keeps for later is
// bounded.
#include <deque>

#include "collectives/engine.hpp"
#include "core/server/cluster/messages.hpp"
#include "core/server/cluster/rpc.hpp"
#include "tests/fuzz/decoders.hpp"
#include "transport/sim/network.hpp"

namespace weft::fuzz {
namespace {

using collectives::Engine;
using collectives::Kind;
using collectives::MessageHeader;
using mesh::NodeNumber;

constexpr std::uint16_t engine_id = 1, rpc_id = 2;
constexpr NodeNumber node_count = 3;
constexpr std::uint64_t most_early = 20'000;

/// The steps of a script; the rest of a byte says which node.
enum class Step : std::uint8_t { collective, request, turn, begin, refuse, abort, ask, reply };
constexpr std::size_t steps = 8;

const mesh::JobKey& peers_key() {
  static const auto fixed = *mesh::JobKey::from(Encoded(mesh::JobKey::bytes, std::byte{7}));
  return fixed;
}

struct Node : mesh::Watcher {
  Node(sim::SimTransport& transport, NodeNumber self) : endpoint(std::move(*transport.open({}))) {
    mesh = std::make_unique<mesh::Mesh>(*endpoint, peers_key(), mesh::NodeIncarnation{self, 1}, node_count,
                                        *this);
  }
  void node_lost(NodeNumber node, const char*) noexcept override { lost.push_back(node); }
  void message_refused(NodeNumber, mesh::Refusal, std::uint16_t) noexcept override {}

  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<mesh::Mesh> mesh;
  std::vector<NodeNumber> lost;
};

class Peers {
 public:
  Peers() {
    for (NodeNumber n = 0; n < node_count; ++n) all_.push_back(std::make_unique<Node>(transport_, n));
    for (auto& one : all_)
      for (NodeNumber n = 0; n < node_count; ++n)
        if (one != all_[n]) require(one->mesh->add_peer(n, all_[n]->mesh->contact()).has_value());
    Engine::Options options;
    options.message_id = engine_id;
    options.most_early_bytes = most_early;
    engine_ = std::make_unique<Engine>(here(), 0, options);
    rpc_ = std::make_unique<server::Rpc>(here(), rpc_id, most_early);
    rpc_->on(server::RequestType::card,
             [](NodeNumber, Bytes body, const auto& reply) { reply(PMIX_SUCCESS, body); });
    rpc_->on(server::RequestType::report,
             [this](NodeNumber, Bytes, const auto& reply) { later_.push_back(reply); });
    for (std::uint64_t set = 0; set < 2; ++set) begin(set);
    ask(1);
  }
  ~Peers() {
    for (auto& node : all_) node->mesh.reset();
    rpc_->close();
    require(open_requests_ == 0);
    engine_.reset();
    require(open_collectives_ == 0);
  }

  void play(Bytes script) {
    for (base::Reader in(script); in.left() != 0;) {
      const auto first = in.u8();
      const NodeNumber from = 1 + first / steps % (node_count - 1);
      switch (Step(first % steps)) {
        case Step::collective:
          say(from, engine_id, in);
          break;
        case Step::request:
          say(from, rpc_id, in);
          break;
        case Step::turn:
          turn();
          break;
        case Step::begin:
          if (open_collectives_ < 8) begin(in.u8() % 4);
          break;
        case Step::refuse:
          (void)engine_->refuse({1, in.u8() % 4u}, {0, 1, 2}, collectives::Why::of_callers, nullptr);
          break;
        case Step::abort:
          engine_->abort({1, in.u8() % 4u}, 1, collectives::Why::of_callers);
          break;
        case Step::ask:
          if (open_requests_ < 8) ask(from);
          break;
        case Step::reply:
          for (const auto& reply : std::exchange(later_, {})) reply(PMIX_SUCCESS, {});
          break;
      }
    }
    for (int i = 0; i < 8; ++i) turn();
  }

 private:
  mesh::Mesh& here() { return *all_[0]->mesh; }
  /// A message of any header and payload: u8 length, the header, u16 length, the payload.
  void say(NodeNumber from, std::uint16_t id, base::Reader& in) {
    auto& message = messages_.emplace_back();
    const auto take = [&in](std::size_t most) {
      const auto bytes = in.raw(std::min(most, in.left()));
      return Encoded(bytes.begin(), bytes.end());
    };
    message.header = take(std::min<std::size_t>(in.u8(), mesh::Sending::max_header));
    message.payload = take(in.u16());
    message.done = [](mesh::Work&, Result<void>) noexcept {};
    (void)all_[from]->mesh->send(0, id, message.header, message.payload, message);
  }
  void begin(std::uint64_t set) {
    ++open_collectives_;
    Encoded contribution(set % 2 == 0 ? 0 : set == 1 ? 5000 : 10, std::byte{1});
    const auto ended = [this](const collectives::Outcome&) { --open_collectives_; };
    require(engine_
                ->begin({1, set}, set % 2 == 0 ? Kind::barrier : Kind::exchange, {0, 1, 2},
                        std::move(contribution), ended)
                .has_value());
  }
  void ask(NodeNumber to) {
    ++open_requests_;
    rpc_->send(to, server::RequestType::card, Encoded(3), [this](pmix_status_t, Bytes) { --open_requests_; });
  }
  void turn() {
    now_ += std::chrono::microseconds(1);
    for (auto& node : all_) node->mesh->progress(now_);
    for (const auto node : std::exchange(all_[0]->lost, {})) {
      engine_->suspend(node);
      for (const auto& end : engine_->account({{node}}).undecided) engine_->settle(end, nullptr);
      rpc_->node_lost(node);
    }
    engine_->progress();
    rpc_->progress();
    require(engine_->counters().early_bytes <= most_early);
    require(later_.size() <= messages_.size());
  }

  struct Message : mesh::Sending {
    Encoded header, payload;
  };
  sim::Network network_;
  sim::SimTransport transport_{network_};
  std::deque<Message> messages_;
  std::vector<std::unique_ptr<Node>> all_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<server::Rpc> rpc_;
  std::vector<server::Rpc::Reply> later_;
  mesh::TimePoint now_{std::chrono::hours(1)};
  int open_collectives_ = 0, open_requests_ = 0;
};

bool plays(Bytes script) {
  Peers().play(script);
  return true;
}

// ---- scripts to begin from

struct Script {
  base::Writer out;

  Script& step(Step what, NodeNumber from = 1) {
    out.u8(static_cast<std::uint8_t>(static_cast<std::size_t>(what) + (from - 1) * steps));
    return *this;
  }
  Script& say(Step what, NodeNumber from, Bytes header, Bytes payload = {}) {
    step(what, from);
    out.u8(static_cast<std::uint8_t>(header.size()));
    out.raw(header);
    out.u16(static_cast<std::uint16_t>(payload.size()));
    out.raw(payload);
    return *this;
  }
  Encoded done() { return std::move(out).take(); }
};

/// Every message that two honest members send to the third, which they wait for: those of the first step.
Encoded of_members(std::uint64_t set, Kind kind) {
  struct Recorder {
    Script script;
  } recorder;
  sim::Network network;
  sim::SimTransport transport(network);
  std::vector<std::unique_ptr<Node>> all;
  for (NodeNumber n = 0; n < node_count; ++n) all.push_back(std::make_unique<Node>(transport, n));
  for (auto& one : all)
    for (NodeNumber n = 0; n < node_count; ++n)
      if (one != all[n]) (void)one->mesh->add_peer(n, all[n]->mesh->contact());
  all[0]->mesh->on(
      engine_id,
      [](void* self, NodeNumber from, Bytes header, Bytes payload) noexcept {
        static_cast<Recorder*>(self)->script.say(Step::collective, from, header, payload).step(Step::turn);
      },
      &recorder);
  std::vector<std::unique_ptr<Engine>> engines;
  for (NodeNumber n = 1; n < node_count; ++n) {
    engines.push_back(std::make_unique<Engine>(*all[n]->mesh, n, Engine::Options{}));
    (void)engines.back()->begin({1, set}, kind, {0, 1, 2},
                                Encoded(kind == Kind::barrier ? 0 : 5000, std::byte{2}), [](const auto&) {});
  }
  mesh::TimePoint now{std::chrono::hours(1)};
  for (int i = 0; i < 50; ++i) {
    now += std::chrono::microseconds(1);
    for (auto& node : all) node->mesh->progress(now);
    for (auto& engine : engines) engine->progress();
  }
  for (auto& node : all) node->mesh.reset();
  return recorder.script.done();
}

}  // namespace

void add_peers(Decoders& to) {
  Script requests;
  const Encoded body(20, std::byte{3});
  for (const std::uint64_t number : {2, 1, 3}) {
    const auto type = number == 3 ? server::RequestType::report : server::RequestType::card;
    requests.say(
        Step::request, 1,
        base::encode_fixed(server::RpcHeader{.number = number, .type = static_cast<std::uint16_t>(type)}),
        body);
  }
  requests.step(Step::turn).step(Step::reply).step(Step::ask, 2);
  requests.say(Step::request, 1, base::encode_fixed(server::RpcHeader{.number = 1, .is_reply = true}), body);

  Script aborts;
  MessageHeader abort{.signature = {1, 1}, .generation = 1, .blocks = {}, .members = node_count};
  abort.type = MessageHeader::Type::abort;
  abort.why = collectives::Why::of_callers;
  aborts.say(Step::collective, 2, base::encode_fixed(abort)).step(Step::turn).step(Step::begin);
  aborts.out.u8(1);
  to.push_back({"peers",
                {of_members(0, Kind::barrier), of_members(1, Kind::exchange), of_members(3, Kind::exchange),
                 requests.done(), aborts.done()},
                &plays,
                true});
}

}  // namespace weft::fuzz
