// SPDX-License-Identifier: BSD-3-Clause
// Between servers: bodies of requests and replies, contacts, contributions to an exchange, cards.
#include <algorithm>
#include <array>

#include "core/data/types/fields.hpp"
#include "core/link/messages.hpp"
#include "core/server/cards/card_message.hpp"
#include "core/server/cards/card_regions.hpp"
#include "core/server/cards/far_keys.hpp"
#include "core/server/cluster/messages.hpp"
#include "core/server/credentials/run_token.hpp"
#include "core/server/events/tree_relay.hpp"
#include "core/server/fences/exchange/contribution.hpp"
#include "core/server/fences/exchange/exchange.hpp"
#include "core/server/fences/exchange/generated_info.hpp"
#include "core/server/groups/handlers/losses.hpp"
#include "core/server/groups/invitation/invitation.hpp"
#include "core/server/groups/membership/bootstraps.hpp"
#include "core/server/groups/membership/memberships.hpp"
#include "core/server/groups/table/group_part.hpp"
#include "core/server/jobs/job_level.hpp"
#include "core/server/launch/introducer.hpp"
#include "core/server/launch/launch_blob.hpp"
#include "core/server/published/name_messages.hpp"
#include "core/server/records/records.hpp"
#include "core/server/reports/processes.hpp"
#include "core/server/reports/report.hpp"
#include "core/store/cards/blob.hpp"
#include "core/store/cards/card.hpp"
#include "tests/fuzz/decoders.hpp"

namespace weft::fuzz {
namespace {

using namespace server;

/// The messages of servers to each other about groups.
void add_groups(Decoders& to, const std::vector<MemberData>& data) {
  const auto proc = link::make_proc("job", 1);
  const link::RankRuns runs{{"job", 1, 3}, {"job", 0, 0}};
  PeerQuestion question;
  question.proc = proc;
  question.question = {7, "join of group g", {PMIX_GROUP_INVITE_ACCEPTED}, proc, {}};
  add<PeerQuestion>(to, "peer_question", {&question});
  const MadeGroup made{"g", {runs, 9, {true, false, true, true}, 2, 5}, data};
  add<MadeGroup>(to, "made_group", {&made});
  const InvitationTerms terms{{true, false, true, false}, true, false, true, 3, 60};
  const InvitationMessage invitation{{2, 3}, "g", proc, {{"job", 2, 2}}, runs, terms};
  add<InvitationMessage>(to, "invitation", {&invitation});
  const InvitationAnswer answer{{2, 3}, proc, InvitationAnswer::Kind::declines, data};
  add<InvitationAnswer>(to, "invitation_answer", {&answer});
  const AnswerReply answer_reply{AnswerReply::Outcome::not_invited};
  add<AnswerReply>(to, "answer_reply", {&answer_reply});
  const InvitationEnd failed{{2, 3}, proc, PMIX_ERR_TIMEOUT}, ended{{2, 3}, proc, PMIX_SUCCESS, made};
  add<InvitationEnd>(to, "invitation_end", {&failed, &ended});
  const ViewItems<InvitationItem> invitations{{{true, invitation, 1}, {false, invitation, 1, true, ended}}};
  add<ViewItems<InvitationItem>>(to, "invitation_items", {&invitations});
  const ChangeRequest request{ChangeRequest::Kind::extend, "g", runs, data, 1000, made.group};
  add<ChangeRequest>(to, "change_request", {&request});
  const ChangeReply refused{ChangeReply::Outcome::decided, PMIX_ERR_NOT_A_MEMBER, made};
  add<ChangeReply>(to, "change_reply", {&refused});
  const ChangedGroup changed{made, {{"job", 2, 2}}};
  add<ChangedGroup>(to, "changed_group", {&changed});
  const ChangedReply too_late{ChangedReply::Outcome::ended};
  add<ChangedReply>(to, "changed_reply", {&too_late});
  const ViewItems<MembersItem> members_items{{{true, true, "g", made.group}}};
  add<ViewItems<MembersItem>>(to, "members_items", {&members_items});
  const GroupInquiry inquiry{"g"};
  add<GroupInquiry>(to, "group_inquiry", {&inquiry});
  const FoundGroup found{made.group};
  add<FoundGroup>(to, "found_group", {&found});
  const RivalReply rival{RivalReply::Outcome::gone_over};
  add<RivalReply>(to, "rival_reply", {&rival});
  const NamesInquiry names_inquiry{proc};
  add<NamesInquiry>(to, "names_inquiry", {&names_inquiry});
  const GroupNames group_names{{"g", "other"}};
  add<GroupNames>(to, "group_names", {&group_names});
  const ConstructFacts facts{true, false, runs, {{"job", 0, 0}}};
  add<ConstructFacts>(to, "construct_facts", {&facts});
  const BootstrapEnd end{1, 2, PMIX_ERR_TIMEOUT, runs, runs, 2, true};
  const FailedBootstrap before{end, 0, {{"job", 5, 5}}, true};
  const BootstrapCall call{"g", proc, PMIX_SUCCESS, 2, runs, true, before};
  add<BootstrapCall>(to, "bootstrap_call", {&call});
  const BootstrapReply told{BootstrapReply::Outcome::ended, PMIX_SUCCESS, end};
  add<BootstrapReply>(to, "bootstrap_reply", {&told});
  const ViewItems<BootstrapItem> bootstraps{{{true, "g", {end}, before}}};
  add<ViewItems<BootstrapItem>>(to, "bootstrap_items", {&bootstraps});
}

/// The messages of servers to each other about published names.
void add_names(Decoders& to) {
  const auto proc = link::make_proc("job", 1);
  const Publication custom{"job",
                           1,
                           2,
                           9,
                           PMIX_RANGE_CUSTOM,
                           PMIX_PERSIST_PROC,
                           {{"job", 0, 3}},
                           std::vector<std::uint32_t>{1000},
                           std::vector<std::uint32_t>{}};
  const Publication plain{.nspace = "job", .rank = 3, .origin = 1, .number = 4};
  const PublishNames publish{custom, {{"service", Encoded(9, std::byte{1})}, {"port", {}}}},
      of_all{plain, {{"x", {}}}};
  add<PublishNames>(to, "publish_names", {&publish, &of_all});
  const NameStatus status{PMIX_ERR_DUPLICATE_KEY};
  add<NameStatus>(to, "name_status", {&status});
  const Looker looker{proc, 1, 1000, 1000, PMIX_RANGE_CUSTOM, {{"job", 2, 2}}};
  const LookUpNames several{0, looker, {"service", "port"}, false}, waits{7, looker, {"service"}, true};
  add<LookUpNames>(to, "look_up_names", {&several, &waits});
  const LookedUp looked_up{{{Sight::seen, "job", 3, Encoded(9, std::byte{2}), true}, {Sight::hidden}, {}}};
  add<LookedUp>(to, "looked_up", {&looked_up});
  const EndWait end{7, "service"};
  add<EndWait>(to, "end_wait", {&end});
  const ForgetNames forget{{{"service", 9}, {"port", 9}}};
  add<ForgetNames>(to, "forget_names", {&forget});
  const NameTaken taken{proc, {"service", 9}};
  add<NameTaken>(to, "name_taken", {&taken});
  const CopyRequest request{2};
  add<CopyRequest>(to, "copy_request", {&request});
  const NameCopies copies{{publish, of_all}};
  add<NameCopies>(to, "name_copies", {&copies});
}

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
  out.groups = {{"g", {{"job", 0, 3}, {"other", 1, 1}}}};
  out.jobs.push_back({"job.1", 1, 1, {}, 0, "job", 2});
  out.jobs.push_back({"job.2", 1, 1, {}, 0, {}, 0, 77, 1000, true});
  out.sets = {{"s", {{"job", 0, 1}}}};
  out.names = {{"port", "job", 1, PMIX_RANGE_SESSION, PMIX_PERSIST_APP, 12}};
  out.all_names = 2;
  out.regions = {{"cards", 100, 1000}};
  out.memory = {20'000, 90'000, 2};
  return out;
}

/// Cards of a node, as they travel in a contribution.
bool are_cards(Bytes bytes) {
  std::uint64_t before = 0;
  return store::read_cards(bytes,
                           [&](const store::Card& card) {
                             require(card.from <= card.to);
                             for (const auto& record : card.records)
                               before += record.key.size() + record.value.size();
                             require(before <= bytes.size());
                           })
      .has_value();
}
/// Reads the records of what servers alone know, beside cards and failures.
bool are_generated(Bytes bytes) {
  std::uint64_t before = 0;
  (void)store::failure_in(bytes);
  return GeneratedInfo::read(bytes,
                             [&](const GeneratedInfo::Record& record) {
                               before += record.key.size() + record.value.size();
                               require(before <= bytes.size() && !record.nspace.empty());
                             })
      .has_value();
}
/// A card that was read out of another node's memory: its header, then the rest of its page.
bool is_card_image(Bytes bytes) {
  constexpr auto header = sizeof(store::KeyedLog::Header);
  if (bytes.size() < header) return false;
  const Bytes page = bytes.subspan(header, std::min<std::size_t>(bytes.size() - header, card_first));
  const auto image =
      store::read_card_image(bytes.first(header), {0, page, {}}, {card_first, card_capacity}, {});
  if (!image) return false;
  require(image->published <= card_capacity && (image->whole || image->records.empty()));
  return image->whole;
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

bool is_launch_blob(Bytes bytes) {
  const auto blob = decode_launch(bytes);
  if (!blob) return false;
  const auto again = encode_launch(*blob);
  require(Encoded(bytes.begin(), bytes.end()) == again);
  return true;
}
/// Under the right checksum, which noise never has.
bool is_launch_content(Bytes bytes) {
  return is_launch_blob(seal_launch(bytes));
}
LaunchBlob launch_blob() {
  FabricPlan plan;
  plan.node_map = "a,b,c";
  plan.members = {0, 2};
  plan.key.fill(7);
  plan.transport = "tcp";
  plan.introducer = Encoded(20, std::byte{3});
  return {"job",
          {{EnvarChange::set, "A", "1", ':'},
           {EnvarChange::first, "PATH", "/bin", ':'},
           {EnvarChange::unset, "B", "", ':', 1}},
          plan,
          {Encoded(3, std::byte{1}), {}},
          collectives::Costs::on_one_machine(2)};
}

/// A log in memory of its own, with two records.
struct CardLog {
  alignas(64) std::array<std::byte, card_page_bytes> page{};
  alignas(64) std::array<std::byte, card_capacity - card_first> rest{};
  store::KeyedLog log{page.data(), card_first, 8, rest.data(), card_capacity};

  CardLog() {
    const auto value = base::encode(data::Value::of(std::uint64_t{7}));
    for (const std::uint8_t scope : {PMIX_GLOBAL, PMIX_REMOTE})
      require(log.append({{store::Realm::rank, 0}, scope, scope == PMIX_GLOBAL ? "global" : "remote", value})
                  .has_value());
  }
};

}  // namespace

Encoded a_card_page() {
  const CardLog card;
  return {card.page.begin(), card.page.end()};
}

void add_server(Decoders& to) {
  const TreeMessage passing{.root = 3, .incarnation = 17, .number = 9, .body = {std::byte{1}, std::byte{2}}};
  add<TreeMessage>(to, "tree", {&passing});
  const RpcHeader reply{.number = 7, .status = PMIX_ERR_NOT_FOUND, .type = 3, .is_reply = true};
  add<RpcHeader>(to, "rpc", {&reply});
  const ServerContact contact{
      3,
      "host",
      {.incarnation = 5, .address = {Encoded(20, std::byte{1})}, .keys = {Encoded(8, std::byte{2})}},
      11};
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
  const FarKeyMessage far_key{"job", 3, PMIX_LOCALITY_STRING, true};
  add<FarKeyMessage>(to, "far_key", {&far_key});
  JobLevel job_level;
  job_level.infos.add(PMIX_JOB_SIZE, data::Value::of(std::uint32_t{4}));
  job_level.infos.add(PMIX_PROC_MAP, data::Value::of("0,1;2,3"));
  add<JobLevel>(to, "job_level", {&job_level});
  const auto proc = link::make_proc("job", 3);
  add<pmix_proc_t>(to, "proc", {&proc});
  const auto one_part = part();
  add<FenceName>(to, "fence_name", {&one_part.name});
  add<FencePart>(to, "fence_part", {&one_part});
  const PartReply known{one_part}, unknown{};
  add<PartReply>(to, "part_reply", {&known, &unknown});
  const FenceName construct{{{"job", 0, 3}}, 2, {OperationName::Kind::construct, "ours"}, true};
  add<FenceName>(to, "operation_name", {&construct});
  const GroupPart group_part{.first = {"job", 1, 1},
                             .order = {{"job", 1, 3}, {"job", 0, 0}},
                             .absent = {{"job", 2, 2}},
                             .context_id = 7,
                             .options = {true, false, true, false},
                             .data = {{"job", 1, Encoded(9, std::byte{1})}}};
  add<GroupPart>(to, "group_part", {&group_part});
  add_groups(to, group_part.data);
  add_names(to);
  const SyslogRecord record{6, "job:1 on host: a record"};
  add<SyslogRecord>(to, "syslog_record", {&record});
  const RunToken token{{1000, 100, "job", 3}, 1'800'000'000, {1, 2, 3}};
  add<RunToken>(to, "run_token", {&token});
  to.push_back({"group_blob", {blob_of(group_part)}, &are_generated, true});
  const ReportRequest request{0, {one_part.name}};
  add<ReportRequest>(to, "report_request", {&request});
  const auto whole = report();
  add<NodeReport>(to, "node_report", {&whole});
  const CardLog log;
  store::BlobWriter blob;
  for (std::uint32_t rank = 0; rank < 2; ++rank) require(blob.add("job", rank, log.log).has_value());
  to.push_back({"cards", {std::move(blob).finish()}, &are_cards, true});
  auto generated = store::begin_blob(store::BlobKind::generated);
  for (const std::uint32_t rank : {0, 1}) {
    generated.text(rank == 0 ? "job" : "");
    generated.scalar(store::Realm::rank);
    generated.u32(rank);
    generated.text(PMIX_CPUSET);
    generated.bytes(base::encode(data::Value::of("0-3")));
  }
  to.push_back({"generated", {store::finish_blob(std::move(generated))}, &are_generated, true});
  to.push_back({"failure", {store::failure_blob(PMIX_ERR_PROC_ABORTED)}, &are_generated, true});
  to.push_back({"card_image", {a_card_page()}, &is_card_image, true});
  Packer packer;
  const Encoded place(30, std::byte{4}), cards(5000, std::byte{5});
  to.push_back({"contribution", {packer.pack({place, Bytes(cards).first(100)})}, &is_contribution, true});
  to.push_back({.name = "contribution_compressed",
                .samples = {packer.pack({place, cards})},
                .accepts = &is_contribution,
                .is_open_ended = true,
                .depends_on_library = true});
  const ProcessRows rows{
      {{0, 4711, PMIX_PROC_STATE_CONNECTED}, {3, 0, PMIX_PROC_STATE_UNDEF, 0, "host", "./p"}}};
  add<ProcessRows>(to, "processes", {&rows});
  const ProcessesRequest of_job{"job", true};
  add<ProcessesRequest>(to, "processes_request", {&of_job});
  const Introductions introductions{{Encoded(20, std::byte{1}), Encoded(20, std::byte{2})}};
  add<Introductions>(to, "introductions", {&introductions});
  to.push_back({"launch_blob", {encode_launch({}), encode_launch(launch_blob())}, &is_launch_blob});
  to.push_back(
      {"launch_content", {base::encode(LaunchBlob{}), base::encode(launch_blob())}, &is_launch_content});
}

}  // namespace weft::fuzz
