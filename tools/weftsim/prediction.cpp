// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftsim/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "simulation/schedules/model.hpp"
#include "tools/channel/launch_order.hpp"
#include "tools/channel/launch_tree.hpp"
#include "tools/weftsim/messages.hpp"
#include "transport/mesh/assemblies.hpp"

namespace weft::weftsim {
namespace {

using collectives::Index;
using collectives::Kind;
using simulation::Phase;

// What the servers send, in bytes, where the content decides. tests/unit/tools/weftsim compares them with
// whole servers.
constexpr std::uint64_t beside_cards = 16;      // of a contribution to a full fence
constexpr std::uint64_t beside_value = 40;      // of a card: one key of five letters
constexpr std::uint64_t part_of_group = 78;     // what a node says of a group of all processes
constexpr std::uint64_t word_of_view = 100;     // about a loss, one operation is open
constexpr Time patience_of_views = 20'000'000;  // core/server/cluster/views.cpp
constexpr std::uint64_t environment_bytes = 4096;
constexpr std::uint64_t read_bytes = 1024;  // of a card, by the first read (core/server/cards/modex.cpp)
constexpr std::uint64_t buffer_bytes = 24;  // of a contribution in the engine, beside its bytes
constexpr std::uint64_t node_bytes = 495;   // of a reached node in the mesh (docs/design/mesh.md)

Time rounded(double ns) {
  return static_cast<Time>(std::llround(ns));
}

class Prediction {
 public:
  explicit Prediction(const Job& job)
      : job_(job),
        costs_(costs_of(job.network, job.ranks() + job.nodes, job.wires_only)),
        node_(job.node),
        rule_(job.collective, simulation::model_of(costs_)) {}

  Operation of(std::string_view name) const {
    if (name == "launch") return launch();
    if (name == "init") return init();
    if (name == "barrier") return barrier();
    if (name == "full_fence") return full_fence();
    if (name == "first_touch") return first_touch();
    if (name == "group") return group();
    if (name == "loss") return loss();
    throw messages::no_operation(name);
  }

 private:
  // ---- parts

  /// Of this machine's processors: nothing where only wires are asked for.
  Time local(const Figure& figure, double times = 1) const {
    return job_.wires_only ? 0 : rounded(figure.value * times);
  }
  void add(Operation& to, const char* what, Time time) const {
    if (time > 0) to.parts.push_back({what, time});
    to.time += time;
  }
  /// All ranks of a node arrive, and the last one tells the server.
  void add_arrival(Operation& to) const {
    if (is_local_shared()) return;
    const auto hand_off = job_.nodes > 1 ? local(node_.hand_off) : 0;
    add(to, "arrival of the node's ranks", local(node_.arrival, job_.ranks_a_node) + hand_off);
  }
  void add_release(Operation& to) const {
    if (is_local_shared()) return;
    add(to, "release of the node's ranks", job_.nodes > 1 ? local(node_.hand_off) : 0);
  }
  /// The collective has it: turns at the cores that all nodes share.
  bool is_local_shared() const { return costs_.server.turn != 0 && job_.nodes > 1; }

  std::vector<Time> begins() const {
    std::vector<Time> out;
    if (job_.skew == 0) return out;
    std::mt19937_64 random(job_.seed);
    for (std::uint32_t node = 0; node < job_.nodes; ++node)
      out.push_back(static_cast<Time>(random() % static_cast<std::uint64_t>(job_.skew + 1)));
    return out;
  }

  /// Adds what a collective of all nodes takes.
  void add_collective(Operation& to, const char* what, const std::vector<Phase>& phases,
                      bool may_lose = true) const {
    for (const auto& phase : phases) {
      const bool is_new = to.algorithm.find(phase.algorithm) == std::string::npos;
      if (is_new) to.algorithm += (to.algorithm.empty() ? "" : ", ") + phase.algorithm;
    }
    std::optional<simulation::LostMember> lost;
    if (job_.lost && may_lose) lost = {job_.lost->node, std::max<Time>(job_.lost->at - to.time, 0)};
    const auto run = simulation::run_collective(job_.nodes, phases, costs_,
                                                {may_lose ? begins() : std::vector<Time>()}, lost);
    if (!run) throw messages::too_large(to.name, to.algorithm, run.error().what);
    take(to, *run);
    add(to, what, run->last);
    if (lost) add_end_by_loss(to, *run, lost->at);
    if (run->largest_message > mesh::Assemblies::Limits{}.most_bytes)
      to.note += fmt::format("a message of {} bytes is more than the servers take ({}): it fails. ",
                             run->largest_message, mesh::Assemblies::Limits{}.most_bytes);
  }

  static void take(Operation& to, const simulation::CollectiveRun& run) {
    to.messages += run.messages;
    to.bytes += run.bytes;
    to.most_messages += run.most_messages;
    to.most_bytes += run.most_bytes;
    to.path = run.path;
    to.path_begun = run.begun;
  }

  void add_end_by_loss(Operation& to, const simulation::CollectiveRun& run, Time lost_at) const {
    for (std::uint32_t node = 0; node < job_.nodes; ++node)
      if (node != job_.lost->node && !run.ended[node]) ++to.waiting;
    if (to.waiting == 0) return;
    // What has ended somewhere has ended well everywhere (docs/decisions/0013-views.md).
    const auto well = job_.nodes - 1 - to.waiting;
    const auto view = loss();
    add(to, "until the loss is seen and agreed on", std::max<Time>(lost_at + view.time - run.last, 0));
    to.note += well > 0 ? fmt::format("{} nodes have ended it before, so it ends well for all. ", well)
                        : fmt::format("it fails for all, as node {} is lost. ", job_.lost->node);
  }

  std::vector<Phase> exchange(std::uint64_t bytes) const {
    return simulation::phases_of(
        {.members = job_.nodes, .kind = Kind::exchange, .bytes = bytes, .rule = rule_});
  }

  Operation named(const char* name) const {
    Operation out;
    out.name = name;
    return out;
  }

  // ---- operations

  /// What all nodes get: the names of all, and the launcher's environment.
  Operation launch() const {
    auto out = named("launch");
    channel::order::Launch order;
    order.nspace = "weft-host-1";
    order.apps.emplace_back().argv = {"./a.out"};
    order.distribution = fmt::format("{};slot@0:{}x{}", job_.nodes, job_.nodes, job_.ranks_a_node);
    order.environment.emplace_back(environment_bytes, 'e');
    auto& addresses = order.node_keys.emplace_back(job::NodeKey{job::NodeKey::address, {}}).values;
    for (std::uint32_t node = 0; node < job_.nodes; ++node) {
      order.hosts.push_back(fmt::format("nid{:06}", node));
      order.slots.push_back(job_.ranks_a_node);
      addresses.push_back(fmt::format("10.{}.{}.{}", node >> 16U, node >> 8U & 255U, node & 255U));
    }
    const auto bytes = channel::encode(order).size();
    add_collective(out, "the message, down a tree",
                   {simulation::broadcast(job_.nodes, channel::LaunchTree::arity, bytes)}, false);
    out.memory = bytes;
    out.note = fmt::format("{} bytes to each node; daemons are there already", bytes);
    return out;
  }

  Operation init() const {
    auto out = named("init");
    add(out, "the map of the job", local(node_.map, static_cast<double>(job_.ranks())));
    add(out, "the node's processes, one after the other", local(node_.init, job_.ranks_a_node));
    out.note =
        "no message between nodes; processes that start at once, on as many cores as there are ranks or two";
    return out;
  }

  Operation barrier() const {
    auto out = named("barrier");
    add_arrival(out);
    if (job_.nodes > 1)
      add_collective(out, "messages of the servers",
                     simulation::phases_of({.members = job_.nodes, .rule = rule_}));
    add_release(out);
    out.memory = node_bytes * 2 * out.most_messages;
    return out;
  }

  Operation full_fence() const {
    auto out = named("full_fence");
    const auto of_a_node = (job_.card_bytes + beside_value) * job_.ranks_a_node + beside_cards;
    const auto others = job_.nodes - 1;
    add_arrival(out);
    if (job_.nodes > 1) {
      add_collective(out, "messages of the servers", exchange(of_a_node));
      if (out.waiting == 0)
        add(out, "the cards into the segment",
            local(node_.card, static_cast<double>(others) * job_.ranks_a_node));
    }
    add_release(out);
    // Of what the processes give, without keys and headers.
    const auto given = static_cast<double>(job_.card_bytes) * job_.ranks_a_node * others;
    out.line_rate = rounded(costs_.message.gap_per_byte * given);
    const auto cards = job_.ranks() * kept_bytes();
    const auto in_work = job_.nodes * (of_a_node + buffer_bytes) * 2;
    out.memory = cards + in_work;
    out.note += fmt::format("{} bytes of cards stay", cards);
    return out;
  }

  /// A barrier, then each rank gets the cards of peers of other nodes, one after the other.
  Operation first_touch() const {
    auto out = barrier();
    out.name = "first_touch";
    if (job_.nodes == 1 || job_.touched == 0) return out;
    const auto one = touch();
    // One server reads for all ranks of its node.
    const auto gets = static_cast<double>(job_.ranks_a_node) * job_.touched;
    const auto bytes = job_.card_bytes + mesh::Envelope::bytes;
    const auto of_server = static_cast<double>(costs_.server.of(2, bytes));
    const auto on_wire = costs_.message.gap_per_byte * read_bytes;
    const auto in_turn = rounded((gets - 1) * std::max(of_server, on_wire));
    add(out, "gets of first cards", std::max(one * job_.touched, in_turn + one));
    const auto all_gets = job_.ranks() * job_.touched;
    const bool is_read = job_.network.read.value > 0;
    out.messages += is_read ? 0 : 2 * all_gets;
    out.bytes += all_gets * (is_read ? read_bytes : bytes + mesh::Envelope::bytes);
    out.memory += static_cast<std::uint64_t>(gets) * kept_bytes();
    out.note += fmt::format("one get alone: {} ns. ", one);
    return out;
  }

  /// Of a card of another node.
  std::uint64_t kept_bytes() const {
    return job_.card_bytes + beside_value + static_cast<std::uint64_t>(node_.card_bytes.value);
  }

  /// One Get of a card of another node, alone.
  Time touch() const {
    const auto bytes = job_.card_bytes + mesh::Envelope::bytes;
    const auto& message = costs_.message;
    const auto there_and_back = 2 * (2 * message.overhead + message.latency) +
                                2 * costs_.server.of(2, bytes) +
                                rounded(message.gap_per_byte * static_cast<double>(bytes));
    const auto read = rounded(job_.network.read.value + message.gap_per_byte * read_bytes) +
                      costs_.server.of(1, job_.card_bytes);
    return 2 * local(node_.hand_off) + (job_.network.read.value > 0 ? read : there_and_back);
  }

  Operation group() const {
    auto out = named("group");
    add_arrival(out);
    if (job_.nodes > 1) add_collective(out, "messages of the servers", exchange(part_of_group));
    add_release(out);
    out.memory = job_.nodes * (part_of_group + buffer_bytes) * 2;
    out.note += "of all ranks, which have met at a board before";
    return out;
  }

  /// The lowest node that is left tells all others of the loss, asks each what is open there, and says what
  /// it has decided.
  Operation loss() const {
    auto out = named("loss");
    out.algorithm = "star";
    if (job_.nodes < 3) return out;
    const auto n = job_.nodes - 1;  // that are left
    const auto schedule = [n](Index me) {
      const auto word = [](std::uint32_t peer, std::uint32_t which) {
        return collectives::PeerBlocks{Index(peer), {Index(0), which}};
      };
      if (number(me) != 0)
        return collectives::Schedule{{.sends = {}, .receives = {word(0, 0), word(0, 1)}},
                                     {.sends = {word(0, 1)}, .receives = {word(0, 2)}},
                                     {.sends = {word(0, 2)}, .receives = {}}};
      collectives::Step asks, decides;
      for (std::uint32_t other = 1; other < n; ++other) {
        asks.sends.push_back(word(other, 0));
        asks.sends.push_back(word(other, 1));
        asks.receives.push_back(word(other, 1));
        decides.sends.push_back(word(other, 2));
        decides.receives.push_back(word(other, 2));
      }
      return collectives::Schedule{asks, decides};
    };
    const auto run = simulation::run_collective(n, {{"star", schedule, false, word_of_view, 0}}, costs_);
    if (!run) throw messages::too_large(out.name, out.algorithm, run.error().what);
    take(out, *run);
    add(out, "another server sees the end of its connection", costs_.message.latency);
    add(out, "that server tells the lowest one, where this has not seen it", patience_of_views);
    add(out, "the servers agree", run->last);
    out.memory = n * word_of_view;
    out.note =
        "a daemon that was killed; one that hangs, or a host without power, is lost after WEFT_LOST_AFTER "
        "(30 s)";
    return out;
  }

  const Job& job_;
  const simulation::Costs costs_;
  const NodeFigures& node_;
  const collectives::Rule rule_;
};

}  // namespace

Operation predict(const Job& job, std::string_view name) {
  return Prediction(job).of(name);
}

std::vector<Operation> predict(const Job& job, const std::vector<std::string>& names) {
  std::vector<Operation> out;
  for (const auto& name : names) out.push_back(predict(job, name));
  return out;
}

std::uint64_t memory_of_job(const Job& job) {
  const auto& node = job.node;
  return static_cast<std::uint64_t>(node.server_bytes.value +
                                    node.map_bytes.value * static_cast<double>(job.ranks()));
}

}  // namespace weft::weftsim
