// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/schedules/phase.hpp"

#include <algorithm>

#include "collectives/engine.hpp"
#include "collectives/parts.hpp"

namespace weft::simulation {
namespace {

using collectives::Algorithm;
using collectives::Choice;
using collectives::Index;
using collectives::Schedule;

constexpr std::uint64_t length_bytes = sizeof(std::uint64_t);  // of a contribution, in front of all of them

Phase phase_of(std::uint32_t n, const Choice& choice, std::uint64_t block_bytes) {
  const bool is_rotation = choice.algorithm == Algorithm::dissemination ||
                           choice.algorithm == Algorithm::bruck || choice.algorithm == Algorithm::ring;
  return {collectives::to_text(choice), [n, choice](Index me) { return schedule_for(choice, n, me); },
          is_rotation, base::fixed_bytes<collectives::MessageHeader>, block_bytes};
}

}  // namespace

std::vector<Phase> phases_of(const Collective& c) {
  if (c.kind == collectives::Kind::barrier) return {phase_of(c.members, c.rule.barrier(c.members), 0)};
  const auto most_eager = collectives::Engine::Options{.most_in_all = c.most_in_all}.most_eager(c.members);
  const bool is_eager = c.bytes <= most_eager;
  std::vector<Phase> out{phase_of(c.members, c.rule.exchange_up_to(c.members, most_eager),
                                  length_bytes + (is_eager ? c.bytes : 0))};
  if (!is_eager) {
    const auto bytes = c.bytes * c.members;
    out.push_back(phase_of(c.members, c.rule.exchange(c.members, bytes, c.bytes), length_bytes + c.bytes));
    // Contributions of one length are divided alike everywhere, so a rotation stays one.
    if (const auto most = collectives::Engine::Options{}.most_in_a_message; bytes > most)
      out.back().schedule = [whole = std::move(out.back().schedule), most,
                             lengths = std::vector<std::uint64_t>(c.members, c.bytes)](Index me) {
        return collectives::in_parts(whole(me), lengths, most);
      };
  }
  return out;
}

Phase broadcast(std::uint32_t members, std::uint32_t arity, std::uint64_t bytes) {
  const auto schedule = [members, arity](Index me) {
    Schedule out;
    const std::uint64_t at = collectives::number(me), first = at * arity + 1;
    if (at != 0) {
      const auto parent = Index(static_cast<std::uint32_t>((at - 1) / arity));
      out.push_back({.sends = {}, .receives = {{parent, {}}}});
    }
    collectives::Step on;
    for (std::uint64_t child = first; child < std::min<std::uint64_t>(first + arity, members); ++child)
      on.sends.push_back({Index(static_cast<std::uint32_t>(child)), {}});
    if (!on.sends.empty()) out.push_back(std::move(on));
    return out;
  };
  return {"tree:" + std::to_string(arity), schedule, false, bytes, 0};
}

}  // namespace weft::simulation
