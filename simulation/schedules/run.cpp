// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/schedules/run.hpp"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "simulation/schedules/path.hpp"
#include "transport/mesh/assemblies.hpp"
#include "transport/mesh/envelope.hpp"

namespace weft::simulation {
namespace {

using sim::Time;

/// Of a message, one by one: 16 MiB.
constexpr std::uint64_t most_pieces = 256;
/// Of the receives of a step, from first to last.
constexpr std::uint32_t most_to_search = 32;

/// A message with its envelope, as the mesh cuts it.
struct Pieces {
  std::uint64_t count = 1, whole = 0;  ///< bytes of each but the last
  std::uint64_t last = 0;

  Pieces(std::uint64_t bytes, std::size_t max_message) {
    constexpr auto header = base::fixed_bytes<collectives::MessageHeader>;
    const auto own = mesh::Envelope::bytes;
    last = own + bytes;
    if (last <= max_message) return;
    const auto in_front = own + base::fixed_bytes<mesh::Piece> + header;
    const auto room = max_message - in_front, payload = bytes - std::min<std::uint64_t>(bytes, header);
    count = (payload + room - 1) / room;
    whole = max_message;
    last = in_front + payload - (count - 1) * room;
  }
  std::uint64_t bytes() const noexcept { return (count - 1) * whole + last; }
};

class Runner {
 public:
  Runner(const StepTable& table, const Costs& costs, const Late& late, const std::optional<LostMember>& lost)
      : table_(table),
        costs_(costs),
        lost_(lost),
        wires_(costs.serial_nics),
        processors_(costs.server, table.members()),
        members_(table.members()),
        releases_(table),
        begins_(late.begins) {
    begins_.resize(members_.size());
    for (Member member = 0; member < members_.size(); ++member) wires_.add_node();
    for (Member member = 0; member < members_.size(); ++member)
      push({begins_[member], 0, Event::Kind::begin, member});
  }

  CollectiveRun run() {
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      if (!is_lost(event.to, event.at)) handle(event);
    }
    return summary();
  }

 private:
  struct Event {
    enum class Kind : std::uint8_t { begin, prepared, arrived, handled };
    Time at;
    std::uint64_t order;
    Kind kind;
    Member to;
    Member from = 0;
    StepNumber from_step = 0;
    std::uint32_t which = 0;  ///< of the sends of that step
    Time first_piece = 0;     ///< when it was here
    bool operator>(const Event& other) const noexcept {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  struct State {
    bool has_begun = false;
    StepNumber step = 0;
    std::uint32_t missing = 0;        ///< receives of the step
    std::vector<StepNumber> early{};  ///< steps of which a receive has come
    std::optional<Time> ended{};
    std::uint64_t messages = 0, bytes = 0;
  };

  void push(Event event) {
    event.order = next_order_++;
    events_.push(event);
  }
  bool is_lost(Member member, Time at) const { return lost_ && lost_->member == member && at >= lost_->at; }

  void handle(const Event& event) {
    switch (event.kind) {
      case Event::Kind::begin:
        return prepare(event);
      case Event::Kind::prepared:
        members_[event.to].has_begun = true;
        return go_on(event.to);
      case Event::Kind::arrived:
        return costs_.server.is_free() ? take(event) : occupy(event);
      case Event::Kind::handled:
        return take(event);
    }
  }

  void prepare(Event event) {
    event.kind = Event::Kind::prepared;
    if (costs_.server.turn == 0) return handle(event);
    event.at = now_ + costs_.server.turn;
    push(event);
  }

  /// The processor opens piece after piece, as they come.
  void occupy(Event event) {
    const Pieces pieces(table_.send(event.from, event.from_step, event.which).bytes, costs_.max_message);
    const auto length = costs_.server.of(pieces.count, pieces.bytes());
    const auto turn = costs_.server.turn;
    const auto ends = processors_.work(event.to, event.first_piece + turn, length);
    event.at = std::max(ends, event.at + turn + costs_.server.of(1, pieces.last));
    event.kind = Event::Kind::handled;
    push(event);
  }

  void take(const Event& event) {
    State& state = members_[event.to];
    const auto step = step_of(event);
    if (!state.has_begun || step != state.step) {
      state.early.push_back(step);
      return;
    }
    if (--state.missing > 0) return;
    releases_.add(event.to, step, now_, event.from, event.from_step);
    ++state.step;
    go_on(event.to);
  }

  /// In which step the receiver waits for it: in schedules that are alike the one of the same number.
  StepNumber step_of(const Event& event) {
    const auto sent = table_.send(event.from, event.from_step, event.which);
    const auto is_it = [&](StepNumber step, std::uint32_t which) {
      const auto received = table_.receive(event.to, step, which);
      return received.peer == event.from && received.blocks == sent.blocks &&
             table_.share_phase(event.to, step, event.from, event.from_step);
    };
    const auto waits_for = [&](StepNumber step) {
      for (std::uint32_t i = 0; i < table_.receives(event.to, step); ++i)
        if (is_it(step, i)) return true;
      return false;
    };
    const auto steps = table_.steps(event.to), here = members_[event.to].step;
    if (here < steps && table_.receives(event.to, here) > most_to_search) {
      for (const auto& [step, which] : received_from(event.to, event.from))
        if (step >= here && is_it(step, which)) return step;
      return steps;
    }
    if (event.from_step < steps && waits_for(event.from_step)) return event.from_step;
    for (auto step = here; step < steps; ++step)
      if (waits_for(step)) return step;
    return steps;  // not reached: each send has its receive
  }

  /// Steps and receives of a member that hears of very many others.
  using Places = std::vector<std::pair<StepNumber, std::uint32_t>>;
  const Places& received_from(Member member, Member from) {
    auto& by_sender = places_[member];
    if (by_sender.empty())
      for (StepNumber step = 0; step < table_.steps(member); ++step)
        for (std::uint32_t i = 0; i < table_.receives(member, step); ++i)
          by_sender[table_.receive(member, step, i).peer].emplace_back(step, i);
    return by_sender[from];
  }

  /// The member comes to its step, and passes those of which all is there.
  void go_on(Member member) {
    State& state = members_[member];
    const auto steps = table_.steps(member);
    while (state.step < steps) {
      send(member, state.step);
      const auto here = std::erase(state.early, state.step);
      state.missing = table_.receives(member, state.step) - static_cast<std::uint32_t>(here);
      if (state.missing > 0) return;
      releases_.add(member, state.step, now_, member, state.step);
      ++state.step;
    }
    state.ended = now_ + costs_.server.turn;
  }

  void send(Member member, StepNumber step) {
    State& state = members_[member];
    const auto& server = costs_.server;
    for (std::uint32_t which = 0; which < table_.sends(member, step); ++which) {
      const auto transfer = table_.send(member, step, which);
      const Pieces pieces(transfer.bytes, costs_.max_message);
      // Of very long messages some pieces are one: with the overheads and gaps of all of them.
      const auto at_once = static_cast<Time>((pieces.count + most_pieces - 1) / most_pieces);
      sim::LogGP cost = costs_.message;
      cost.overhead *= at_once;
      cost.gap *= at_once;
      Time first = 0, whole = 0;
      for (std::uint64_t piece = 0; piece < pieces.count; piece += static_cast<std::uint64_t>(at_once)) {
        const auto count = std::min<std::uint64_t>(static_cast<std::uint64_t>(at_once), pieces.count - piece);
        const auto bytes =
            piece + count == pieces.count ? (count - 1) * pieces.whole + pieces.last : count * pieces.whole;
        const auto ready = server.is_free() ? now_ : processors_.work(member, now_, server.of(count, bytes));
        const auto sent = wires_.plan(cost, ready, member, transfer.peer, bytes);
        const auto here = sent.at_receiver + costs_.message.overhead;
        if (piece == 0) first = here;
        whole = std::max(whole, here);
      }
      state.messages += pieces.count;
      state.bytes += pieces.bytes();
      largest_ = std::max(largest_, transfer.bytes);
      push({whole, 0, Event::Kind::arrived, transfer.peer, member, step, which, first});
    }
  }

  CollectiveRun summary() const {
    CollectiveRun out;
    std::optional<Member> last;
    for (Member member = 0; member < members_.size(); ++member) {
      const State& state = members_[member];
      out.ended.push_back(state.ended);
      out.messages += state.messages;
      out.bytes += state.bytes;
      out.most_messages = std::max(out.most_messages, state.messages);
      out.most_bytes = std::max(out.most_bytes, state.bytes);
      if (state.ended && (!last || *state.ended > out.last)) {
        last = member;
        out.last = *state.ended;
      }
    }
    out.largest_message = largest_;
    if (last) releases_.path_to(*last, begins_, out);
    return out;
  }

  const StepTable& table_;
  const Costs costs_;
  const std::optional<LostMember> lost_;
  sim::Wires wires_;
  Processors processors_;
  std::vector<State> members_;
  std::unordered_map<Member, std::unordered_map<Member, Places>> places_;
  Releases releases_;
  std::vector<Time> begins_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t next_order_ = 0, largest_ = 0;
  Time now_ = 0;
};

}  // namespace

Result<CollectiveRun> run_collective(std::uint32_t members, const std::vector<Phase>& phases,
                                     const Costs& costs, const Late& late,
                                     const std::optional<LostMember>& lost) {
  const auto table = StepTable::of(members, phases);
  if (!table) return fail(table.error());
  return Runner(*table, costs, late, lost).run();
}

}  // namespace weft::simulation
