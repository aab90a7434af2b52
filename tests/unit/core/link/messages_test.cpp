// SPDX-License-Identifier: BSD-3-Clause
// Every message there and back; and what comes out of bytes that are no message.
#include "core/link/requests.hpp"

#include <algorithm>

#include "tests/unit/transport/shm/testing.hpp"

namespace weft::link {
namespace {

using data::Infos;
using data::Value;
using Encoded = std::vector<std::byte>;

Infos some_infos() {
  Infos out;
  out.add(PMIX_TIMEOUT, Value::of(std::uint32_t{5}));
  out.add("text", Value::of("value"), PMIX_INFO_REQD);
  out.add("bytes", Value::of_bytes(as_bytes("\x01\x02")));
  return out;
}

/// A message of each type with every field set to something that is not its default.
template <class Message>
Message sample();
template <>
Hello sample() {
  return {7, 3, 1, "name.space", 4, *Token::parse("00112233445566778899aabbccddeeff")};
}
template <>
Welcome sample() {
  return {std::uint64_t{1} << 36, 4096, 3, "server", 2, 1, make_proc("a.tool", 2)};
}
template <>
Refused sample() {
  return {PMIX_ERR_NO_PERMISSIONS, "because"};
}
template <>
Get sample() {
  return {make_proc("job", 9), "key", some_infos()};
}
template <>
GotValue sample() {
  return {PMIX_SUCCESS, Value::of("found")};
}
template <>
Store sample() {
  return {{{1, "k1", {std::byte{1}, std::byte{2}}}, {3, "k2", {}}}};
}
template <>
Fence sample() {
  return {{make_proc("a", 0), make_proc("b", PMIX_RANK_WILDCARD)}, some_infos()};
}
template <>
Withdraw sample() {
  return {0xfffffffe, 256};
}
template <>
FenceDirectives sample() {
  return {0xfffffffe, 256, some_infos()};
}
template <>
TurnedAway sample() {
  return {0xfffffffe, 256};
}
template <>
Done sample() {
  return {PMIX_ERR_TIMEOUT};
}
template <>
BoardMoved sample() {
  return {77, 3};
}
template <>
BoardOffer sample() {
  return {PMIX_ERR_TIMEOUT, 256, 0x7fffffff, 1023, 0xfffffffe};
}
template <>
Abort sample() {
  return {42, "message", {make_proc("a", 1)}};
}
template <>
Subscribe sample() {
  return {{PMIX_ERR_PROC_ABORTED, -1, 0}};
}
template <>
Unsubscribe sample() {
  return {{PMIX_ERR_PROC_ABORTED, -1, 0}};
}
template <>
EventMessage sample() {
  return {PMIX_ERR_PROC_ABORTED, make_proc("a", 3), PMIX_RANGE_NAMESPACE, some_infos()};
}
template <>
Log sample() {
  return {some_infos(), some_infos()};
}
std::vector<pmix_proc_t> some_procs() {
  return {make_proc("a", 0), make_proc("b", PMIX_RANK_WILDCARD)};
}
template <>
Publish sample() {
  return {some_infos()};
}
template <>
Lookup sample() {
  return {{"one", "two"}, some_infos()};
}
template <>
Unpublish sample() {
  return {{"one"}, some_infos()};
}
template <>
Spawn sample() {
  return {some_infos(), Value::of("an array of applications")};
}
template <>
Connect sample() {
  return {some_procs(), some_infos()};
}
template <>
Disconnect sample() {
  return {some_procs(), some_infos()};
}
template <>
GroupConstruct sample() {
  return {"group", some_procs(), some_infos(), 50};
}
template <>
GroupDestruct sample() {
  return {"group", some_infos(), 50};
}
template <>
GroupMembers sample() {
  return {{{"job", 3, 5}, {"job", 0, 0}}, 1, 257, 3, 17, {{"job", 3, 4}}};
}
template <>
GroupInvite sample() {
  return {"group", some_procs(), some_infos()};
}
template <>
GroupJoin sample() {
  return {"group", make_proc("a", 3), 1, some_infos()};
}
template <>
GroupLeave sample() {
  return {"group", some_infos()};
}
template <>
GroupFence sample() {
  return {"group", some_infos(), 70};
}
template <>
GroupQuestion sample() {
  return {7,
          "invitation to group g",
          {PMIX_GROUP_INVITE_FAILED, PMIX_GROUP_MEMBER_FAILED},
          make_proc("a", 3),
          some_infos()};
}
template <>
GroupVerdict sample() {
  return {7, GroupVerdict::By::handlers, PMIX_GROUP_CONSTRUCT_ABORT, some_infos()};
}
template <>
GroupChange sample() {
  return {"group", {{"job", 3, 5}}, 12};
}
template <>
Allocate sample() {
  return {PMIX_ALLOC_EXTEND, some_infos()};
}
template <>
JobControl sample() {
  return {some_procs(), some_infos()};
}
template <>
Monitor sample() {
  return {some_infos(), PMIX_ERR_TIMEOUT, some_infos()};
}
template <>
GetCredential sample() {
  return {some_infos()};
}
template <>
ValidateCredential sample() {
  return {{std::byte{1}, std::byte{2}}, some_infos()};
}
template <>
PullOutput sample() {
  return {5, some_procs(), PMIX_FWD_STDOUT_CHANNEL, some_infos()};
}
template <>
StopOutput sample() {
  return {5, some_infos()};
}
template <>
PushInput sample() {
  return {some_procs(), some_infos(), {std::byte{1}}};
}
template <>
Fabric sample() {
  return {PMIX_FABRIC_UPDATE_INFO, some_infos()};
}
template <>
Answer sample() {
  return {PMIX_ERR_PARTIAL_SUCCESS, Value::of("namespace"), some_infos()};
}
template <>
Output sample() {
  return {5, make_proc("a", 1), PMIX_FWD_STDERR_CHANNEL, {std::byte{1}}, some_infos()};
}
template <>
HelloTool sample() {
  return {7, 1, "a.tool", 2, "version"};
}
template <>
Query sample() {
  Query out;
  out.items.push_back({{"one", "two"}, some_infos()});
  out.items.push_back({{"three"}, {}});
  return out;
}
template <>
QueryAnswer sample() {
  return {PMIX_SUCCESS, some_infos()};
}

template <class Message>
struct EachMessage : ::testing::Test {};
using Messages =
    ::testing::Types<Hello, Welcome, Refused, Get, GotValue, Store, Fence, Withdraw, FenceDirectives,
                     TurnedAway, Done, BoardMoved, BoardOffer, Abort, Subscribe, Unsubscribe, EventMessage,
                     Log, HelloTool, Query, QueryAnswer, Publish, Lookup, Unpublish, Spawn, Connect,
                     Disconnect, GroupConstruct, GroupDestruct, GroupMembers, GroupInvite, GroupJoin,
                     GroupLeave, GroupFence, GroupQuestion, GroupVerdict, GroupChange, Allocate, JobControl,
                     Monitor, GetCredential, ValidateCredential, PullOutput, StopOutput, PushInput, Fabric,
                     Answer, Output>;
TYPED_TEST_SUITE(EachMessage, Messages);

/// Decodes from memory that ends where the bytes end.
template <class Message>
Result<Message> decode_exact(const Encoded& bytes, std::size_t length) {
  const testing::ExactBlock exact(std::max<std::size_t>(length, 1));
  std::copy_n(bytes.begin(), length, exact.get());
  return decode<Message>({exact.get(), length});
}

TYPED_TEST(EachMessage, comes_back_as_it_went) {
  const auto bytes = encode(sample<TypeParam>());
  const auto back = decode_exact<TypeParam>(bytes, bytes.size());
  ASSERT_TRUE(back);
  EXPECT_EQ(encode(*back), bytes);
  EXPECT_NE(bytes, encode(TypeParam{}));  // the sample would not show a field that is left out otherwise
}

TYPED_TEST(EachMessage, comes_back_when_it_is_empty) {
  const auto bytes = encode(TypeParam{});
  const auto back = decode_exact<TypeParam>(bytes, bytes.size());
  ASSERT_TRUE(back);
  EXPECT_EQ(encode(*back), bytes);
}

TYPED_TEST(EachMessage, cut_anywhere_it_is_corrupt) {
  const auto bytes = encode(sample<TypeParam>());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto cut = decode_exact<TypeParam>(bytes, length);
    ASSERT_FALSE(cut) << length;
    ASSERT_EQ(cut.error().code, Errc::corrupt);
  }
}

TYPED_TEST(EachMessage, with_a_byte_too_many_it_is_corrupt) {
  auto bytes = encode(sample<TypeParam>());
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode_exact<TypeParam>(bytes, bytes.size()));
}

// Bytes that survive damage are a message again, which can be sent on.
TYPED_TEST(EachMessage, damage_ends_in_an_answer) {
  testing::Watchdog watchdog;
  testing::Random random;
  const auto good = encode(sample<TypeParam>());
  for (unsigned round = 0; round < testing::rounds(7'000); ++round) {
    auto bytes = good;
    testing::damage(random, bytes.data(), bytes.size());
    const auto message = decode_exact<TypeParam>(bytes, bytes.size());
    if (!message) continue;
    const auto again = encode(*message);
    ASSERT_TRUE(decode_exact<TypeParam>(again, again.size()));
  }
}

TYPED_TEST(EachMessage, noise_ends_in_an_answer) {
  testing::Watchdog watchdog;
  testing::Random random;
  for (unsigned round = 0; round < testing::rounds(7'000); ++round) {
    Encoded bytes(random.below(200));
    // Small numbers are often lengths that could be: noise of full bytes ends at the first of them.
    const auto range = random.below(2) == 0 ? 256 : 1 + random.below(8);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random.below(range));
    (void)decode_exact<TypeParam>(bytes, bytes.size());
  }
}

TEST(Message, fields_arrive_in_their_places) {
  const auto hello = decode<Hello>(encode(sample<Hello>()));
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->wire, 7);
  EXPECT_EQ(hello->layout, 3u);
  EXPECT_EQ(hello->attached, 1);
  EXPECT_EQ(hello->nspace, "name.space");
  EXPECT_EQ(hello->rank, 4u);
  EXPECT_EQ(hello->token.hex(), "00112233445566778899aabbccddeeff");
  const auto offer = decode<BoardOffer>(encode(sample<BoardOffer>()));
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->status, PMIX_ERR_TIMEOUT);
  EXPECT_EQ(offer->board, 256u);
  EXPECT_EQ(offer->incarnation, 0x7fffffffu);
  EXPECT_EQ(offer->member, 1023u);
  EXPECT_EQ(offer->next, 0xfffffffeu);
  const auto withdraw = decode<Withdraw>(encode(sample<Withdraw>()));
  ASSERT_TRUE(withdraw);
  EXPECT_EQ(withdraw->board, 256u);
  const auto fence = decode<Fence>(encode(sample<Fence>()));
  ASSERT_TRUE(fence);
  ASSERT_EQ(fence->procs.size(), 2u);
  EXPECT_EQ(nspace_of(fence->procs[1]), "b");
  EXPECT_EQ(fence->procs[1].rank, PMIX_RANK_WILDCARD);
  EXPECT_EQ(fence->directives.find("text")->flags, PMIX_INFO_REQD);
}

// A server of another version has to be able to say which one it met.
TEST(Message, the_version_is_the_first_field_of_a_hello) {
  for (const auto& bytes : {encode(Hello{}), encode(HelloTool{})}) {
    data::Reader peek(bytes);
    EXPECT_EQ(peek.u16(), wire_version);
  }
}

TEST(Message, a_count_beyond_the_message_asks_for_no_memory) {
  data::Writer lie;
  lie.u32(0xffffffff);
  EXPECT_EQ(decode<Store>(lie.view()).error().code, Errc::corrupt);
  EXPECT_EQ(decode<Subscribe>(lie.view()).error().code, Errc::corrupt);
  EXPECT_EQ(decode<Fence>(lie.view()).error().code, Errc::corrupt);
  EXPECT_EQ(decode<Query>(lie.view()).error().code, Errc::corrupt);
}

TEST(MakeProc, cuts_what_is_too_long) {
  const std::string longest(PMIX_MAX_NSLEN, 'n');
  EXPECT_EQ(nspace_of(make_proc(longest, 1)), longest);
  EXPECT_EQ(nspace_of(make_proc(longest + "n", 1)).size(), std::size_t{PMIX_MAX_NSLEN});
  EXPECT_EQ(nspace_of(make_proc("", 1)), "");
  pmix_proc_t unterminated;
  std::memset(&unterminated, 'x', sizeof unterminated);
  EXPECT_EQ(nspace_of(unterminated).size(), std::size_t{PMIX_MAX_NSLEN});
}

}  // namespace
}  // namespace weft::link
