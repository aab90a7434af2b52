// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace weft::collectives {
namespace {

/// What is under way while the last member waits, and what all members do.
struct Sum {
  double path = 0;  ///< ns
  double work = 0;  ///< ns of processors
};

/// Longer messages go in pieces, of which one is on the way while the next is worked at.
constexpr double piece = 65536;

class Hops {
 public:
  explicit Hops(const Costs& costs) noexcept
      : latency_(costs.latency),
        message_(costs.message),
        wire_byte_(costs.wire_kib / 1024.0),
        work_byte_(costs.work_kib / 1024.0) {}

  /// A message of so many bytes, while each member sends one and receives one.
  double one(double bytes) const noexcept { return until_last(1, bytes, 2 * work_byte_); }
  /// Several of one member at once, or to one, until the last has come and been worked at.
  double several(double messages, double bytes) const noexcept {
    return until_last(messages, bytes, work_byte_);
  }
  /// Short ones: each member sends and receives so many.
  double at_once(double messages) const noexcept {
    return std::max(several(messages, 0), 2 * messages * message_);
  }
  /// The work of both ends of all messages.
  double all(double messages, double bytes) const noexcept {
    return 2 * (messages * message_ + bytes * work_byte_);
  }

 private:
  /// work_byte: of the one that works most.
  double until_last(double messages, double bytes, double work_byte) const noexcept {
    const auto first = std::min(bytes, piece), rest = messages * bytes - first;
    const auto a_byte = std::max(work_byte, wire_byte_);
    return latency_ + (messages + 1) * message_ + (wire_byte_ + 2 * work_byte_) * first + a_byte * rest;
  }

  double latency_, message_, wire_byte_, work_byte_;
};

double rounded_up(double a, double b) noexcept {
  const auto whole = static_cast<double>(static_cast<std::uint64_t>(a / b));
  return whole * b < a ? whole + 1 : whole;
}

Sum of_dissemination(double ports, double n, const Hops& hops) noexcept {
  Sum out;
  for (double reach = 1; reach < n; reach *= ports + 1) {
    const auto sends = std::min(ports, rounded_up(n, reach) - 1);
    out.path += hops.at_once(sends);
    out.work += hops.all(n * sends, 0);
  }
  return out;
}

/// In each round a message has the largest block in it.
Sum of_bruck(double n, double average, double largest, const Hops& hops) noexcept {
  Sum out;
  for (double distance = 1; distance < n; distance *= 2) {
    const auto blocks = std::min(distance, n - distance);
    out.path += hops.one((blocks - 1) * average + largest);
    out.work += hops.all(n, n * blocks * average);
  }
  return out;
}

Sum of_recursive_doubling(std::uint32_t n, double average, double largest, const Hops& hops) noexcept {
  const double players = std::bit_floor(n), rest = n - players;
  Sum out;
  if (rest > 0) {
    out.path += hops.one(largest) + hops.one((n - 1) * average);
    out.work += hops.all(2 * rest, rest * n * average);
  }
  const auto of_player = average * n / players;
  for (double distance = 1; distance < players; distance *= 2) {
    out.path += hops.one(distance * of_player + largest - average);
    out.work += hops.all(players, players * distance * of_player);
  }
  return out;
}

/// The largest block goes all the way around.
Sum of_ring(double n, double average, double largest, const Hops& hops) noexcept {
  return {(n - 1) * hops.one(largest), hops.all(n * (n - 1), n * (n - 1) * average)};
}

/// Up: each child of a member sends what its subtree has. Down: what the subtree lacks, which is nearly all.
Sum of_tree(double arity, double n, double average, double largest, const Hops& hops) noexcept {
  Sum out;
  double below = n - 1, parents = 1;  // of a member of that level: those under it; members of the level
  while (below >= 1) {
    const auto children = std::min(arity, below), subtree = rounded_up(below, children);
    const auto up = (subtree - 1) * average + largest, down = (n - subtree) * average;
    out.path += hops.several(children, up) + hops.several(children, down);
    out.work += hops.all(2 * parents * children, parents * children * n * average);
    parents *= children;
    below = subtree - 1;
  }
  return out;
}

Sum sum_of(const Choice& choice, std::uint32_t n, double average, double largest, const Hops& hops) noexcept {
  switch (choice.algorithm) {
    case Algorithm::dissemination:
      return of_dissemination(choice.width, n, hops);
    case Algorithm::bruck:
      return of_bruck(n, average, largest, hops);
    case Algorithm::recursive_doubling:
      return of_recursive_doubling(n, average, largest, hops);
    case Algorithm::ring:
      return of_ring(n, average, largest, hops);
    case Algorithm::tree:
      return of_tree(choice.width, n, average, largest, hops);
  }
  return {};
}

}  // namespace

Costs Costs::on_one_machine(std::uint32_t cores) noexcept {
  Costs out;
  out.source = Source::one_machine;
  out.message = 20'000;  // a server that sleeps is woken for it
  out.wire_kib = 0;
  out.work_kib = 600;
  out.cores = std::max(cores, 1u);
  return out;
}

std::string to_text(const Costs& costs) {
  constexpr const char* sources[] = {"assumed", "measured between two machines", "of servers on one machine"};
  const auto shared =
      costs.cores == 0 ? std::string() : fmt::format(", {} processors for all servers", costs.cores);
  return fmt::format(
      "{:.1f} us on the way and {:.1f} us of work at each end of a message, "
      "{:.2f} and {:.2f} ns a byte{} ({})",
      costs.latency / 1e3, costs.message / 1e3, costs.wire_kib / 1024.0, costs.work_kib / 1024.0, shared,
      sources[static_cast<std::size_t>(costs.source)]);
}

double cost_of(const Choice& choice, std::uint32_t n, std::uint64_t bytes, std::uint64_t largest,
               const Costs& costs) noexcept {
  const auto average = static_cast<double>(bytes) / n;
  const auto most = std::max(static_cast<double>(largest), average);
  const auto sum = sum_of(choice, n, average, most, Hops(costs));
  return costs.cores == 0 ? sum.path : std::max(sum.path, sum.work / costs.cores);
}

}  // namespace weft::collectives
