// SPDX-License-Identifier: BSD-3-Clause
// The networks that weftsim knows, and what a server and its node cost: each number with where it is from.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "simulation/schedules/run.hpp"

namespace weft::weftsim {

using sim::Time;

/// source: a publication or page, "measured: " and how, or "assumed: " and why.
struct Figure {
  double value;
  std::string_view source;
};

struct Network {
  std::string_view name, title;
  Figure latency, overhead, gap;       ///< ns; a short message takes overhead + latency + overhead
  Figure gap_per_byte;                 ///< ns
  Figure read;                         ///< ns of an RDMA read of a card; 0: the other server is asked
  Figure server_message, server_byte;  ///< ns of a server's processor for a message and a byte, at each end
  Figure cores;                        ///< that the servers of all nodes share; 0: each has its own
  Figure turn;                         ///< ns that a process which looks for work keeps one of these cores
};

/// What a node costs by itself, on every network.
struct NodeFigures {
  Figure arrival;       ///< ns: a rank arrives at the board of its node
  Figure hand_off;      ///< ns: from a rank to its server or back, both of them looking
  Figure card;          ///< ns: a card of another node becomes readable
  Figure map;           ///< ns a rank of the job: its map, when the job is registered
  Figure init;          ///< ns: the server lets one process in
  Figure map_bytes;     ///< a rank of the job
  Figure card_bytes;    ///< beside those of a card that is kept
  Figure server_bytes;  ///< of a daemon without a job
};

std::span<const Network> networks() noexcept;
/// Null: there is none of that name.
const Network* network_of(std::string_view name) noexcept;
const NodeFigures& node_figures() noexcept;

/// processes: of all nodes, servers and ranks. wires_only: no processor takes any time.
simulation::Costs costs_of(const Network& network, std::uint64_t processes, bool wires_only);

/// One of the figures by the name that it has on the command line; all of them: figures_of().
struct NamedFigure {
  std::string_view name, what, unit;
  Figure* figure;
};
std::vector<NamedFigure> figures_of(Network& network);
std::vector<NamedFigure> figures_of(NodeFigures& node);

}  // namespace weft::weftsim
