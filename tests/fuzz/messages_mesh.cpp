// SPDX-License-Identifier: BSD-3-Clause
// Between servers: what the mesh and the collectives put in front of each message, and the contact of a
// server.
#include "collectives/message.hpp"
#include "tests/fuzz/decoders.hpp"
#include "transport/mesh/assemblies.hpp"
#include "transport/mesh/contact.hpp"
#include "transport/mesh/envelope.hpp"

namespace weft::fuzz {
namespace {

const mesh::JobKey& key() {
  static const auto fixed = *mesh::JobKey::from(Encoded(mesh::JobKey::bytes, std::byte{7}));
  return fixed;
}
const mesh::NodeIncarnation receiver{9, 4};

/// The header of a sealed message without payload. Only what was sealed opens.
bool opens(Bytes bytes) {
  const auto claim = mesh::claim_of(bytes);
  std::vector<std::byte> text;
  const auto opened = mesh::open(key(), receiver, {bytes, {}}, text);
  if (opened && (!claim || claim->from != opened->envelope.from.node)) std::abort();
  return opened.has_value();
}

}  // namespace

void add_mesh(Decoders& to) {
  const mesh::Contact contact{.incarnation = 5,
                              .address = {Encoded(20, std::byte{1})},
                              .keys = {Encoded(30, std::byte{2}), Encoded(1, std::byte{3})}};
  add<mesh::Contact>(to, "contact", {&contact});
  const mesh::Piece piece{1, 100, 50};
  add<mesh::Piece>(to, "piece", {&piece});
  Encoded sealed(mesh::Envelope::bytes);
  mesh::seal(key(), receiver, {.flags = 0, .id = 3, .from = {7, 8}, .sequence = 42}, 0, {},
             std::span<std::byte, mesh::Envelope::bytes>(sealed.data(), mesh::Envelope::bytes));
  to.push_back({"envelope", {sealed}, &opens, false});
}

void add_collectives(Decoders& to) {
  using collectives::MessageHeader;
  const MessageHeader data{.signature = {1, 2},
                           .generation = 3,
                           .blocks = {collectives::Index{1}, 2},
                           .members = 4,
                           .kind = collectives::Kind::exchange,
                           .phase = 1};
  MessageHeader abort = data;
  abort.type = MessageHeader::Type::abort;
  abort.why = collectives::Why::lost;
  abort.lost = 2;
  add<MessageHeader>(to, "collective", {&data, &abort});
}

}  // namespace weft::fuzz
