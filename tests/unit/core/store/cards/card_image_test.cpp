// SPDX-License-Identifier: BSD-3-Clause
// A card as another node reads it out of this one's memory: one read of its first bytes, a second one of the
// rest.
#include <atomic>
#include <thread>

#include "core/store/cards/card.hpp"
#include "pmix_common.h"
#include "tests/unit/core/store/cards/logs.hpp"

namespace weft::store {
namespace {

constexpr std::size_t header = sizeof(KeyedLog::Header);

/// page: as it lies there, with the log's header; what lies before `from` is not looked at.
Result<CardImage> image_of(Bytes page, Bytes rest, CardShape shape, std::uint64_t from = 0,
                           const RecordCheck& check = {}) {
  const auto behind = [](Bytes bytes, std::uint64_t at) { return bytes.subspan(std::min(bytes.size(), at)); };
  const auto in_page = std::min(from, shape.first);
  return read_card_image(page.first(std::min(page.size(), header)),
                         {from, behind(page, header + in_page), behind(rest, from - in_page)}, shape, check);
}

/// The first `bytes` of a block, in memory of exactly that size and at an odd address.
struct Copy {
  Copy(const testing::ExactBlock& from, std::size_t bytes) : block(bytes + 1) {
    std::memcpy(block.get() + 1, from.get(), bytes);
  }
  Bytes view() const { return {block.get() + 1, block.size() - 1}; }
  testing::ExactBlock block;
};

/// "key=value;" of each record, or the error's name.
std::string told(const Result<CardImage>& image) {
  if (!image) return image.error().code == Errc::again ? "again" : "corrupt";
  if (!image->whole) return "longer";
  std::string out;
  for (const auto& r : image->records) out += std::string(r.key) + '=' + std::string(as_text(r.value)) + ';';
  return out;
}

TEST(CardImage, one_read_has_the_length_and_the_first_records) {
  ExactLog log(3000, 128);
  const CardShape shape{3000, 3000};
  put(log, PMIX_GLOBAL, "g", "global");
  put(log, PMIX_LOCAL, "l", "stays there");
  put(log, PMIX_REMOTE, "r", "");
  const auto need = log.published();
  for (std::size_t bytes = 8; bytes < 600; ++bytes) {
    const Copy copy(log.block, bytes);
    const auto image = image_of(copy.view(), {}, shape);
    ASSERT_EQ(told(image), bytes < header + need ? "longer" : "g=global;r=;") << bytes;
    EXPECT_EQ(image->published, log.published());
    EXPECT_EQ(image->page_bytes, need);
    EXPECT_EQ(image->rest_bytes, 0u);
  }
}

TEST(CardImage, of_nothing) {
  const ExactLog log(256);
  const auto image = image_of({log.block.get(), header}, {}, {256, 256});
  EXPECT_EQ(told(image), "");
  EXPECT_EQ(image->published, 0u);
  EXPECT_EQ(told(image_of({log.block.get(), 7}, {}, {256, 256})), "corrupt");
  EXPECT_EQ(told(image_of({}, {}, {256, 256})), "corrupt");
}

TEST(CardImage, of_both_pieces) {
  ExactLog log(1024, 8, 128);
  const CardShape shape{128, 1024};
  put(log, PMIX_GLOBAL, "a", "first piece");
  put(log, PMIX_GLOBAL, "b", std::string(200, 'b'));
  put(log, PMIX_GLOBAL, "c", "second piece");
  const auto first = image_of({log.block.get(), header + 64}, {}, shape);
  ASSERT_EQ(told(first), "longer");
  EXPECT_EQ(first->page_bytes, 128u);
  EXPECT_EQ(first->rest_bytes, log.published() - 128);
  const Bytes page{log.block.get(), header + first->page_bytes}, rest{log.rest.get(), first->rest_bytes};
  EXPECT_EQ(told(image_of(page, rest, shape)),
            "a=first piece;b=" + std::string(200, 'b') + ";c=second piece;");
  EXPECT_EQ(told(image_of(page, rest.first(rest.size() - 1), shape)), "longer");
}

TEST(CardImage, from_a_place_on_has_the_rest) {
  ExactLog log(1024, 8, 128);
  put(log, PMIX_GLOBAL, "old", "1");
  const auto once = log.published();
  put(log, PMIX_GLOBAL, "new", "2");
  const auto twice = log.published();
  put(log, PMIX_GLOBAL, "big", std::string(100, 'x'));
  const Bytes page{log.block.get(), header + 128}, rest{log.rest.get(), log.published() - 128};
  const auto from = [&](std::uint64_t at) { return told(image_of(page, rest, {128, 1024}, at)); };
  EXPECT_EQ(from(once), "new=2;big=" + std::string(100, 'x') + ';');
  EXPECT_EQ(from(twice), "big=" + std::string(100, 'x') + ';');
  EXPECT_EQ(from(log.published()), "");
  EXPECT_EQ(from(log.published() + 8), "corrupt") << "it has shrunk";
  const auto image = image_of(page, rest.first(0), {128, 1024}, once);
  ASSERT_EQ(told(image), "longer");
  EXPECT_EQ(image->page_bytes, 128 - once) << "without what is known";
  EXPECT_EQ(image->rest_bytes, log.published() - 128);
}

// A read is not atomic: the length may be newer than the bytes behind it.
TEST(CardImage, bytes_older_than_the_length_are_told_from_a_record) {
  for (const std::uint64_t first : {1024u, 128u}) {
    ExactLog log(1024, 8, first);
    const CardShape shape{first, 1024};
    put(log, PMIX_GLOBAL, "a", "value");
    const testing::ExactBlock page(header + first), rest(1024);
    const auto copy = [&] {
      std::copy_n(log.block.get(), page.size(), page.get());
      std::copy_n(log.rest.get(), log.rest.size(), rest.get());
    };
    copy();
    const std::vector<std::byte> old_page(page.get(), page.get() + page.size());
    const std::vector<std::byte> old_rest(rest.get(), rest.get() + rest.size());
    const auto from = log.published();
    put(log, PMIX_GLOBAL, "b", "0123456789");
    put(log, PMIX_GLOBAL, "c", std::string(70, 'c'));  // behind the seam, where there is one
    const auto end = log.published();
    const auto view = [&] {
      return told(image_of({page.get(), page.size()}, {rest.get(), rest.size()}, shape));
    };
    copy();
    const auto good = view();
    ASSERT_NE(good, "again");
    // Every line, alone, as it was before.
    for (std::uint64_t at = from / 64 * 64; at < end; at += 64) {
      copy();
      auto& piece = at < first ? page : rest;
      const auto& old = at < first ? old_page : old_rest;
      const auto place = at < first ? header + at : at - first;
      const auto bytes = std::min<std::uint64_t>(64, piece.size() - place);
      std::copy_n(old.begin() + static_cast<std::ptrdiff_t>(place), bytes, piece.get() + place);
      const auto seen = view();
      EXPECT_TRUE(seen == "again" || seen == good)
          << at << ": " << seen;  // good: that line holds padding only
    }
    std::copy(old_page.begin() + header, old_page.end(), page.get() + header);
    std::copy(old_rest.begin(), old_rest.end(), rest.get());
    EXPECT_EQ(view(), "again");  // all of it old but the length
  }
}

struct KeyedCardImage : ::testing::Test {
  KeyedCardImage() {
    key.raw.fill(7);
    log.log.check_with({&key, 3});
    put(log, PMIX_GLOBAL, "a", "first piece");
    seam = log.published();
    put(log, PMIX_GLOBAL, "b", "0123456789");
    put(log, PMIX_GLOBAL, "c", std::string(100, 'c'));
  }
  std::string read(const CardKey* with, std::uint32_t rank, std::uint64_t from = 0) const {
    return told(image_of({log.block.get(), header + 128}, {log.rest.get(), log.log.published() - 128},
                         {128, 1024}, from, {with, rank}));
  }
  CardKey key;
  ExactLog log{1024, 8, 128};
  std::uint64_t seam = 0;
};

TEST_F(KeyedCardImage, is_read_with_the_key_of_its_job_as_the_card_of_its_rank) {
  const auto all = "a=first piece;b=0123456789;c=" + std::string(100, 'c') + ';';
  EXPECT_EQ(read(&key, 3), all);
  EXPECT_EQ(read(&key, 3, seam), all.substr(14));
  EXPECT_EQ(read(&key, 4), "again") << "another rank's card";
  CardKey other = key;
  for (const std::size_t at : {0u, 15u, 16u, 31u}) {
    other.raw = key.raw;
    other.raw[at] ^= 1;
    EXPECT_EQ(read(&other, 3), "again") << "another job's key";
  }
  EXPECT_EQ(read(nullptr, 3), "again") << "a hash without a key is not what the rank left";
}

TEST_F(KeyedCardImage, of_a_writer_without_the_key_is_refused) {
  ExactLog plain(1024, 8, 128);
  put(plain, PMIX_GLOBAL, "a", "first piece");
  const auto with = [&](const CardKey* which) {
    return told(image_of({plain.block.get(), header + 128}, {}, {128, 1024}, 0, {which, 3}));
  };
  EXPECT_EQ(with(nullptr), "a=first piece;");
  EXPECT_EQ(with(&key), "again");
}

TEST_F(KeyedCardImage, every_changed_byte_and_every_moved_record_is_refused) {
  ASSERT_EQ(seam, 40u);
  const std::vector<std::byte> good(log.block.get(), log.block.get() + log.block.size());
  for (std::uint64_t at = 0; at < 24 + 1 + 11; ++at) {
    log.data()[at] ^= std::byte{0x10};
    const auto seen = read(&key, 3);
    EXPECT_EQ(seen, "again") << "byte " << at;
    log.data()[at] ^= std::byte{0x10};
  }
  // An older record in the place of a newer one of the same length.
  std::copy_n(log.data(), 40, log.data() + seam);
  EXPECT_EQ(read(&key, 3), "again");
  std::copy(good.begin(), good.end(), log.block.get());
  EXPECT_NE(read(&key, 3), "again");
}

TEST(CardImage, lengths_that_cannot_be_are_corrupt) {
  ExactLog log(256, 8, 128);
  put(log, PMIX_GLOBAL, "k", "v");
  const auto read = [&](CardShape shape) {
    return told(image_of({log.block.get(), header + 128}, {log.rest.get(), 128}, shape));
  };
  EXPECT_EQ(read({128, 256}), "k=v;");
  EXPECT_EQ(read({300, 256}), "corrupt");
  EXPECT_EQ(read({8, 16}), "corrupt");
  for (const std::uint64_t lie :
       {std::uint64_t{264}, std::uint64_t{4}, ~std::uint64_t{0}, ~std::uint64_t{7}}) {
    log.published() = lie;
    EXPECT_EQ(read({128, 256}), "corrupt") << lie;
  }
  log.published() = 256;
  EXPECT_EQ(read({128, 256}), "again");  // the gap that would be there has no mark
}

TEST(CardImage, damage_ends_in_an_answer) {
  testing::Watchdog watchdog;
  testing::Random random;
  std::size_t seen = 0, told_again = 0;
  for (const std::uint64_t first : {512u, 200u}) {
    ExactLog log(512, 8, first);
    const CardShape shape{first, 512};
    for (const auto* key : {"a", "key.one", "key.two", "longer.key"})
      put(log, PMIX_GLOBAL, key, std::string(40, 'v'));
    const testing::ExactBlock page(header + std::min(first, log.published()));
    const testing::ExactBlock rest(std::max<std::uint64_t>(log.published(), first) - first);
    const auto view = [&] { return image_of({page.get(), page.size()}, {rest.get(), rest.size()}, shape); };
    for (unsigned round = 0; round < testing::rounds(50'000); ++round) {
      std::copy_n(log.block.get(), page.size(), page.get());
      std::copy_n(log.rest.get(), rest.size(), rest.get());
      ASSERT_TRUE(view());
      testing::damage(random, page.get(), page.size());
      if (random.below(2) == 0) testing::damage(random, rest.get(), rest.size());
      const auto image = view();
      if (!image) ++told_again;
      if (image)
        for (const auto& r : image->records) seen += r.key.size() + static_cast<std::size_t>(r.value.back());
    }
  }
  EXPECT_GT(seen, 0u);
  EXPECT_GT(told_again, 0u);
}

// The reader's copy goes from the end to the start, the worst order: it gets whole records or is told to read
// again.
TEST(CardImage, reading_while_the_rank_writes_never_gives_half_a_record) {
  if (testing::thread_sanitized)
    GTEST_SKIP() << "a read by the fabric races by design; the check is what tells";
  testing::Watchdog watchdog;
  std::size_t whole = 0, again = 0, wrong = 0;
  for (unsigned round = 0; round < testing::rounds(200); ++round) {
    ExactLog log(64 << 10, 8, 3008);
    std::atomic<bool> done{false};
    std::thread writer([&] {
      for (std::uint64_t n = 1; log.log.append({rank0, PMIX_GLOBAL, "key", numbered_value(n)}); ++n) {
      }
      done.store(true);
    });
    std::vector<std::byte> page(header + 3008), rest((64 << 10) - 3008);
    const auto copy_back = [](const std::byte* from, std::vector<std::byte>& to) {
      for (std::size_t at = to.size(); at != 0; at -= 8) std::memcpy(&to[at - 8], from + at - 8, 8);
    };
    for (bool last = false; !last;) {
      last = done.load();
      copy_back(log.rest.get(), rest);
      copy_back(log.block.get(), page);
      const auto image = image_of(page, rest, {3008, 64 << 10});
      if (!image) {
        wrong += image.error().code != Errc::again;
        ++again;
        ASSERT_FALSE(last);  // the writer has ended
        continue;
      }
      ++whole;
      std::uint64_t n = 0;
      for (const auto& record : image->records) wrong += number_of(record.value) != ++n;
    }
    writer.join();
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(whole, 0u);
  RecordProperty("again", static_cast<int>(again));
}

}  // namespace
}  // namespace weft::store
