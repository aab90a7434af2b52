// SPDX-License-Identifier: BSD-3-Clause
// A rank's card as the card of the fabric reads it, without the rank's or the server's doing: while it is
// written, half written at every place, and forged.
#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "core/store/cards/card.hpp"
#include "pmix_common.h"
#include "tests/conformance/fabric.hpp"
#include "tests/unit/core/store/cards/logs.hpp"

namespace weft::store {
namespace {

using conformance::Operations;

constexpr std::size_t header = sizeof(KeyedLog::Header);
constexpr std::uint64_t first = 3008;  // bytes of data in a card's page
constexpr std::uint32_t rank = 3;

class CardRace : public conformance::Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    key_.raw.fill(7);
    owner_ = open();
    reader_ = open();
    ASSERT_TRUE(owner_ && reader_);
    WEFT_NEEDS(rma, *owner_);
    auto exposed = owner_->endpoint->expose(page_);
    auto local = reader_->endpoint->expose(read_);
    ASSERT_TRUE(exposed && local);
    exposed_ = std::move(*exposed);
    local_ = std::move(*local);
    peer_ = reach(*reader_, *owner_);
    ASSERT_TRUE(peer_);
    auto remote = reader_->endpoint->import_key(*peer_, exposed_->packed_key());
    ASSERT_TRUE(remote);
    remote_ = std::move(*remote);
    // The card's memory is the page's first bytes; heads of the log lie behind its data, as in a segment.
    log_ = KeyedLog(page_.data(), first, buckets);
    log_.check_with({&key_, rank});
  }

  void TearDown() override {
    remote_.reset();
    peer_.reset();
    exposed_.reset();
    local_.reset();
  }

  void put(std::string_view key, Bytes value) { ASSERT_TRUE(log_.append({rank0, PMIX_GLOBAL, key, value})); }

  /// One read by the fabric, of the length and the whole first piece.
  Result<CardImage> read() {
    std::fill(read_.begin(), read_.end(), std::byte{0xee});
    Operations& gets = new_operations();
    EXPECT_TRUE(get(*reader_, {*remote_, 0}, {*local_, 0, header + first}, gets.next(),
                    {reader_.get(), owner_.get()}));
    EXPECT_TRUE(until({reader_.get(), owner_.get()}, [&] { return gets.open() == 0; }));
    EXPECT_TRUE(gets.errors.empty());
    const Bytes page(read_.data(), header + first);
    return read_card_image(page.first(header), {0, page.subspan(header), {}}, {first, first}, {&key_, rank});
  }

  /// Whether the image has the values 1, 2, 3, .. and nothing else.
  static bool is_right(const CardImage& image) {
    std::uint64_t number = 0;
    return image.whole &&
           std::all_of(image.records.begin(), image.records.end(),
                       [&](const CardRecord& record) { return number_of(record.value) == ++number; });
  }

  std::uint64_t published() const {
    std::uint64_t out = 0;
    std::memcpy(&out, page_.data(), sizeof out);
    return out;
  }

  static constexpr std::uint32_t buckets = 8;
  CardKey key_;
  alignas(64) std::array<std::byte, KeyedLog::footprint(first, buckets)> page_{};
  std::array<std::byte, header + first> read_{};
  std::unique_ptr<conformance::Station> owner_, reader_;
  std::unique_ptr<MemoryRegion> exposed_, local_;
  std::unique_ptr<Peer> peer_;
  std::unique_ptr<RemoteKey> remote_;
  KeyedLog log_;
};
INSTANTIATE_TEST_SUITE_P(On, CardRace, ::testing::ValuesIn(conformance::choices()),
                         [](const auto& choice) { return choice.param.name; });

TEST_P(CardRace, a_record_that_is_there_in_part_is_refused_at_every_place) {
  put("key", numbered_value(1));
  const auto old = page_;
  const auto from = published();
  put("key", numbered_value(2));
  const auto now = page_;
  const auto end = published();
  ASSERT_GT(end, from + 24);
  for (auto at = from; at < end; ++at) {
    // The length has come, and the record's bytes up to here.
    std::copy(old.begin() + static_cast<std::ptrdiff_t>(header + at),
              old.begin() + static_cast<std::ptrdiff_t>(header + end),
              page_.begin() + static_cast<std::ptrdiff_t>(header + at));
    const auto image = read();
    const bool is_padding =
        std::equal(now.begin() + header, now.begin() + static_cast<std::ptrdiff_t>(header + end),
                   page_.begin() + header);
    ASSERT_EQ(image.has_value(), is_padding) << at;
    if (!image) {
      ASSERT_EQ(image.error().code, Errc::again) << at;
    }
    page_ = now;
  }
  const auto image = read();
  ASSERT_TRUE(image);
  EXPECT_EQ(image->records.size(), 2u);
  EXPECT_TRUE(is_right(*image));
}

TEST_P(CardRace, a_forged_byte_is_refused_at_every_place) {
  put("key", numbered_value(1));
  put("key", numbered_value(2));
  std::uint64_t refused = 0;
  for (std::uint64_t at = 0; at < published(); ++at) {
    page_[header + at] ^= std::byte{1};
    const auto image = read();
    ASSERT_TRUE(!image || is_right(*image)) << at;
    refused += !image;
    page_[header + at] ^= std::byte{1};
  }
  EXPECT_GE(refused, published() - 2 * 7) << "all but the padding of two records";
  const auto image = read();
  ASSERT_TRUE(image);
  EXPECT_TRUE(is_right(*image));
}

TEST_P(CardRace, a_card_of_another_job_is_refused) {
  put("key", numbered_value(1));
  ASSERT_TRUE(read());
  CardKey other;
  other.raw.fill(8);
  page_.fill(std::byte{0});
  log_ = KeyedLog(page_.data(), first, buckets);
  log_.check_with({&other, rank});
  put("key", numbered_value(1));
  const auto image = read();
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code, Errc::again);
}

TEST_P(CardRace, a_card_that_is_written_all_the_while) {
  std::size_t whole = 0, again = 0;
  for (int round = 0; round < 10; ++round) {
    page_.fill(std::byte{0});
    log_ = KeyedLog(page_.data(), first, buckets);
    log_.check_with({&key_, rank});
    std::atomic<bool> has_ended{false}, begins{false};
    std::thread writer([&] {
      while (!begins.load()) {
      }
      for (std::uint64_t n = 1; log_.append({rank0, PMIX_GLOBAL, "key", numbered_value(n)}); ++n)
        std::this_thread::yield();
      has_ended.store(true);
    });
    begins.store(true);
    for (bool is_last = false; !is_last;) {
      is_last = has_ended.load();
      const auto image = read();
      if (!image) {
        EXPECT_EQ(image.error().code, Errc::again);
        EXPECT_FALSE(is_last);
        ++again;
        continue;
      }
      ++whole;
      EXPECT_TRUE(is_right(*image));
      if (is_last) {
        EXPECT_GT(image->records.size(), 20u);
      }
    }
    writer.join();
  }
  EXPECT_GE(whole, 10u);
  RecordProperty("again", static_cast<int>(again));
  RecordProperty("whole", static_cast<int>(whole));
}

}  // namespace
}  // namespace weft::store

int main(int argc, char** argv) {
  if (weft::conformance::choices().empty()) return 77;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
