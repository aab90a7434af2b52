// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftsim/networks.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace weft::weftsim {
namespace {

constexpr std::string_view sealed_message =
    "measured: 0.75 us a message for both ends (weft_micro --benchmark_filter=mesh_message; "
    "docs/design/mesh.md)";
constexpr std::string_view sealed_byte =
    "measured: XChaCha20-Poly1305 at 1 GB/s an end (weft_micro --benchmark_filter=mesh_message; "
    "docs/design/mesh.md)";
constexpr Figure one_processor_each{0, "assumed: a processor of its own for the server of a node"};

constexpr std::string_view fitted =
    "measured: fitted from 2 and 4 hosts (scripts/compare_prediction); runs differ "
    "(docs/scale/simulation.md)";
constexpr Figure no_turns{0, "assumed: as the processor"};

constexpr std::array table{
    Network{.name = "slingshot",
            .title = "Slingshot 11, 200 Gb/s",
            .latency = {1500,
                        "assumed: with the overheads the 2 us one way of MPI that users report; De Sensi et "
                        "al., SC'20, have 350 ns a switch; no LogGP table is published"},
            .overhead = {250, "assumed: as the latency"},
            .gap = {250, "assumed: as the overhead, one thread sends"},
            .gap_per_byte = {0.04, "HPE Slingshot: 200 Gb/s a port"},
            .read = {4000, "assumed: two ways of a message"},
            .server_message = {375, sealed_message},
            .server_byte = {1.0, sealed_byte},
            .cores = one_processor_each,
            .turn = no_turns},
    Network{.name = "ndr",
            .title = "InfiniBand NDR, 400 Gb/s",
            .latency = {630,
                        "linux-rdma/perftest issue 131 (2022): an inline write takes 0.93 us, overheads "
                        "included; the card's generation is not stated"},
            .overhead = {150, "assumed: its part of these 0.93 us"},
            .gap = {150, "assumed: as the overhead, one thread sends"},
            .gap_per_byte = {0.02, "NVIDIA ConnectX-7: 400 Gb/s a port"},
            .read = {1910, "linux-rdma/perftest issue 131 (2022): a read over one hop"},
            .server_message = {375, sealed_message},
            .server_byte = {1.0, sealed_byte},
            .cores = one_processor_each,
            .turn = no_turns},
    Network{.name = "efa",
            .title = "EFA, 100 Gb/s",
            .latency = {14000, "assumed: in the middle of the 10 to 20 us one way that users report"},
            .overhead = {500, "assumed: a provider in user space"},
            .gap = {500, "assumed: as the overhead, one thread sends"},
            .gap_per_byte = {0.08, "AWS: 100 Gb/s an instance of type hpc6a"},
            .read = {30000, "assumed: two ways of a message"},
            .server_message = {375, sealed_message},
            .server_byte = {1.0, sealed_byte},
            .cores = one_processor_each,
            .turn = no_turns},
    Network{.name = "10gbe",
            .title = "10 Gb/s Ethernet, TCP of the kernel",
            .latency = {10000, "assumed: two interrupts and a switch"},
            .overhead = {5000, "assumed: a system call and the kernel's TCP at each end"},
            .gap = {5000, "assumed: as the overhead, one thread sends"},
            .gap_per_byte = {0.8, "IEEE 802.3ae: 10 Gb/s"},
            .read = {0, "transport tcp has no RDMA: the other server is asked"},
            .server_message = {800, "measured: a TLS record of 1 KiB at each end (docs/fabrics.md)"},
            .server_byte = {0.4, "measured: AES-256-GCM at 2.1 to 2.9 GB/s (docs/fabrics.md)"},
            .cores = one_processor_each,
            .turn = no_turns},
    Network{.name = "here",
            .title = "pretend hosts on one machine of two cores (scripts/hosts), transport tcp",
            .latency = {5000, "measured: 4.7 us one way over a veth, both ends looking"},
            .overhead = {0, "assumed: all of it is the server's processor"},
            .gap = {0, "assumed: as the overhead"},
            .gap_per_byte = {0, "assumed: the copy is the processor's"},
            .read = {0, "transport tcp has no RDMA: the other server is asked"},
            .server_message = {0, fitted},
            .server_byte = {2.0, fitted},
            .cores = {2, "the machine has two, which all hosts share"},
            .turn = {39000, fitted}},
};

constexpr NodeFigures every_node{
    .arrival = {22, "measured: 1.4 us for 64 arrivals (weft_micro --benchmark_filter=board_round)"},
    .hand_off = {1000, "assumed: a cache line from core to core and a round of the looking side"},
    .card = {100,
             "measured: 20 to 50 ns to read it and 43 to append it (weft_micro "
             "--benchmark_filter='contribution_read|log_append')"},
    .map = {33, "measured: 42 ms for 10,000 nodes of 128 ranks (docs/design/segment.md)"},
    .init = {62000, "measured: the slowest of 64 has ended PMIx_Init after 4.0 ms, on two cores"},
    .map_bytes = {28.2, "measured: weft_micro --benchmark_filter=register_map"},
    .card_bytes = {16, "docs/design/segment.md"},
    .server_bytes = {8 << 20, "measured: a daemon before any card"},
};

/// Those that look for something to do take turns at the cores.
double turn_of(const Network& network, std::uint64_t processes) {
  const auto cores = network.cores.value, all = static_cast<double>(processes);
  return cores == 0 || all <= cores ? 0 : network.turn.value * (all - cores) / cores;
}

}  // namespace

std::span<const Network> networks() noexcept {
  return table;
}

const Network* network_of(std::string_view name) noexcept {
  const auto found =
      std::find_if(table.begin(), table.end(), [name](const Network& each) { return each.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const NodeFigures& node_figures() noexcept {
  return every_node;
}

simulation::Costs costs_of(const Network& network, std::uint64_t processes, bool wires_only) {
  const auto time = [](const Figure& figure) { return static_cast<Time>(std::llround(figure.value)); };
  simulation::Costs out;
  out.message = {time(network.latency), time(network.overhead), time(network.gap),
                 network.gap_per_byte.value};
  if (!wires_only)
    out.server = {.message = time(network.server_message),
                  .byte = network.server_byte.value,
                  .turn = static_cast<Time>(std::llround(turn_of(network, processes))),
                  .cores = static_cast<std::uint32_t>(network.cores.value)};
  return out;
}

std::vector<NamedFigure> figures_of(Network& of) {
  return {{"latency", "latency L", "ns", &of.latency},
          {"overhead", "overhead o, at each end", "ns", &of.overhead},
          {"gap", "gap g between messages", "ns", &of.gap},
          {"gap_per_byte", "gap G of a byte", "ns", &of.gap_per_byte},
          {"read", "RDMA read of a card", "ns", &of.read},
          {"server_message", "server, a message, an end", "ns", &of.server_message},
          {"server_byte", "server, a byte, an end", "ns", &of.server_byte},
          {"cores", "cores that all nodes share", "", &of.cores},
          {"turn", "turn of a process at these", "ns", &of.turn}};
}

std::vector<NamedFigure> figures_of(NodeFigures& of) {
  return {{"arrival", "arrival of a rank", "ns", &of.arrival},
          {"hand_off", "hand-off, rank and server", "ns", &of.hand_off},
          {"card", "a card into the segment", "ns", &of.card},
          {"map", "map, a rank of the job", "ns", &of.map},
          {"init", "PMIx_Init of one process", "ns", &of.init},
          {"map_bytes", "map, a rank of the job", "bytes", &of.map_bytes},
          {"card_bytes", "card that is kept, beside it", "bytes", &of.card_bytes},
          {"server_bytes", "server without a job", "bytes", &of.server_bytes}};
}

}  // namespace weft::weftsim
