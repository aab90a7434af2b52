// SPDX-License-Identifier: BSD-3-Clause
// The first Get of a card that no fence has brought here: direct modex. Nothing is exchanged before it but by
// fences without data, so that the library cannot know the cards from elsewhere.
#include "bench/weftbench/neighbours.hpp"
#include "bench/weftbench/phases/marked_cards.hpp"
#include "bench/weftbench/phases/phases.hpp"

namespace weft::bench {
namespace {

/// All ranks, in every repeat: a new card each, a fence that moves none of them, then work(i). Repeat 0 is
/// cold.
template <class Work>
void after_sparse_fences(const Context& c, const MarkedCards& cards, Work&& work) {
  for (unsigned i = 0; i <= c.options.repeats; ++i) {
    cards.commit(i);
    c.job.barrier();
    work(i);
    c.job.barrier();
  }
}

/// The measurements of this rank, by size. Results travel by full fences, so each is reported after all
/// measurements.
struct Touches {
  std::size_t bytes = 0;
  Sample alone, again;           ///< rank 0's
  double cold = 0;               ///< of rank 0's in repeat 0 the slowest
  Sample node;                   ///< the first rank's of each node
  std::vector<double> one, all;  ///< of each repeat
};

/// Some of `far`, others each time: touching one takes let_others_sleep().
std::vector<unsigned> some_of(const std::vector<unsigned>& far, unsigned time) {
  constexpr std::size_t most = 4;
  std::vector<unsigned> out;
  const auto count = std::min(most, far.size());
  for (std::size_t i = 0; i < count; ++i) out.push_back(far[(i * far.size() / count + time) % far.size()]);
  return out;
}

/// Rank 0 touches one card after another, each after all ranks have slept, while the others are in a fence;
/// then the same again.
void alone(const Context& c, const std::vector<unsigned>& far, Touches& out) {
  const MarkedCards cards(c.job, "ta", out.bytes);
  out.again.batch = 100;
  after_sparse_fences(c, cards, [&](unsigned i) {
    if (!c.job.is_root()) return;
    const auto some = some_of(far, i);
    for (const unsigned r : some) {
      let_others_sleep();
      const double ns = time_of([&] { cards.read(r, i); });
      if (i == 0) out.cold = std::max(out.cold, ns);
      if (i > 0) out.alone.means.push_back(ns);
    }
    for (const unsigned r : some) {
      const std::string key = cards.key(i);
      const auto read_again = [&] { c.job.get(c.job.proc(r), key.c_str()); };
      if (i > 0) out.again.merge(measure_fixed(read_again, 1, out.again.batch));
    }
  });
}

/// The first rank of each node touches one card after another, all nodes at the same time.
void one_a_node(const Context& c, const std::vector<unsigned>& far, Touches& out) {
  const MarkedCards cards(c.job, "tn", out.bytes);
  const bool touches = neighbours(c.job).front() == c.job.rank();
  after_sparse_fences(c, cards, [&](unsigned i) {
    for (const unsigned r : far) {
      if (!touches) break;
      const double ns = time_of([&] { cards.read(r, i); });
      if (i > 0) out.node.means.push_back(ns);
    }
  });
}

/// Every rank touches one card, all at once; then all the others.
void all_at_once(const Context& c, const std::vector<unsigned>& far, Touches& out) {
  const MarkedCards cards(c.job, "tt", out.bytes);
  after_sparse_fences(c, cards, [&](unsigned i) {
    const std::int64_t begin = now_ns();
    out.one.push_back(time_of([&] { cards.read(far.front(), i); }));
    for (const unsigned r : far) cards.read(r, i);
    out.all.push_back(static_cast<double>(now_ns() - begin));
  });
}

void print(const Context& c, const Touches& t) {
  Record record = make_record("first_touch_alone", c.job.size(), t.bytes, t.alone);
  record.extra = {{"first_ns", t.cold}};
  c.print(record);
  c.print(make_record("second_touch_alone", c.job.size(), t.bytes, t.again));
  c.print_pooled("first_touch_node", t.bytes, t.node);
  c.print_slowest("first_touch_all", t.bytes, t.one);
  c.print_slowest("touch_all_cards", t.bytes, t.all);
}

}  // namespace

void first_touch_phase(const Context& c) {
  const std::vector<unsigned> far = strangers(c.job);
  if (far.empty()) return c.skip("first_touch", "all ranks are on one node");
  std::vector<Touches> seen;
  for (const unsigned bytes : c.options.card_bytes) {
    Touches& touches = seen.emplace_back();
    touches.bytes = bytes;
    alone(c, far, touches);
    one_a_node(c, far, touches);
    all_at_once(c, far, touches);
  }
  for (const Touches& touches : seen) print(c, touches);
}

}  // namespace weft::bench
