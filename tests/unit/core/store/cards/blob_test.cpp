// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/cards/blob.hpp"

#include <gtest/gtest.h>

#include <string>

#include "pmix_common.h"

namespace weft::store {
namespace {

std::vector<std::byte> blob(BlobKind kind, std::string_view text) {
  auto out = begin_blob(kind);
  out.raw(as_bytes(text));
  return finish_blob(std::move(out));
}

std::vector<std::byte> operator+(std::vector<std::byte> a, const std::vector<std::byte>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Blob, all_of_several_nodes_are_seen_in_their_order) {
  const auto all =
      blob(BlobKind::cards, "one") + blob(BlobKind::generated, "") + blob(BlobKind::cards, "two");
  std::string seen;
  const auto see = [&](BlobKind kind, Bytes body) {
    seen += kind == BlobKind::cards ? "c:" : "g:";
    seen.append(reinterpret_cast<const char*>(body.data()), body.size());
    seen += ' ';
  };
  EXPECT_TRUE(read_blobs(all, see));
  EXPECT_EQ(seen, "c:one g: c:two ");
  EXPECT_EQ(count_blobs(all, BlobKind::cards), 2u);
  EXPECT_EQ(count_blobs(all, BlobKind::failure), 0u);
  EXPECT_EQ(count_blobs({}, BlobKind::cards), 0u);
}

TEST(Blob, a_failure_is_found_among_others) {
  const auto cards = blob(BlobKind::cards, "one");
  EXPECT_EQ(failure_in(cards), 0);
  EXPECT_EQ(failure_in({}), 0);
  const auto failed = cards + failure_blob(PMIX_ERR_TIMEOUT) + failure_blob(PMIX_ERR_PROC_ABORTED);
  EXPECT_EQ(failure_in(failed), PMIX_ERR_TIMEOUT);
  EXPECT_EQ(failure_in(cards + blob(BlobKind::failure, "abc")), 0) << "a status that is cut short";
}

TEST(Blob, no_part_of_one_passes_for_a_whole_one) {
  const auto all = blob(BlobKind::cards, "one") + failure_blob(PMIX_ERR_TIMEOUT);
  const auto first = blob(BlobKind::cards, "one").size();
  for (std::size_t length = 1; length < all.size(); ++length)
    EXPECT_EQ(count_blobs(Bytes(all).first(length), BlobKind::cards), length == first ? 1u : 0u) << length;
  EXPECT_EQ(count_blobs(all + std::vector<std::byte>(8), BlobKind::cards), 0u) << "of no kind";
}

}  // namespace
}  // namespace weft::store
