// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftsim/servers.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>

#include "simulation/schedules/model.hpp"
#include "simulation/world.hpp"
#include "tools/weftsim/messages.hpp"

namespace weft::weftsim {
namespace {

using simulation::Client;
using simulation::World;
using std::chrono::nanoseconds;

using Rank = std::uint32_t;
/// Begins a call.
using Act = std::function<Client::Call(Client&, Rank)>;

constexpr nanoseconds longest = std::chrono::seconds(120);  // of virtual time, for one operation
constexpr std::uint64_t descriptors_of_server = 12, descriptors_of_rank = 2;

World::Shape shape_of(const Job& job) {
  const auto costs = costs_of(job.network, job.ranks() + job.nodes, job.wires_only);
  auto message = costs.message;
  message.overhead += costs.server.message;
  message.latency += costs.server.turn;
  message.gap = std::max(message.gap, message.overhead);
  auto get = costs.message;
  get.latency = std::max<Time>(static_cast<Time>(job.network.read.value) / 2, get.latency);
  get.overhead = 0;
  World::Shape out;
  out.nodes = job.nodes;
  out.ranks_a_node = job.ranks_a_node;
  out.network.message = message;
  out.network.get = get;
  out.network.serial_nics = true;
  out.network.max_message = costs.max_message;
  out.seed = job.seed;
  out.costs = simulation::model_of(costs);
  return out;
}

/// Each server and each process has some; the limit of this process is raised as far as it may be.
void make_room_for(const Job& job) {
  if (job.nodes > most_servers) throw messages::too_many_servers(job.nodes, most_servers);
  if (job.card_bytes > most_card_of_servers)
    throw messages::usage(fmt::format("--servers takes --card up to {} bytes", most_card_of_servers));
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const auto needed = job.nodes * descriptors_of_server + job.ranks() * descriptors_of_rank + 64;
  if (needed > limit.rlim_cur)
    throw messages::usage(
        fmt::format("--servers: {} servers and {} processes take {} descriptors, and {} are allowed "
                    "(ulimit -Hn)",
                    job.nodes, job.ranks(), needed, limit.rlim_cur));
}

std::uint64_t resident_bytes() {
  unsigned long all = 0, resident = 0;
  if (auto* const file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lu %lu", &all, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return std::uint64_t{resident} * 4096;
}

class Servers {
 public:
  explicit Servers(const Job& job) : job_(job), world_(shape_of(job)) {
    // The first fence tells where cards lie, and connects.
    run("", {barrier()});
    run("", {full_fence()});
  }

  Operation of(std::string_view name) {
    if (name == "barrier") return run("barrier", {barrier()});
    if (name == "full_fence") {
      commit("fence");
      return run("full_fence", {full_fence()});
    }
    if (name == "first_touch") return first_touch();
    if (name == "group") return group();
    return loss();
  }

 private:
  static Act barrier() {
    return [](Client& client, Rank) { return client.fence_job(false); };
  }
  static Act full_fence() {
    return [](Client& client, Rank) { return client.fence_job(true); };
  }

  Operation first_touch() {
    commit("touch");
    std::vector<Act> acts{barrier()};
    for (std::uint32_t peer = 1; peer <= job_.touched; ++peer) {
      const auto moved = peer * job_.ranks_a_node;
      acts.push_back([this, moved](Client& client, Rank rank) {
        return client.get(world_.places().proc_of((rank + moved) % world_.ranks()), "touch");
      });
    }
    return run("first_touch", acts);
  }

  /// The second construct of the same members, as the first one is by message.
  Operation group() {
    server::Procs all;
    for (Rank rank = 0; rank < world_.ranks(); ++rank) all.push_back(world_.places().proc_of(rank));
    const auto construct = [all](const char* name) -> Act {
      return [all, name](Client& client, Rank) { return client.construct(name, all, {}); };
    };
    run("", {construct("first")});
    return run("group", {construct("second")});
  }

  /// The others wait in a barrier for a node that is lost.
  Operation loss() {
    const auto last = job_.nodes - 1;
    Operation out = run("loss", {barrier()}, Loss{last, 0});
    out.algorithm = "star";
    return out;
  }

  void commit(const char* key) {
    std::vector<std::byte> value(job_.card_bytes);  // by chance: it does not become smaller
    std::mt19937_64 random(job_.seed);
    for (Rank rank = 0; rank < world_.ranks(); ++rank)
      if (!world_.is_gone(rank)) {
        for (auto& byte : value) byte = static_cast<std::byte>(random());
        world_.client(rank).commit(key, value);
        world_.wake(world_.node_of(rank));
      }
    settle();
  }

  void settle() {
    const auto until = world_.now() + std::chrono::microseconds(100);
    while (world_.step(until)) {
    }
  }

  struct Script {
    std::size_t next = 0;
    bool is_open = false;
  };
  /// All processes do the acts, one after the other.
  Operation run(const char* name, const std::vector<Act>& acts, std::optional<Loss> lost = {}) {
    const bool is_measured = *name != '\0';
    if (!lost && is_measured) lost = job_.lost;
    acts_ = &acts;
    scripts_.assign(world_.ranks(), {});
    failed_ = 0;
    const auto memory = resident_bytes();
    const auto before = sent();
    const auto zero = world_.now();
    last_ = zero;
    struct Beginning {
      Time at;
      simulation::NodeNumber node;
    };
    std::vector<Beginning> beginnings;
    std::mt19937_64 random(job_.seed);
    for (simulation::NodeNumber node = 0; node < job_.nodes; ++node)
      if (!(lost && lost->node == node && lost->at == 0))
        beginnings.push_back({is_measured && job_.skew > 0
                                  ? static_cast<Time>(random() % static_cast<std::uint64_t>(job_.skew + 1))
                                  : 0,
                              node});
    std::stable_sort(beginnings.begin(), beginnings.end(),
                     [](const Beginning& a, const Beginning& b) { return a.at < b.at; });
    const auto pass_to = [&](Time at) {
      while (world_.step(zero + nanoseconds(at))) look();
      look();
    };
    bool is_to_lose = lost.has_value();
    for (const auto& each : beginnings) {
      if (is_to_lose && lost->at <= each.at) {
        pass_to(lost->at);
        world_.lose(lost->node);
        is_to_lose = false;
      }
      if (each.at > 0) pass_to(each.at);
      begin(each.node);
    }
    if (is_to_lose) {
      pass_to(lost->at);
      world_.lose(lost->node);
    }
    while (is_any_open() && world_.step(zero + longest)) look();
    Operation out;
    out.name = name;
    out.time = (last_ - zero).count();
    const auto after = sent();
    for (std::size_t node = 0; node < after.size(); ++node) {
      const auto messages = after[node].first - before[node].first,
                 bytes = after[node].second - before[node].second;
      out.messages += messages;
      out.bytes += bytes;
      out.most_messages = std::max(out.most_messages, messages);
      out.most_bytes = std::max(out.most_bytes, bytes);
    }
    const auto grown = resident_bytes();
    out.memory = grown > memory ? (grown - memory) / job_.nodes : 0;
    out.algorithm = "whole servers";
    if (is_any_open()) out.note += "not all calls have ended after 120 s. ";
    if (failed_ > 0) out.note += fmt::format("{} calls have failed. ", failed_);
    settle();
    return out;
  }

  void begin(simulation::NodeNumber node) {
    for (Rank rank = 0; rank < world_.ranks(); ++rank)
      if (world_.node_of(rank) == node && !world_.is_gone(rank)) go_on(rank);
  }
  void go_on(Rank rank) {
    auto& script = scripts_[rank];
    script.is_open = script.next < acts_->size();
    if (!script.is_open) {
      last_ = world_.now();
      return;
    }
    static_cast<void>((*acts_)[script.next++](world_.client(rank), rank));
    world_.wake(world_.node_of(rank));
  }
  void look() {
    for (Rank rank = 0; rank < world_.ranks(); ++rank) {
      if (world_.is_gone(rank)) {
        scripts_[rank].is_open = false;
        continue;
      }
      for (const auto& word : world_.client(rank).take_words()) {
        const auto* const ended = std::get_if<Client::Ended>(&word);
        if (ended == nullptr) continue;
        failed_ += ended->status == PMIX_SUCCESS ? 0 : 1;
        go_on(rank);
      }
    }
  }
  bool is_any_open() const {
    return std::any_of(scripts_.begin(), scripts_.end(), [](const Script& each) { return each.is_open; });
  }

  /// Messages and bytes of each node's mesh; those of a lost node count no more.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> sent() {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> out(job_.nodes);
    for (simulation::NodeNumber node = 0; node < job_.nodes; ++node)
      if (auto* const there = world_.node(node)) {
        const auto& counters = there->cluster().fabric().mesh().counters();
        out[node] = {counters.messages_sent, counters.bytes_sent};
        last_sent_.resize(job_.nodes);
        last_sent_[node] = out[node];
      } else {
        out[node] = last_sent_[node];
      }
    return out;
  }

  const Job& job_;
  World world_;
  const std::vector<Act>* acts_ = nullptr;
  std::vector<Script> scripts_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> last_sent_;
  std::uint64_t failed_ = 0;
  nanoseconds last_{};
};

}  // namespace

std::vector<Operation> run_servers(const Job& job, const std::vector<std::string>& names) {
  make_room_for(job);
  ::setenv("WEFT_LOG", "off", 0);  // a line of each server for each loss says nothing here
  std::vector<Operation> out;
  for (const auto& name : names) {
    if (name == "launch" || name == "init") continue;
    // A cluster of its own for each: none meets what another has left.
    Servers servers(job);
    out.push_back(servers.of(name));
  }
  return out;
}

}  // namespace weft::weftsim
