// SPDX-License-Identifier: BSD-3-Clause
#include "transport/mesh/envelope.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::mesh {
namespace {

struct Sealed {
  std::vector<std::byte> header, payload;
  Message message() const { return {header, payload}; }
};

Sealed sealed(const JobKey& key, const NodeIncarnation& to, const Envelope& envelope, std::string_view header,
              std::string_view payload) {
  Sealed out;
  const auto h = as_bytes(header), p = as_bytes(payload);
  std::vector<std::byte> text(h.begin(), h.end());
  text.insert(text.end(), p.begin(), p.end());
  out.header.resize(Envelope::bytes);
  seal(key, to, envelope, h.size(), text,
       std::span<std::byte, Envelope::bytes>(out.header.data(), Envelope::bytes));
  const auto middle = text.begin() + static_cast<std::ptrdiff_t>(h.size());
  out.header.insert(out.header.end(), text.begin(), middle);
  out.payload.assign(middle, text.end());
  return out;
}

/// With memory of its own, as the mesh has it.
Result<VerifiedMessage> open(const JobKey& key, const NodeIncarnation& me, const Message& message) {
  static std::vector<std::byte> text;
  return open(key, me, message, text);
}

const NodeIncarnation receiver{9, 4};
const Envelope example{.flags = 3, .id = 0xab, .from = {7, 0x1122334455667788}, .sequence = 42};

TEST(Envelope, what_was_sealed_opens) {
  const auto key = JobKey::random();
  for (const char* header : {"", "h", "a header of some length"}) {
    for (const char* payload : {"", "payload"}) {
      const auto message = sealed(key, receiver, example, header, payload);
      const auto opened = open(key, receiver, message.message());
      ASSERT_TRUE(opened);
      EXPECT_EQ(opened->envelope.flags, 3);
      EXPECT_EQ(opened->envelope.id, 0xab);
      EXPECT_EQ(opened->envelope.from.node, 7u);
      EXPECT_EQ(opened->envelope.from.incarnation, 0x1122334455667788u);
      EXPECT_EQ(opened->envelope.sequence, 42u);
      EXPECT_EQ(as_text(opened->header), header);
      EXPECT_EQ(as_text(opened->payload), payload);
      const auto claim = claim_of(message.header);
      ASSERT_TRUE(claim);
      EXPECT_EQ(claim->version, protocol_version);
      EXPECT_EQ(claim->from, 7u);
    }
  }
}

TEST(Envelope, nothing_of_the_text_is_seen) {
  const auto key = JobKey::random();
  const auto message = sealed(key, receiver, example, "a header to hide", "a payload to hide");
  for (const Bytes bytes : {Bytes(message.header), Bytes(message.payload)})
    EXPECT_EQ(as_text(bytes).find("hide"), std::string_view::npos);
  const auto next = sealed(key, receiver, {.flags = 3, .id = 0xab, .from = example.from, .sequence = 43},
                           "a header to hide", "a payload to hide");
  EXPECT_NE(next.payload, message.payload) << "the same key stream twice";
}

TEST(Envelope, a_message_that_the_fabric_seals_is_left_as_it_is) {
  std::vector<std::byte> header(Envelope::bytes);
  write_unsealed(example, std::span<std::byte, Envelope::bytes>(header.data(), Envelope::bytes));
  const auto opened = open_unsealed({header, as_bytes("payload")});
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->envelope.sequence, 42u);
  EXPECT_EQ(as_text(opened->payload), "payload");
  EXPECT_FALSE(open(JobKey::random(), receiver, {header, as_bytes("payload")}))
      << "it proves nothing elsewhere";
  EXPECT_FALSE(open_unsealed({Bytes(header).first(39), {}}));
}

TEST(Envelope, any_changed_bit_is_refused) {
  const auto key = JobKey::random();
  const auto right = sealed(key, receiver, example, "header", "payload");
  const std::size_t bytes = right.header.size() + right.payload.size();
  for (std::size_t bit = 0; bit < bytes * 8; ++bit) {
    auto wrong = right;
    auto& byte =
        bit / 8 < wrong.header.size() ? wrong.header[bit / 8] : wrong.payload[bit / 8 - wrong.header.size()];
    byte ^= std::byte{1} << (bit % 8);
    const auto opened = open(key, receiver, wrong.message());
    ASSERT_FALSE(opened) << "bit " << bit;
    EXPECT_EQ(opened.error().code, bit < 16 ? Errc::corrupt : Errc::denied) << "bit " << bit;
  }
}

TEST(Envelope, another_key_another_receiver_another_length) {
  const auto key = JobKey::random();
  const auto right = sealed(key, receiver, example, "header", "payload");
  EXPECT_EQ(open(JobKey::random(), receiver, right.message()).error().code, Errc::denied);
  EXPECT_EQ(open(key, {8, 4}, right.message()).error().code, Errc::denied);
  EXPECT_EQ(open(key, {9, 5}, right.message()).error().code, Errc::denied);
  for (std::size_t length = 0; length < right.header.size(); ++length) {
    const auto cut = open(key, receiver, {Bytes(right.header).first(length), right.payload});
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().code, length < Envelope::bytes ? Errc::corrupt : Errc::denied);
  }
}

TEST(Envelope, bytes_do_not_wander_between_header_and_payload) {
  const auto key = JobKey::random();
  auto moved = sealed(key, receiver, example, "header", "payload");
  moved.payload.insert(moved.payload.begin(), moved.header.back());
  moved.header.pop_back();
  EXPECT_EQ(open(key, receiver, moved.message()).error().code, Errc::denied);
}

TEST(JobKey, has_its_length) {
  const std::vector<std::byte> raw(32, std::byte{5});
  EXPECT_TRUE(JobKey::from(raw));
  EXPECT_FALSE(JobKey::from(Bytes(raw).first(31)));
  EXPECT_FALSE(JobKey::from({}));
}

}  // namespace
}  // namespace weft::mesh
