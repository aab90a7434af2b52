// SPDX-License-Identifier: BSD-3-Clause
// Between a client and its server; and the values inside.
#include <cstring>

#include "core/data/types/array.hpp"
#include "core/data/types/opaque.hpp"
#include "core/link/requests.hpp"
#include "tests/fuzz/decoders.hpp"

namespace weft::fuzz {
namespace {

data::Infos infos() {
  data::Infos out;
  out.add(PMIX_TIMEOUT, data::Value::of(std::uint32_t{5}));
  out.add("text", data::Value::of("value"), PMIX_INFO_REQD);
  out.add("bytes", data::Value::of_bytes(as_bytes("\x01\x02")));
  out.add("proc", data::Value::of_proc(link::make_proc("job", 3)));
  return out;
}

/// An array of infos, one of which holds an array again.
data::Value nested() {
  auto inner = infos(), outer = infos();
  for (auto* list : {&inner, &outer}) {
    pmix_data_array_t array{PMIX_INFO, list->size(), list->data()};
    pmix_value_t raw{};
    raw.type = PMIX_DATA_ARRAY;
    raw.data.darray = &array;
    auto copy = *data::Value::copy_of(raw);
    if (list == &outer) return copy;
    outer.add("inner", std::move(copy));
  }
  return {};
}

/// Handles of another library, here texts themselves.
char* copy_of_text(const char*, const void* handle) {
  return ::strdup(static_cast<const char*>(handle));
}
void* parsed(const char*, const char* text) {
  require(!data::OpaqueIgnored::is_on());  // what a stranger made is given to no parser
  return std::strlen(text) % 2 == 0 ? ::strdup(text) : nullptr;
}
void* copy_of_handle(const char* source, const void* handle) {
  return copy_of_text(source, handle);
}
void free_handle(const char*, void* handle) noexcept {
  std::free(handle);
}
bool are_equal(const void* one, const void* other) noexcept {
  return std::strcmp(static_cast<const char*>(one), static_cast<const char*>(other)) == 0;
}
constexpr data::OpaqueOps texts{copy_of_text, parsed, copy_of_handle, free_handle, are_equal, copy_of_text};

data::Value a_topology() {
  pmix_topology_t topology{const_cast<char*>("hwloc"), const_cast<char*>("<xml/>")};
  pmix_value_t value{};
  value.type = PMIX_TOPO;
  value.data.topo = &topology;
  return *data::Value::copy_of(value);
}
data::Value a_cpuset() {
  pmix_cpuset_t cpuset{const_cast<char*>("hwloc"), const_cast<char*>("0-31")};
  pmix_value_t value{};
  value.type = PMIX_PROC_CPUSET;
  value.data.cpuset = &cpuset;
  return *data::Value::copy_of(value);
}

data::Value an_app() {
  char program[] = "program", word[] = "word", variable[] = "NAME=value";
  char* argv[] = {program, word, nullptr};
  char* env[] = {variable, nullptr};
  auto list = infos();
  const pmix_app_t app{program, argv, env, nullptr, 2, list.data(), list.size()};
  return *data::value_of_array(PMIX_APP, &app, 1);
}
data::Value published() {
  pmix_pdata_t found{};
  found.proc = link::make_proc("job", 2);
  data::load_fixed(found.key, sizeof found.key, "key");
  found.value.type = PMIX_UINT32;
  found.value.data.uint32 = 7;
  return *data::value_of_array(PMIX_PDATA, &found, 1);
}

/// Reads a value as a server reads what a client or another server says.
bool value_of_stranger(Bytes bytes) {
  const data::OpaqueIgnored ignored;
  const auto value = base::decode<data::Value>(bytes);
  if (!value) return false;
  return base::decode<data::Value>(base::encode(*value)).has_value() || (std::abort(), false);
}

}  // namespace

void add_values(Decoders& to) {
  for (const auto kind : {data::Opaque::topology, data::Opaque::cpuset}) data::set_opaque_ops(kind, &texts);
  const auto topology = a_topology(), cpuset = a_cpuset();
  add<data::Value>(to, "value_of_topology", {&topology, &cpuset});
  to.push_back({"value_of_stranger", {base::encode(topology), base::encode(cpuset)}, &value_of_stranger});
  const auto number = data::Value::of(std::uint64_t{7}), text = data::Value::of("text"), array = nested();
  add<data::Value>(to, "value", {&number, &text, &array});
  const auto some = infos();
  add<data::Infos>(to, "infos", {&some});
}

void add_link(Decoders& to) {
  using namespace link;
  const Hello hello{1, 3, 1, "name.space", 4, *Token::parse("00112233445566778899aabbccddeeff")};
  add<Hello>(to, "hello", {&hello});
  const HelloTool hello_tool{1, 1, "a.tool", 2, "version"};
  add<HelloTool>(to, "hello_tool", {&hello_tool});
  const Welcome welcome{std::uint64_t{1} << 36, 4096, 3, "server", 2, 1, make_proc("a.tool", 2)};
  add<Welcome>(to, "welcome", {&welcome});
  const Refused refused{PMIX_ERR_NO_PERMISSIONS, "because"};
  add<Refused>(to, "refused", {&refused});
  const Get get{make_proc("job", 9), "key", infos()};
  add<Get>(to, "get", {&get});
  const GotValue value{PMIX_SUCCESS, nested()};
  add<GotValue>(to, "got_value", {&value});
  const Store store{{{1, "k1", {std::byte{1}, std::byte{2}}}, {3, "k2", {}}}};
  add<Store>(to, "store", {&store});
  const Fence fence{{make_proc("a", 0), make_proc("b", PMIX_RANK_WILDCARD)}, infos()};
  add<Fence>(to, "fence", {&fence});
  const Withdraw withdraw{7, 2};
  add<Withdraw>(to, "withdraw", {&withdraw});
  const FenceDirectives directives{7, 2, infos()};
  add<FenceDirectives>(to, "fence_directives", {&directives});
  const TurnedAway turned_away{7, 2};
  add<TurnedAway>(to, "turned_away", {&turned_away});
  const Done done{PMIX_ERR_TIMEOUT};
  add<Done>(to, "done", {&done});
  const BoardMoved moved{77, 1};
  add<BoardMoved>(to, "board_moved", {&moved});
  const BoardOffer offer{PMIX_SUCCESS, 1, 2, 3, 4};
  add<BoardOffer>(to, "board_offer", {&offer});
  const Abort abort{42, "message", {make_proc("a", 1)}};
  add<Abort>(to, "abort", {&abort});
  const Subscribe subscribe{{PMIX_ERR_PROC_ABORTED, -1, 0}};
  add<Subscribe>(to, "subscribe", {&subscribe});
  const Unsubscribe unsubscribe{{PMIX_ERR_PROC_ABORTED, -1, 0}};
  add<Unsubscribe>(to, "unsubscribe", {&unsubscribe});
  const EventMessage event{PMIX_ERR_PROC_ABORTED, make_proc("a", 3), PMIX_RANGE_NAMESPACE, infos()};
  add<EventMessage>(to, "event", {&event});
  const Log log{infos(), infos()};
  add<Log>(to, "log", {&log});
  Query query;
  query.items.push_back({{"one", "two"}, infos()});
  query.items.push_back({{"three"}, {}});
  add<Query>(to, "query", {&query});
  const QueryAnswer answer{PMIX_SUCCESS, infos()};
  add<QueryAnswer>(to, "query_answer", {&answer});
}

/// The requests of a client to the host, and the host's answers.
void add_requests(Decoders& to) {
  using namespace link;
  const std::vector<pmix_proc_t> procs{make_proc("a", 0), make_proc("b", PMIX_RANK_WILDCARD)};
  const std::vector<std::byte> bytes(3, std::byte{7});
  const Publish publish{infos()};
  add<Publish>(to, "publish", {&publish});
  const Lookup lookup{{"one", "two"}, infos()};
  add<Lookup>(to, "lookup", {&lookup});
  const Unpublish unpublish{{}, infos()};
  add<Unpublish>(to, "unpublish", {&unpublish});
  const Spawn spawn{infos(), an_app()};
  add<Spawn>(to, "spawn", {&spawn});
  const Connect connect{procs, infos()};
  add<Connect>(to, "connect", {&connect});
  const Disconnect disconnect{procs, infos()};
  add<Disconnect>(to, "disconnect", {&disconnect});
  const GroupConstruct construct{"group", procs, infos(), 50};
  add<GroupConstruct>(to, "group_construct", {&construct});
  const GroupDestruct destruct{"group", infos(), 50};
  add<GroupDestruct>(to, "group_destruct", {&destruct});
  const GroupMembers members{{{"job", 4, 7}, {"job", 0, 0}, {"other", 1, 1}}, 1, 257, 3, 17, {{"job", 4, 5}}};
  add<GroupMembers>(to, "group_members", {&members});
  const GroupInvite invite{"group", procs, infos()};
  add<GroupInvite>(to, "group_invite", {&invite});
  const GroupJoin join{"group", make_proc("a", 1), 1, infos()};
  add<GroupJoin>(to, "group_join", {&join});
  const GroupLeave leave{"group", infos()};
  add<GroupLeave>(to, "group_leave", {&leave});
  const GroupFence fence_of_group{"group", infos(), 70};
  add<GroupFence>(to, "group_fence", {&fence_of_group});
  const GroupQuestion question{7, "leave of group g", {PMIX_GROUP_INVITE_FAILED}, make_proc("a", 1), infos()};
  add<GroupQuestion>(to, "group_question", {&question});
  const GroupVerdict verdict{7, GroupVerdict::By::handlers, PMIX_GROUP_CONSTRUCT_ABORT, infos()};
  add<GroupVerdict>(to, "group_verdict", {&verdict});
  const GroupChange change{"group", {{"job", 4, 7}}, 12};
  add<GroupChange>(to, "group_change", {&change});
  const GuestRequest guest_request{25, GuestRequest::Call::look_up, 3, Encoded(9, std::byte{4})};
  add<GuestRequest>(to, "guest_request", {&guest_request});
  const GuestReply guest_reply{PMIX_ERR_DUPLICATE_KEY, Encoded(3, std::byte{1})};
  add<GuestReply>(to, "guest_reply", {&guest_reply});
  const GuestTaken guest_taken{3, make_proc("a", 1), "service", 9};
  add<GuestTaken>(to, "guest_taken", {&guest_taken});
  const Allocate allocate{PMIX_ALLOC_EXTEND, infos()};
  add<Allocate>(to, "allocate", {&allocate});
  const JobControl job_control{procs, infos()};
  add<JobControl>(to, "job_control", {&job_control});
  const Monitor monitor{infos(), PMIX_ERR_TIMEOUT, infos()};
  add<Monitor>(to, "monitor", {&monitor});
  const GetCredential get_credential{infos()};
  add<GetCredential>(to, "get_credential", {&get_credential});
  const ValidateCredential validate{bytes, infos()};
  add<ValidateCredential>(to, "validate_credential", {&validate});
  const PullOutput pull{5, procs, PMIX_FWD_STDOUT_CHANNEL, infos()};
  add<PullOutput>(to, "pull_output", {&pull});
  const StopOutput stop{5, infos()};
  add<StopOutput>(to, "stop_output", {&stop});
  const PushInput push{procs, infos(), bytes};
  add<PushInput>(to, "push_input", {&push});
  const Fabric fabric{PMIX_FABRIC_UPDATE_INFO, infos()};
  add<Fabric>(to, "fabric", {&fabric});
  const Answer given{PMIX_SUCCESS, published(), infos()};
  add<Answer>(to, "answer", {&given});
  const Output output{5, make_proc("a", 1), PMIX_FWD_STDERR_CHANNEL, bytes, infos()};
  add<Output>(to, "pulled_output", {&output});
}

}  // namespace weft::fuzz
