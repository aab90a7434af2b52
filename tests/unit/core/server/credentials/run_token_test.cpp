// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/credentials/run_token.hpp"

#include <gtest/gtest.h>

#include "core/server/credentials/munge.hpp"

namespace weft::server {
namespace {

constexpr WallTime now{1'800'000'000};
const CredentialOwner owner{1000, 100, "job", 3};

CredentialKey key_of(std::uint8_t byte) {
  CredentialKey out;
  out.fill(byte);
  return out;
}

std::string text(WallTime at = now, const CredentialKey& key = key_of(1)) {
  const auto bytes = RunToken::make(owner, at, key);
  EXPECT_EQ(bytes.back(), std::byte{0}) << "a program may print it";
  return std::string(text_of_credential(bytes));
}

Errc error_of(std::string_view of, WallTime at = now) {
  const auto checked = RunToken::check(of, at, key_of(1));
  return checked ? Errc::again : checked.error().code;
}

TEST(RunToken, names_its_owner_under_its_key_alone) {
  const auto checked = RunToken::check(text(), now, key_of(1));
  ASSERT_TRUE(checked);
  EXPECT_EQ(*checked, owner);
  EXPECT_EQ(RunToken::check(text(), now, key_of(2)).error().code, Errc::denied);
  EXPECT_NE(text(), text()) << "a nonce makes them differ";
}

TEST(RunToken, counts_for_its_lifetime) {
  EXPECT_TRUE(RunToken::check(text(), now + RunToken::lifetime, key_of(1)));
  EXPECT_EQ(error_of(text(), now + RunToken::lifetime + std::chrono::seconds(1)), Errc::timeout);
  EXPECT_TRUE(RunToken::check(text(), now - RunToken::most_skew, key_of(1)));
  EXPECT_EQ(error_of(text(), now - RunToken::most_skew - std::chrono::seconds(1)), Errc::timeout);
}

TEST(RunToken, is_none_with_any_bit_changed_or_any_byte_missing) {
  const auto good = text();
  for (std::size_t at = 0; at < good.size(); ++at) {
    EXPECT_NE(error_of(good.substr(0, at)), Errc::again) << at;
    for (int bit = 0; bit < 8; ++bit) {
      auto changed = good;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      EXPECT_NE(error_of(changed), Errc::again) << at << " " << bit;
    }
  }
  EXPECT_NE(error_of(good + "A"), Errc::again);
  EXPECT_NE(error_of(good + good), Errc::again);
  EXPECT_EQ(error_of(""), Errc::corrupt);
  EXPECT_EQ(error_of("WEFT:"), Errc::corrupt);
  EXPECT_EQ(error_of("WEFT:" + std::string(64, 'A')), Errc::denied);
  EXPECT_EQ(error_of("WEFT:" + std::string(100'000, 'A')), Errc::corrupt);
}

TEST(Munge, is_not_supported_without_its_daemon) {
  Munge munge("/nonexistent/munge.socket");
  EXPECT_EQ(munge.encode("payload").error().code, Errc::not_supported);
  EXPECT_EQ(munge.decode("MUNGE:AAAA:").error().code, Errc::not_supported);
}

}  // namespace
}  // namespace weft::server
