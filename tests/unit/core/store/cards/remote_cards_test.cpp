// SPDX-License-Identifier: BSD-3-Clause
// RemoteCards at its edges, in memory of exactly its size; and with bytes that are wrong.
#include "core/store/cards/remote_cards.hpp"

#include <sys/mman.h>

#include "pmix_common.h"
#include "tests/unit/core/store/cards/logs.hpp"
#include "tests/unit/core/store/segment/jobs.hpp"

namespace weft::store {
namespace {

constexpr std::uint32_t all_scopes = ~std::uint32_t{0};

struct ExactCards {
  explicit ExactCards(std::uint64_t capacity)
      : block(RemoteCards::footprint(capacity)), cards(block.get(), capacity) {}

  /// Adds a piece that goes on where the last one of this rank ended.
  Result<void> add(std::size_t rank, std::vector<CardRecord> records) {
    const auto from = known(rank);
    return add(rank, from, from + 8, std::move(records));
  }
  Result<void> add(std::size_t rank, std::uint64_t from, std::uint64_t to, std::vector<CardRecord> records,
                   RemoteCards::Link base = 0) {
    return cards.append(links[rank], {"job", static_cast<std::uint32_t>(rank), from, to, records}, base);
  }
  std::uint64_t known(std::size_t rank) const { return cards.known(links[rank].load()); }
  Result<void> add(std::size_t rank, std::string_view key, std::string_view value,
                   std::uint8_t scope = PMIX_GLOBAL) {
    return add(rank, {{scope, key, bytes_of(value)}});
  }
  /// The value's text, or "-" and the error's number.
  std::string get(std::size_t rank, std::string_view key, std::uint32_t scopes = all_scopes) const {
    RemoteCards::Whole whole;
    const auto found = cards.find(links[rank].load(), key, hash_key(key), scopes, whole);
    return found ? std::string(as_text(found->value))
                 : "-" + std::to_string(static_cast<int>(found.error().code));
  }
  /// "key=value;" of each, oldest first.
  std::string everything(std::size_t rank) const {
    std::deque<RemoteCards::Whole> whole;
    const auto records = cards.all(links[rank].load(), whole);
    if (!records) return "-" + std::to_string(static_cast<int>(records.error().code));
    std::string out;
    for (const auto& r : *records) out += std::string(r.key) + '=' + std::string(as_text(r.value)) + ';';
    return out;
  }
  std::uint64_t used() const { return cards.header().used.load(); }
  std::byte* data() const { return block.get() + sizeof(RemoteCards::Header); }

  testing::ExactBlock block;
  std::atomic<std::uint32_t> links[3] = {};
  RemoteCards cards;
};

TEST(RemoteCards, of_nothing) {
  ExactCards cards(256);
  EXPECT_EQ(cards.get(0, "key"), missing());
  EXPECT_EQ(cards.everything(0), "");
  EXPECT_TRUE(cards.add(0, std::vector<CardRecord>{}));  // a fence to which this rank brought nothing
  EXPECT_EQ(cards.links[0].load(), 0u);
  EXPECT_EQ(cards.used(), 0u);
  EXPECT_EQ(ExactCards(0).add(0, "k", "v").error().code, Errc::no_space);
}

TEST(RemoteCards, each_rank_has_its_own) {
  ExactCards cards(1024);
  ASSERT_TRUE(cards.add(0, "key", "zero"));
  ASSERT_TRUE(cards.add(2, "key", "two"));
  EXPECT_EQ(cards.get(0, "key"), "zero");
  EXPECT_EQ(cards.get(1, "key"), missing());
  EXPECT_EQ(cards.get(2, "key"), "two");
  EXPECT_EQ(cards.get(2, "kez"), missing());
  EXPECT_EQ(cards.get(2, ""), missing());
  EXPECT_EQ(cards.get(2, std::string(600, 'k')), missing());
}

TEST(RemoteCards, newer_pieces_hide_older_ones) {
  ExactCards cards(4096);
  ASSERT_TRUE(cards.add(0, {{PMIX_GLOBAL, "a", bytes_of("1")}, {PMIX_GLOBAL, "b", bytes_of("1")}}));
  ASSERT_TRUE(cards.add(1, "a", "other"));
  ASSERT_TRUE(cards.add(0, {{PMIX_GLOBAL, "b", bytes_of("2")},
                            {PMIX_GLOBAL, "c", bytes_of("2")},
                            {PMIX_GLOBAL, "b", bytes_of("3")}}));
  EXPECT_EQ(cards.get(0, "a"), "1");
  EXPECT_EQ(cards.get(0, "b"), "3");
  EXPECT_EQ(cards.get(0, "c"), "2");
  EXPECT_EQ(cards.everything(0), "a=1;b=1;b=2;c=2;b=3;");
  EXPECT_EQ(cards.everything(1), "a=other;");
  EXPECT_EQ(cards.cards.header().pieces.load(), 3u);
}

// Fences and fetches bring what is new of a card in any order.
TEST(RemoteCards, nothing_older_hides_what_is_newer) {
  ExactCards cards(4096);
  const auto old = CardRecord{PMIX_GLOBAL, "key", bytes_of("old")},
             now = CardRecord{PMIX_GLOBAL, "key", bytes_of("new")};
  EXPECT_EQ(cards.known(0), 0u);
  ASSERT_TRUE(cards.add(0, 0, 200, {old, now}));
  EXPECT_EQ(cards.known(0), 200u);
  const auto used = cards.used();
  ASSERT_TRUE(cards.add(0, 0, 104, {old}));  // overtaken: all of it is here
  ASSERT_TRUE(cards.add(0, 104, 200, {now}));
  EXPECT_EQ(cards.used(), used);
  EXPECT_EQ(cards.get(0, "key"), "new");
  EXPECT_EQ(cards.known(0), 200u);
  // The piece begins with records that are here, and goes on.
  ASSERT_TRUE(cards.add(0, 104, 304, {now, {PMIX_GLOBAL, "next", bytes_of("1")}}));
  EXPECT_EQ(cards.get(0, "key"), "new");
  EXPECT_EQ(cards.get(0, "next"), "1");
  EXPECT_EQ(cards.known(0), 304u);
}

TEST(RemoteCards, what_leaves_a_gap_is_refused) {
  ExactCards cards(4096);
  const CardRecord record{PMIX_GLOBAL, "key", bytes_of("v")};
  EXPECT_EQ(cards.add(0, 8, 16, {record}).error().code, Errc::again);
  ASSERT_TRUE(cards.add(0, 0, 8, {record}));
  EXPECT_EQ(cards.add(0, 16, 24, {record}).error().code, Errc::again);
  EXPECT_EQ(cards.known(0), 8u);
  EXPECT_TRUE(cards.add(1, 8, 16, {}));  // nothing is missing of which a process here may know
  ASSERT_TRUE(cards.add(0, 8, 16, {record}));
  EXPECT_EQ(cards.known(0), 16u);
}

TEST(RemoteCards, positions_of_all_sizes) {
  ExactCards cards(4096);
  const CardRecord record{PMIX_GLOBAL, "key", bytes_of("v")};
  for (const std::uint64_t bytes : {4u, 9u, 9u, 1u})
    EXPECT_EQ(cards.add(0, 0, bytes, {record}).error().code, Errc::invalid) << bytes;
  EXPECT_EQ(cards.add(0, 16, 8, {record}).error().code, Errc::invalid);
  EXPECT_EQ(cards.add(0, 0, std::uint64_t{1} << 35, {record}).error().code, Errc::invalid);
  for (unsigned bit = 3; bit < 35; ++bit) {
    const auto end = std::uint64_t{1} << bit;
    for (const auto to : {end, end + (end - 8)}) {
      ASSERT_TRUE(cards.add(0, 0, to, {record})) << to;
      EXPECT_EQ(cards.known(0), to);
      EXPECT_EQ(cards.get(0, "key"), "v");
    }
  }
}

TEST(RemoteCards, scopes_are_kept_apart) {
  ExactCards cards(4096);
  ASSERT_TRUE(cards.add(0, "k", "global"));
  ASSERT_TRUE(cards.add(0, "k", "remote", PMIX_REMOTE));
  EXPECT_EQ(cards.get(0, "k"), "remote");
  EXPECT_EQ(cards.get(0, "k", 1u << PMIX_GLOBAL), "global");
  EXPECT_EQ(cards.get(0, "k", 1u << PMIX_LOCAL), missing());
  RemoteCards::Whole whole;
  EXPECT_EQ(cards.cards.find(cards.links[0], "k", hash_key("k"), all_scopes, whole)->scope, PMIX_REMOTE);
}

// The hash in an entry has 8 bits: among 3,000 keys of one length many share it.
TEST(RemoteCards, keys_of_equal_hashes) {
  ExactCards cards(1 << 20);
  std::vector<std::string> keys;
  for (int i = 1000; i < 4000; ++i) keys.push_back("key." + std::to_string(i));
  std::vector<CardRecord> records;
  for (const auto& key : keys) records.push_back({PMIX_GLOBAL, key, bytes_of(key)});
  ASSERT_TRUE(cards.add(0, records));
  for (const auto& key : keys) ASSERT_EQ(cards.get(0, key), key);
  EXPECT_EQ(cards.get(0, "key.9999"), missing());
  ASSERT_TRUE(cards.add(0, keys[7], "newer"));
  EXPECT_EQ(cards.get(0, keys[7]), "newer");
  EXPECT_EQ(cards.get(0, keys[8]), keys[8]);
}

TEST(RemoteCards, values_of_all_lengths) {
  ExactCards cards(1 << 20);
  for (const std::size_t bytes : {0u, 1u, 8190u, 8191u, 8192u, 70'000u, 500'000u}) {
    const std::string value(bytes, 'v');
    ASSERT_TRUE(cards.add(
        0, {{PMIX_GLOBAL, "before", {}}, {PMIX_GLOBAL, "key", bytes_of(value)}, {PMIX_GLOBAL, "after", {}}}));
    EXPECT_EQ(cards.get(0, "key"), value) << bytes;
    EXPECT_EQ(cards.get(0, "after"), "");
  }
}

TEST(RemoteCards, fills_to_the_last_byte_and_not_further) {
  ExactCards cards(9 + 3 + 10 + 9 + 1 + 8);
  ASSERT_TRUE(cards.add(0, "abc", std::string(10, 'x')));
  EXPECT_EQ(cards.add(1, "k", std::string(9, 'y')).error().code, Errc::no_space);
  EXPECT_EQ(cards.links[1].load(), 0u);
  EXPECT_EQ(cards.used(), 22u);
  ASSERT_TRUE(cards.add(1, "k", std::string(8, 'y')));
  EXPECT_EQ(cards.used(), cards.cards.capacity());
  EXPECT_EQ(cards.add(2, "k", "").error().code, Errc::no_space);
  EXPECT_EQ(cards.get(0, "abc"), std::string(10, 'x'));
  EXPECT_EQ(cards.get(1, "k"), std::string(8, 'y'));
  EXPECT_EQ(cards.cards.header().refused.load(), 2u);
}

TEST(RemoteCards, what_is_no_record_is_refused_whole) {
  ExactCards cards(4096);
  const CardRecord good{PMIX_GLOBAL, "good", bytes_of("v")};
  for (const CardRecord& bad : {CardRecord{PMIX_GLOBAL, "", {}}, CardRecord{PMIX_LOCAL, "k", {}},
                                CardRecord{PMIX_INTERNAL, "k", {}}, CardRecord{200, "k", {}}})
    EXPECT_EQ(cards.add(0, {good, bad}).error().code, Errc::invalid);
  const std::string longest(511, 'k'), too_long(512, 'k');
  EXPECT_EQ(cards.add(0, too_long, "v").error().code, Errc::invalid);
  EXPECT_EQ(cards.used(), 0u);
  EXPECT_EQ(cards.get(0, "good"), missing());
  ASSERT_TRUE(cards.add(0, longest, "v"));
  EXPECT_EQ(cards.get(0, longest), "v");
}

// Links count from 1 in units of two bytes: the last one that there is leads below 8 GiB.
TEST(RemoteCards, the_far_end_of_eight_gi_b) {
  const auto bytes = RemoteCards::footprint(RemoteCards::most_bytes);
  void* raw =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(raw, MAP_FAILED);
  RemoteCards cards(static_cast<std::byte*>(raw), RemoteCards::most_bytes);
  std::atomic<std::uint32_t> link{0};
  const CardRecord record{PMIX_GLOBAL, "k", bytes_of("v")};
  reinterpret_cast<RemoteCards::Header*>(raw)->used.store(RemoteCards::most_bytes - 12);
  ASSERT_TRUE(cards.append(link, {"job", 0, 0, 8, {&record, 1}}));
  EXPECT_LT(link.load(), RemoteCards::end_of_links);
  RemoteCards::Whole whole;
  EXPECT_TRUE(cards.find(link, "k", hash_key("k"), all_scopes, whole));
  EXPECT_EQ(cards.append(link, {"job", 0, 8, 16, {&record, 1}}).error().code, Errc::no_space);
  ::munmap(raw, bytes);
}

// TARGETS: a collected card costs its bytes and 16. The card's bytes are the key, and the 256 that the rank
// put.
TEST(RemoteCards, a_card_of256_bytes_costs_its_bytes_and_no_more_than16) {
  const std::vector<std::byte> put(256, std::byte{7});
  data::Writer encoded;
  ASSERT_TRUE(data::encode_value(encoded, Value::of_bytes(put).get()));
  for (const std::string key : {"k", "key", "btl.tcp.4.1", "an.odd.key"}) {
    ExactCards cards(4096);
    ASSERT_TRUE(cards.add(0, {{PMIX_GLOBAL, key, encoded.view()}}));
    EXPECT_LE(cards.used(), key.size() + put.size() + 16) << key;
    RecordProperty(key, static_cast<int>(cards.used()));
  }
}

TEST(RemoteCards, of_a_rank_that_turns_out_to_live_here) {
  Node node;
  auto spec = flat_job("job", 4, 2);
  spec.local_capacity = 3;
  auto job = node.add(spec);
  ASSERT_TRUE(job);
  data::Writer encoded;
  ASSERT_TRUE(data::encode_value(encoded, Value::of("there").get()));
  const CardRecord record{PMIX_GLOBAL, "key", encoded.view()};
  ASSERT_TRUE(job->add_card({"job", 3, 0, 8, {&record, 1}}));
  EXPECT_EQ(words(lookup(job->view(), 3, "key", {}, {})), "s there");
  EXPECT_EQ(job->add_card({"job", 0, 0, 8, {&record, 1}}).error().code, Errc::invalid);
  EXPECT_EQ(job->add_card({"job", 4, 0, 8, {&record, 1}}).error().code, Errc::invalid);
  EXPECT_EQ(job->add_local(3).value(), 2u);
  EXPECT_EQ(words(lookup(job->view(), 3, "key", {}, {})), not_found());
  ASSERT_TRUE(put(job->view(), 3, "key", Value::of("here")));
  EXPECT_EQ(words(lookup(job->view(), 3, "key", {}, {})), "s here");
}

// ---- what cards have in common

/// Of a process of a node: the node's networks, and one number of its own in the middle.
std::string address_of(int number) {
  return "fe80::a288:c2ff:fe12:3456%ib0/" + std::to_string(1000 + number) + "/mtu=4096,lid=0x2f,rate=400";
}

TEST(RemoteCardsInCommon, is_stored_once) {
  ExactCards cards(4096);
  const auto add = [&](std::size_t rank, RemoteCards::Link base) {
    const auto address = address_of(static_cast<int>(rank)), own = std::to_string(rank);
    return cards.add(rank, 0, 8,
                     {{PMIX_GLOBAL, "net.address.4.1", bytes_of(address)},
                      {PMIX_REMOTE, "own", bytes_of(own)},
                      {PMIX_GLOBAL, "net.devices.4.1", bytes_of(address_of(7))}},
                     base);
  };
  ASSERT_TRUE(add(0, 0));
  const auto base = cards.links[0].load();
  const auto first = cards.used();
  ASSERT_TRUE(add(1, base));
  ASSERT_TRUE(add(2, base));
  EXPECT_LT(cards.used() - first, first / 2);
  const auto saved = cards.cards.header().saved.load();  // a distance may take what padding would have
  EXPECT_NEAR(static_cast<double>(saved), static_cast<double>(3 * first - cards.used()), 2 * 2);
  EXPECT_EQ(cards.cards.base_of(base), 0u);
  EXPECT_EQ(cards.cards.base_of(cards.links[2]), base);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const auto address = address_of(static_cast<int>(rank));
    EXPECT_EQ(cards.get(rank, "net.address.4.1"), address);
    EXPECT_EQ(cards.get(rank, "own", 1u << PMIX_REMOTE), std::to_string(rank));
    EXPECT_EQ(cards.get(rank, "net.devices.4.1"), address_of(7));
    EXPECT_EQ(cards.get(rank, "net.devices.4.2"), missing());
    EXPECT_EQ(cards.get(rank, "net.address.4.1", 1u << PMIX_REMOTE), missing());
    EXPECT_EQ(cards.everything(rank), "net.address.4.1=" + address + ";own=" + std::to_string(rank) +
                                          ";net.devices.4.1=" + address_of(7) + ';');
  }
}

TEST(RemoteCardsInCommon, of_cards_that_have_nothing_is_nothing) {
  ExactCards cards(4096);
  ASSERT_TRUE(cards.add(0, "net.address", address_of(0)));
  const auto first = cards.used();
  const std::string other(address_of(0).size(), '?');
  ASSERT_TRUE(cards.add(1, 0, 8, {{PMIX_GLOBAL, "net.address", bytes_of(other)}}, cards.links[0]));
  EXPECT_EQ(cards.used(), 2 * first);
  EXPECT_EQ(cards.cards.base_of(cards.links[1]), 0u);
  EXPECT_EQ(cards.get(1, "net.address"), other);
}

TEST(RemoteCardsInCommon, is_found_in_any_order_and_newer_records_hide_older_ones) {
  ExactCards cards(8192);
  const auto a = address_of(1), b = address_of(2), c = address_of(3);
  ASSERT_TRUE(cards.add(0, {{PMIX_GLOBAL, "one", bytes_of(a)}, {PMIX_GLOBAL, "two", bytes_of(b)}}));
  const auto base = cards.links[0].load();
  ASSERT_TRUE(cards.add(1, 0, 8,
                        {{PMIX_GLOBAL, "two", bytes_of(a)},
                         {PMIX_GLOBAL, "three", bytes_of(a)},
                         {PMIX_GLOBAL, "one", bytes_of(b)},
                         {PMIX_GLOBAL, "two", bytes_of(c)}},
                        base));
  EXPECT_EQ(cards.get(1, "one"), b);
  EXPECT_EQ(cards.get(1, "two"), c);
  EXPECT_EQ(cards.get(1, "three"), a);
  ASSERT_TRUE(cards.add(1, 8, 16, {{PMIX_GLOBAL, "one", bytes_of(c)}}, base));
  EXPECT_EQ(cards.get(1, "one"), c);
  EXPECT_EQ(cards.everything(1), "two=" + a + ";three=" + a + ";one=" + b + ";two=" + c + ";one=" + c + ';');
}

// A base that has one itself is none: no read follows more than one.
TEST(RemoteCardsInCommon, is_with_a_card_that_is_whole) {
  ExactCards cards(4096);
  ASSERT_TRUE(cards.add(0, "net.address", address_of(0)));
  ASSERT_TRUE(cards.add(1, 0, 8, {{PMIX_GLOBAL, "net.address", bytes_of(address_of(1))}}, cards.links[0]));
  const auto used = cards.used();
  ASSERT_TRUE(cards.add(2, 0, 8, {{PMIX_GLOBAL, "net.address", bytes_of(address_of(1))}}, cards.links[1]));
  EXPECT_EQ(cards.cards.base_of(cards.links[2]), 0u);
  EXPECT_GT(cards.used() - used, address_of(1).size());
  EXPECT_EQ(cards.get(2, "net.address"), address_of(1));
}

TEST(RemoteCardsInCommon, of_values_of_all_lengths) {
  ExactCards cards(4 << 20);
  for (const std::size_t bytes : {0u, 1u, 40u, 8190u, 8191u, 8192u, 8300u, 500'000u}) {
    const std::string value(bytes, 'v'), longer = value + "and more",
                                         other = bytes == 0 ? "x" : 'x' + value.substr(1);
    std::fill(std::begin(cards.links), std::end(cards.links), 0);
    ASSERT_TRUE(cards.add(0, "key", value));
    for (const auto& like : {value, longer, other}) {
      cards.links[1] = 0;
      ASSERT_TRUE(cards.add(1, 0, 8, {{PMIX_GLOBAL, "key", bytes_of(like)}}, cards.links[0]));
      EXPECT_EQ(cards.get(1, "key"), like) << bytes;
      EXPECT_EQ(cards.cards.base_of(cards.links[1]) != 0, bytes >= 40) << bytes;
    }
  }
}

TEST(RemoteCardsInCommon, is_with_the_first_card_of_the_job_or_else_of_the_node) {
  Node node;
  auto job = node.add(flat_job("job", 8, 2));
  ASSERT_TRUE(job);
  const auto link = [&](std::uint32_t rank) { return job->view().cards().remote_link(rank); };
  const auto base_of = [&](std::uint32_t rank) { return job->view().cards().remote().base_of(link(rank)); };
  const auto add = [&](std::uint32_t rank, std::string_view value, RemoteCards::Link& base) {
    const CardRecord record{PMIX_GLOBAL, "net.address", bytes_of(value)};
    return job->add_card({"job", rank, 0, 8, {&record, 1}}, &base);
  };
  const std::string unlike(address_of(0).size(), '?');
  RemoteCards::Link one = 0, alike = 0, other = 0;
  ASSERT_TRUE(add(2, address_of(0), one) && add(3, address_of(1), one));
  ASSERT_TRUE(add(4, address_of(2), alike) && add(5, address_of(3), alike));
  ASSERT_TRUE(add(6, unlike, other) && add(7, unlike, other));
  EXPECT_EQ(base_of(2), 0u);
  for (const auto rank : {3u, 4u, 5u}) EXPECT_EQ(base_of(rank), link(2)) << rank;
  EXPECT_EQ(base_of(6), 0u);
  EXPECT_EQ(base_of(7), link(6));
}

// ---- bytes that are wrong: a job was retired while a process read it

TEST(RemoteCardsDamage, links_that_cannot_be) {
  ExactCards cards(512);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(cards.add(0, "key", "value " + std::to_string(i)));
  const auto newest = cards.links[0].load();
  for (const std::uint32_t lie : {257u, 1000u, RemoteCards::end_of_links - 1, 0xffffffffu}) {
    cards.links[0].store(lie);
    EXPECT_EQ(cards.get(0, "key"), corrupt()) << lie;
    EXPECT_EQ(cards.everything(0), corrupt());
  }
  cards.links[0].store(newest);
  for (const std::uint32_t lie : {newest, newest + 1, 0xffffffffu}) {  // to itself, forwards
    std::memcpy(cards.data() + (newest - 1) * 2, &lie, 4);
    EXPECT_EQ(cards.get(0, "nowhere"), corrupt()) << lie;
    EXPECT_EQ(cards.everything(0), corrupt());
  }
}

TEST(RemoteCardsDamage, ends_in_an_answer_whatever_is_written) {
  testing::Watchdog watchdog;
  testing::Random random;
  ExactCards cards(2000);
  const std::string long_value(300, 'l');
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(cards.add(0, {{PMIX_GLOBAL, "a", bytes_of("value")},
                              {PMIX_REMOTE, "key.one", bytes_of("another value")},
                              {PMIX_GLOBAL, "a", {}}}));
  ASSERT_TRUE(cards.add(0, "long", long_value));
  const auto like = long_value + " and more", unlike = std::string(3, 'u') + long_value.substr(3);
  const auto whole_one = cards.links[0].load();
  for (const auto& value : {like, unlike})
    ASSERT_TRUE(cards.add(0, cards.known(0), cards.known(0) + 8,
                          {{PMIX_GLOBAL, "long", bytes_of(value)}, {PMIX_GLOBAL, "a", {}}}, whole_one));
  ASSERT_GT(cards.cards.header().saved.load(), 400u);
  ASSERT_TRUE(cards.add(0, "newest", "v"));
  const auto link = cards.links[0].load();
  const std::vector<std::byte> good(cards.block.get(), cards.block.get() + cards.block.size());
  std::size_t seen = 0, faults = 0;
  for (unsigned round = 0; round < testing::rounds(100'000); ++round) {
    std::copy(good.begin(), good.end(), cards.block.get());
    testing::damage(random, cards.data(), cards.used());
    cards.links[0].store(random.below(4) == 0 ? static_cast<std::uint32_t>(random.below(400)) : link);
    for (const auto* key : {"a", "key.one", "long", "newest", "nowhere"}) {
      RemoteCards::Whole whole;
      const auto found = cards.cards.find(cards.links[0], key, hash_key(key), all_scopes, whole);
      faults += !found;
      if (found)
        for (const auto b : found->value) seen += static_cast<std::size_t>(b);
    }
    std::deque<RemoteCards::Whole> whole;
    if (const auto all = cards.cards.all(cards.links[0], whole))
      for (const auto& record : *all) seen += record.key.size() + record.value.size();
  }
  EXPECT_GT(seen, 0u);
  EXPECT_GT(faults, 0u);
}

}  // namespace
}  // namespace weft::store
