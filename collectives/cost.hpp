// SPDX-License-Identifier: BSD-3-Clause
// What a collective of each algorithm takes, in closed form: LogGP's numbers, and the processors that members
// may have to share.
//
// Every member computes the same choice from the same numbers, whatever its processor is: all of this is
// IEEE arithmetic of which each step is rounded (the compiler contracts none), and no function of libm.
// Source: Alexandrov, Ionescu, Schauser, Scheiman, "LogGP", SPAA 1995.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/choice.hpp"

namespace weft::collectives {

/// What messages between members cost. All members of a collective have the same.
struct Costs {
  enum class Source : std::uint8_t { assumed, measured, one_machine };
  Source source = Source::assumed;
  std::uint32_t cores = 0;         ///< that the members share, being on one machine; 0: each has its own
  std::uint32_t latency = 10'000;  ///< ns on the way of a message, beside the work for it
  std::uint32_t message = 2'000;   ///< ns of work for a message, at its sender and again at its receiver
  std::uint32_t wire_kib = 100;    ///< ns on the way, for each KiB
  std::uint32_t work_kib = 1'000;  ///< ns of work for each KiB, at its sender and again at its receiver

  /// Servers that share so many processors, and sleep between messages.
  static Costs on_one_machine(std::uint32_t cores) noexcept;
};
template <class Archive>
constexpr void fields(Archive& archive, Costs& m) {
  archive(m.source, m.cores, m.latency, m.message, m.wire_kib, m.work_kib);
}
inline bool is_valid(const Costs& m) {
  return m.source <= Costs::Source::one_machine;
}
/// "10.0 us on the way, ...", for people.
std::string to_text(const Costs& costs);

/// ns from the call of the last member until the last one has all. n: 1 or more. bytes: of all contributions
/// together, of which the largest has `largest`; 0 and 0: a barrier, or contributions of few bytes. O(log n).
double cost_of(const Choice& choice, std::uint32_t n, std::uint64_t bytes, std::uint64_t largest,
               const Costs& costs) noexcept;

}  // namespace weft::collectives
