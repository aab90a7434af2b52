// SPDX-License-Identifier: BSD-3-Clause
// Bytes from any process that can reach the fabric.
#include <random>

#include "tests/unit/transport/mesh/nodes.hpp"
#include "transport/mesh/flags.hpp"

namespace weft::mesh {
namespace {

class TrustTest : public Nodes {
 protected:
  void SetUp() override {
    a = &start(0, 5);
    ASSERT_TRUE(a->mesh->expect(1) && a->mesh->expect(2));
    stranger = std::move(*transport().open({}));
    to_a = std::move(*stranger->reach(a->endpoint->address()));
    done.done = [](Completion&, Result<void>) noexcept {};
  }
  struct Sealed {
    std::vector<std::byte> header, payload;
  };
  void throw_at_a(const Sealed& message) { throw_at_a(message.header, message.payload); }
  /// Puts bytes on the wire, whatever they are.
  void throw_at_a(Bytes header, Bytes payload = {}) {
    ASSERT_TRUE(stranger->send(*to_a, 0, {header, payload}, done));
    turns();
  }
  void turns() {
    for (int i = 0; i < 20; ++i) {
      stranger->progress();
      turn();
    }
  }
  Sealed sealed(const JobKey& with, const NodeIncarnation& to, const Envelope& envelope, Bytes header = {},
                Bytes payload = {}) {
    std::vector<std::byte> text(header.begin(), header.end());
    text.insert(text.end(), payload.begin(), payload.end());
    Sealed out;
    out.header.resize(Envelope::bytes);
    seal(with, to, envelope, header.size(), text,
         std::span<std::byte, Envelope::bytes>(out.header.data(), Envelope::bytes));
    const auto middle = text.begin() + static_cast<std::ptrdiff_t>(header.size());
    out.header.insert(out.header.end(), text.begin(), middle);
    out.payload.assign(middle, text.end());
    return out;
  }
  std::uint64_t refused(Refusal why) { return a->mesh->counters().refused[static_cast<std::size_t>(why)]; }

  const NodeIncarnation me{0, 5}, sender{1, 3};
  std::unique_ptr<Endpoint> stranger;
  std::unique_ptr<Peer> to_a;
  Completion done;
};

TEST_F(TrustTest, noise_is_counted_and_told_once) {
  std::mt19937 random(7);
  for (unsigned i = 0; i < 3000; ++i) {
    auto noise = pattern(random() % 200, i);
    if (noise.size() >= 2 && random() % 2 == 0) noise[0] = std::byte{protocol_version}, noise[1] = {};
    if (noise.size() >= 8 && random() % 2 == 0)
      noise[4] = std::byte(random() % 20), noise[5] = noise[6] = noise[7] = {};
    const auto split = noise.empty() ? 0 : random() % noise.size();
    throw_at_a(Bytes(noise).first(split), Bytes(noise).subspan(split));
  }
  EXPECT_EQ(a->count, 0u);
  std::uint64_t all = 0;
  for (const auto count : a->mesh->counters().refused) all += count;
  EXPECT_EQ(all, 3000u);
  EXPECT_GT(refused(Refusal::malformed), 0u);
  EXPECT_GT(refused(Refusal::not_authentic), 0u);
  EXPECT_GT(refused(Refusal::unknown_sender), 0u);
  EXPECT_EQ(a->refused.size(), 3u) << "strangers, node 1, node 2: once each";
  EXPECT_TRUE(a->lost.empty());
}

TEST_F(TrustTest, what_has_the_key_is_heard_once) {
  const auto right = sealed(key, me, {.id = 1, .from = sender, .sequence = 1}, as_bytes("h"), as_bytes("p"));
  for (int i = 0; i < 5; ++i) throw_at_a(right);
  ASSERT_EQ(a->count, 1u);
  EXPECT_EQ(a->heard[0].header, "h");
  EXPECT_EQ(refused(Refusal::replayed), 4u);
}

TEST_F(TrustTest, another_key_another_receiver_another_life) {
  const Envelope envelope{.id = 1, .from = sender, .sequence = 1};
  throw_at_a(sealed(JobKey::random(), me, envelope));
  throw_at_a(sealed(key, {2, 5}, envelope));
  throw_at_a(sealed(key, {0, 4}, envelope));  // recorded when we lived before
  EXPECT_EQ(refused(Refusal::not_authentic), 3u);
  throw_at_a(sealed(key, me, {.id = 1, .from = {0, 5}, .sequence = 1}));  // from ourselves
  EXPECT_EQ(refused(Refusal::unknown_sender), 1u);
  throw_at_a(sealed(key, me, envelope));
  EXPECT_EQ(a->count, 1u);
  throw_at_a(sealed(key, me, {.id = 1, .from = {1, 2}, .sequence = 9}));
  throw_at_a(
      sealed(key, me, {.id = 1, .from = {1, 4}, .sequence = 9}));  // a later one has to be entered first
  EXPECT_EQ(refused(Refusal::stale_incarnation), 2u);
  EXPECT_EQ(a->count, 1u);
}

/// One that has the key and breaks the rules is a bug of ours: it is lost, by name, and what it sent does no
/// harm.
TEST_F(TrustTest, pieces_that_break_the_rules_cost_their_sender_its_place) {
  const auto pieces = [&](std::uint64_t sequence, Bytes header, Bytes payload) {
    throw_at_a(sealed(key, me, {.flags = flag::piece, .id = 1, .from = sender, .sequence = sequence}, header,
                      payload));
  };
  const Piece outside{.message = 1, .total = 10, .offset = 8};
  const auto bytes = pattern(3, 1);
  pieces(1, std::as_bytes(std::span(&outside, 1)), bytes);
  ASSERT_EQ(a->lost.size(), 1u);
  EXPECT_EQ(a->lost[0], "1: a piece outside of its message");
  EXPECT_EQ(a->count, 0u);
  pieces(2, {}, bytes);
  EXPECT_EQ(refused(Refusal::stale_incarnation), 1u);
}

TEST_F(TrustTest, a_piece_without_its_place) {
  throw_at_a(sealed(key, me, {.flags = flag::piece, .id = 1, .from = sender, .sequence = 1}));
  EXPECT_EQ(a->lost.size(), 1u);
}

TEST_F(TrustTest, a_message_of_another_version_is_refused_by_both_numbers) {
  auto other = sealed(key, me, {.id = 1, .from = sender, .sequence = 1});
  other.header[0] ^= std::byte{1};
  other.header.resize(Envelope::bytes + 3);  // whatever that version has behind
  throw_at_a(other);
  EXPECT_EQ(a->count, 0u);
  EXPECT_EQ(refused(Refusal::other_version), 1u);
  const auto theirs = std::to_string(protocol_version ^ 1);
  EXPECT_EQ(a->refused,
            std::vector<std::string>{"1: " + std::string(to_text(Refusal::other_version)) + " " + theirs});
  throw_at_a(sealed(key, me, {.id = 1, .from = sender, .sequence = 1}));
  EXPECT_EQ(a->count, 1u) << "its sequence number was not used up";
}

TEST_F(TrustTest, an_excluded_node_is_lost_until_a_later_incarnation) {
  EXPECT_FALSE(a->mesh->exclude(0, "oneself"));
  EXPECT_FALSE(a->mesh->exclude(99, "none"));
  ASSERT_TRUE(a->mesh->exclude(1, "because"));
  ASSERT_TRUE(a->mesh->exclude(1, "again"));
  turns();
  EXPECT_EQ(a->lost, std::vector<std::string>{"1: because"});
  Sending sending;
  EXPECT_EQ(a->mesh->send(1, 1, {}, {}, sending).error().code, Errc::peer_lost);
  throw_at_a(sealed(key, me, {.id = 1, .from = sender, .sequence = 1}));
  EXPECT_EQ(refused(Refusal::stale_incarnation), 1u);
  ASSERT_TRUE(a->mesh->add_peer(1, {.incarnation = 3, .address = stranger->address(), .keys = {}}));
  throw_at_a(sealed(key, me, {.id = 1, .from = sender, .sequence = 1}));
  EXPECT_EQ(a->count, 1u);
}

TEST_F(TrustTest, a_probe_from_a_node_whose_contact_is_not_known_is_not_answered) {
  throw_at_a(sealed(key, me, {.flags = flag::probe, .from = sender, .sequence = 1}));
  EXPECT_EQ(a->mesh->state(1), NodeState::heard);
  EXPECT_TRUE(a->lost.empty());
  EXPECT_EQ(a->count, 0u);
}

}  // namespace
}  // namespace weft::mesh
