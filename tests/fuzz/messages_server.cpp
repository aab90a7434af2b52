// SPDX-License-Identifier: BSD-3-Clause
// Between servers: bodies of requests and replies, contacts, contributions to an exchange, cards.
#include "core/data/fields.hpp"
#include "core/link/messages.hpp"
#include "core/server/cards/card_message.hpp"
#include "core/server/cards/card_regions.hpp"
#include "core/server/cluster/messages.hpp"
#include "core/server/fences/contribution.hpp"
#include "core/server/reports/report.hpp"
#include "core/store/card.hpp"
#include "tests/fuzz/decoders.hpp"

namespace weft::fuzz {
namespace {

using namespace server;

FencePart part() {
  FencePart out;
  out.name = {{{"job", 0, 3}, {"other", 1, 1}}, 5};
  out.state = FencePart::State::waiting;
  out.ranks = 4;
  out.arrived = 3;
  out.algorithm = "bruck";
  out.waits_for = {1, 2};
  out.missing = {{"job", 2, 77, 1}};
  return out;
}

NodeReport report() {
  NodeReport out;
  out.host = "host";
  out.transport = "shm";
  out.jobs = {{"job", 4, 2, {1, 2, 0, 1}, 9}};
  out.fences = {part(), part()};
  return out;
}

/// Borrows from the bytes; only a plain one can be written again as it was.
bool is_contribution(Bytes bytes) {
  Packer packer;
  const auto unpacked = packer.unpack(bytes);
  if (!unpacked) return false;
  const auto again = packer.pack(unpacked->parts);
  if (!packer.unpack(again)) std::abort();
  return true;
}

}  // namespace

void add_server(Decoders& to) {
  const RpcHeader reply{.number = 7, .status = PMIX_ERR_NOT_FOUND, .type = 3, .is_reply = true};
  add<RpcHeader>(to, "rpc", {&reply});
  const ServerContact contact{
      3,
      "host",
      {.incarnation = 5, .address = {Encoded(20, std::byte{1})}, .keys = {Encoded(8, std::byte{2})}}};
  add<ServerContact>(to, "server_contact", {&contact});
  const CardRegions regions{.first = 1024,
                            .capacity = 1 << 20,
                            .page_bytes = 4096,
                            .rest_bytes = 1 << 20,
                            .pages = Encoded(16, std::byte{1}),
                            .rests = Encoded(16, std::byte{2}),
                            .ranks = {0, 2, 4}};
  add<CardRegions>(to, "card_regions", {&regions});
  const CardMessage card{"job", 7, 80, 72, false};
  add<CardMessage>(to, "card", {&card});
  const CardMessageReply card_reply{96, Encoded(5, std::byte{1})};
  add<CardMessageReply>(to, "card_reply", {&card_reply});
  const auto proc = link::make_proc("job", 3);
  add<pmix_proc_t>(to, "proc", {&proc});
  const auto one_part = part();
  add<FenceName>(to, "fence_name", {&one_part.name});
  add<FencePart>(to, "fence_part", {&one_part});
  const ReportRequest request{0, {one_part.name}};
  add<ReportRequest>(to, "report_request", {&request});
  const auto whole = report();
  add<NodeReport>(to, "node_report", {&whole});
  Packer packer;
  const Encoded place(30, std::byte{4}), cards(5000, std::byte{5});
  to.push_back({"contribution",
                {packer.pack({place, Bytes(cards).first(100)}), packer.pack({place, cards})},
                &is_contribution,
                true});
}

}  // namespace weft::fuzz
