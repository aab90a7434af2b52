// SPDX-License-Identifier: BSD-3-Clause
// Reads of remote memory.
#include <algorithm>

#include "tests/conformance/fabric.hpp"

namespace weft::conformance {
namespace {

class GetTest : public Conformance {
 protected:
  /// b's memory as a sees it.
  struct Link {
    std::vector<std::byte> source, target;
    std::unique_ptr<Station> a, b;
    std::unique_ptr<Peer> peer;
    std::unique_ptr<MemoryRegion> exposed, local;
    std::unique_ptr<RemoteKey> key;
    ~Link() {
      // In the order that the contract asks for.
      key.reset();
      peer.reset();
      exposed.reset();
      local.reset();
    }
  };

  std::unique_ptr<Link> link(std::size_t source_bytes, std::size_t target_bytes) {
    auto out = std::make_unique<Link>();
    out->a = open();
    out->b = open();
    if (!out->a || !out->b) return nullptr;
    out->source = pattern(source_bytes, 11);
    out->target.resize(target_bytes);
    out->peer = reach(*out->a, *out->b);
    auto exposed = out->b->endpoint->expose(out->source);
    auto local = out->a->endpoint->expose(out->target);
    if (!exposed || !local || !out->peer) return nullptr;
    out->exposed = std::move(*exposed);
    out->local = std::move(*local);
    EXPECT_LE(out->exposed->packed_key().size(), MemoryRegion::max_key_bytes);
    auto key = out->a->endpoint->import_key(*out->peer, out->exposed->packed_key());
    if (!key) return nullptr;
    out->key = std::move(*key);
    return out;
  }

  /// One whole get of any length, cut where max_get asks for it.
  void read(Link& l, std::uint64_t from, std::uint64_t into, std::size_t length, Operations& gets) {
    const auto most = l.a->can().max_get;
    do {
      const auto piece = std::min(length, most);
      ASSERT_TRUE(get(*l.a, {*l.key, from}, {*l.local, into, piece}, gets.next(), {l.a.get(), l.b.get()}));
      from += piece;
      into += piece;
      length -= piece;
    } while (length != 0);
    ASSERT_TRUE(until({l.a.get(), l.b.get()}, [&] { return gets.open() == 0; }));
  }
};
INSTANTIATE_TEST_SUITE_P(On, GetTest, ::testing::ValuesIn(choices()),
                         [](const auto& choice) { return choice.param.name; });

TEST_P(GetTest, every_size_at_odd_offsets) {
  constexpr std::size_t margin = 64;
  constexpr std::size_t largest = std::size_t{1} << 20;
  const auto l = link(largest + margin, largest + margin);
  ASSERT_TRUE(l);
  for (const std::size_t length :
       {0, 1, 2, 7, 8, 9, 255, 256, 1024, 4095, 4096, 4097, 65535, 65537, 1 << 20}) {
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{13}, margin}) {
      std::fill(l->target.begin(), l->target.end(), std::byte{0});
      Operations& gets = new_operations();
      read(*l, offset, margin - offset, length, gets);
      ASSERT_TRUE(gets.errors.empty()) << length << " at " << offset;
      const auto into = l->target.begin() + static_cast<std::ptrdiff_t>(margin - offset);
      ASSERT_TRUE(std::equal(into, into + static_cast<std::ptrdiff_t>(length),
                             l->source.begin() + static_cast<std::ptrdiff_t>(offset)))
          << length << " at " << offset;
      ASSERT_TRUE(std::all_of(l->target.begin(), into, [](std::byte b) { return b == std::byte{0}; }));
      ASSERT_TRUE(std::all_of(into + static_cast<std::ptrdiff_t>(length), l->target.end(),
                              [](std::byte b) { return b == std::byte{0}; }));
    }
  }
}

TEST_P(GetTest, sixty_four_mebibytes) {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  const auto l = link(bytes, bytes);
  ASSERT_TRUE(l);
  Operations& gets = new_operations();
  read(*l, 0, 0, bytes, gets);
  EXPECT_TRUE(gets.errors.empty());
  EXPECT_TRUE(l->source == l->target);
}

TEST_P(GetTest, many_at_once) {
  constexpr std::size_t each = 256, count = 5000;
  const auto l = link(each * count, each * count);
  ASSERT_TRUE(l);
  Operations& gets = new_operations();
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_TRUE(get(*l->a, {*l->key, i * each}, {*l->local, (count - 1 - i) * each, each}, gets.next(),
                    {l->a.get(), l->b.get()}));
  ASSERT_TRUE(until({l->a.get(), l->b.get()}, [&] { return gets.open() == 0; }));
  EXPECT_TRUE(gets.errors.empty());
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_TRUE(std::equal(l->source.begin() + static_cast<std::ptrdiff_t>(i * each),
                           l->source.begin() + static_cast<std::ptrdiff_t>((i + 1) * each),
                           l->target.begin() + static_cast<std::ptrdiff_t>((count - 1 - i) * each)));
}

TEST_P(GetTest, outside_of_the_region_is_an_error_for_the_reader_only) {
  constexpr std::size_t bytes = 4096;
  const auto l = link(bytes, 2 * bytes);
  ASSERT_TRUE(l);
  const std::pair<std::uint64_t, std::size_t> wrong[] = {{0, bytes + 1},
                                                         {1, bytes},
                                                         {bytes, 1},
                                                         {bytes + 100, 8},
                                                         {std::uint64_t{1} << 40, 8},
                                                         {~std::uint64_t{0} - 3, 8}};
  for (const auto& [offset, length] : wrong) {
    Operations& gets = new_operations();
    const auto started =
        get(*l->a, {*l->key, offset}, {*l->local, 0, length}, gets.next(), {l->a.get(), l->b.get()});
    if (started) {
      ASSERT_TRUE(until({l->a.get(), l->b.get()}, [&] { return gets.ended == 1; })) << offset;
      ASSERT_EQ(gets.errors.size(), 1u) << offset;
      EXPECT_TRUE(gets.errors[0] == Errc::invalid || gets.errors[0] == Errc::os) << offset;
    } else {
      EXPECT_EQ(started.error().code, Errc::invalid) << offset;
    }
    // The two go on as if nothing had been.
    Operations& right = new_operations();
    read(*l, 0, 0, bytes, right);
    EXPECT_TRUE(right.errors.empty()) << "after " << offset;
    EXPECT_TRUE(std::equal(l->source.begin(), l->source.end(), l->target.begin()));
    Operations& sent = new_operations();
    const auto before = l->b->received_count;
    ASSERT_TRUE(send(*l->a, *l->peer, 1, {{}, {}}, sent.next(), {l->a.get(), l->b.get()}));
    ASSERT_TRUE(
        until({l->a.get(), l->b.get()}, [&] { return sent.ended == 1 && l->b->received_count > before; }));
    EXPECT_TRUE(sent.errors.empty());
  }
}

TEST_P(GetTest, outside_of_the_local_region_is_refused) {
  const auto l = link(4096, 1000);
  ASSERT_TRUE(l);
  Operations& gets = new_operations();
  for (const auto& [offset, length] :
       {std::pair<std::uint64_t, std::size_t>{0, 1001}, {1000, 1}, {~std::uint64_t{0}, 2}}) {
    const auto started = l->a->endpoint->get({*l->key, 0}, {*l->local, offset, length}, gets.next());
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code, Errc::invalid);
  }
  EXPECT_EQ(gets.ended, 0u);
}

TEST_P(GetTest, what_is_no_key_is_refused) {
  const auto l = link(4096, 4096);
  ASSERT_TRUE(l);
  for (const std::size_t bytes : {0, 1, 3, 600}) {
    const auto key = l->a->endpoint->import_key(*l->peer, pattern(bytes, 9));
    EXPECT_FALSE(key) << bytes;
    EXPECT_TRUE(key || key.error().code == Errc::corrupt) << bytes;
  }
}

TEST_P(GetTest, several_regions_and_readers) {
  const auto b = open();
  ASSERT_TRUE(b);
  constexpr std::size_t bytes = 3000;
  const auto first = pattern(bytes, 1), second = pattern(bytes, 2);
  auto first_copy = first, second_copy = second;
  const auto one = b->endpoint->expose(first_copy), two = b->endpoint->expose(second_copy);
  ASSERT_TRUE(one && two);
  for (int reader = 0; reader < 3; ++reader) {
    const auto a = open();
    ASSERT_TRUE(a);
    std::vector<std::byte> target(2 * bytes);
    const auto local = a->endpoint->expose(target);
    ASSERT_TRUE(local);
    const auto peer = reach(*a, *b);
    const auto key_one = a->endpoint->import_key(*peer, (*one)->packed_key());
    const auto key_two = a->endpoint->import_key(*peer, (*two)->packed_key());
    ASSERT_TRUE(key_one && key_two);
    Operations& gets = new_operations();
    ASSERT_TRUE(get(*a, {**key_one, 0}, {**local, bytes, bytes}, gets.next(), {a.get(), b.get()}));
    ASSERT_TRUE(get(*a, {**key_two, 0}, {**local, 0, bytes}, gets.next(), {a.get(), b.get()}));
    ASSERT_TRUE(until({a.get(), b.get()}, [&] { return gets.open() == 0; }));
    EXPECT_TRUE(gets.errors.empty());
    EXPECT_TRUE(std::equal(second.begin(), second.end(), target.begin()));
    EXPECT_TRUE(std::equal(first.begin(), first.end(), target.begin() + bytes));
  }
}

}  // namespace
}  // namespace weft::conformance
