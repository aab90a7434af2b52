// SPDX-License-Identifier: BSD-3-Clause
// Between weftrun and weftd.
#include <array>

#include "tests/fuzz/decoders.hpp"
#include "tools/channel/launch_order.hpp"
#include "tools/channel/protocol.hpp"
#include "tools/launch/start_message.hpp"
#include "tools/messages/stop.hpp"
#include "tools/placement/distribution.hpp"

namespace weft::fuzz {
namespace {

using namespace channel;
using job::Rank;

constexpr std::string_view release = "0.1.0";

template <class Message>
bool accepts_order(Bytes bytes) {
  const auto message = decode<Message>(as_text(bytes));
  if (!message) return false;
  require(encode(*message) == as_text(bytes));
  return true;
}
template <class Message>
void add_order(Decoders& to, const char* name, const Message& sample) {
  to.push_back({name, {encoded(encode(Message{})), encoded(encode(sample))}, &accepts_order<Message>});
}

bool accepts_start(Bytes bytes) {
  try {
    const auto message = launch::decode_start_message(as_text(bytes), release);
    require(launch::decode_start_message(launch::encode(message, release), release) == message);
    return true;
  } catch (const messages::Stop&) {
    return false;
  }
}

bool accepts_distribution(Bytes bytes) {
  try {
    const auto read = placement::decode_distribution(as_text(bytes), 1000, 10'000);
    const placement::RankTable table(read);
    require(table.size() == read.size() && table.nodes() == read.nodes);
    for (std::uint32_t rank = 0; rank < table.size(); ++rank) {
      require(table.node_of(Rank{rank}) < read.nodes);
      require(table.ranks_on(table.node_of(Rank{rank}))[table.local_rank_of(Rank{rank})] == Rank{rank});
      require(table.app_of(Rank{rank}) < read.apps.size());
    }
    require(placement::decode_distribution(placement::encode(read), 1000, 10'000) == read);
    return true;
  } catch (const messages::Stop&) {
    return false;
  }
}

order::Launch a_launch() {
  order::Launch out;
  out.nspace = "weft-a-1";
  out.hosts = {"a", "b"};
  out.distribution = "2;slot@0:2x1";
  out.node_keys = {{"net.port", {"7000", ""}}, {"net", {"ib"}}};
  out.apps.resize(2);
  out.apps[0].argv = {"./p", ""};
  out.launch_info = "info";
  out.environment = {"PATH=/bin"};
  out.mapping = {job::BindTo::core, job::MapBy::l3cache, 4, true};
  out.processors = "0-3";
  out.core_lists = {"*", "1:0-2"};
  out.input = {job::InputTarget::Kind::all, Rank{3}};
  return out;
}

launch::StartMessage a_start() {
  launch::StartMessage out;
  out.nspace = "weft-head-77";
  out.servers = 3;
  out.first_servers = 1;
  out.launcher = {2, "head"};
  out.key = base::Secret(std::array<std::byte, launch::StartMessage::key_bytes>{});
  out.transport = "tcp";
  out.contact = std::string("\0\n\xff contact", 11);
  out.above = {1, std::string("\0 another", 9)};
  out.settings = {"WEFT_FENCE=full", "FI_PROVIDER=a=\n%"};
  out.agent = {launch::Agent::Kind::remote, {"ssh", "-o", "Batch Mode=100%"}, 32, "/opt/we ft/bin/weftd"};
  out.nodes = {{0, "n0"}, {1, "n1"}};
  return out;
}

}  // namespace

void add_launch(Decoders& to) {
  to.push_back({"start_message", {encoded(launch::encode(a_start(), release))}, &accepts_start, true});
  to.push_back({"distribution",
                {encoded("1;slot@0:1x1"), encoded("3;slot@0:2x4,1x2;node@1:3x1"),
                 encoded("3;list:2x2,1x0;slot@0:3x1")},
                &accepts_distribution,
                true});
  add_order(to, "launch", a_launch());
  add_order(to, "input", order::Input{"j", "bytes"});
  add_order(to, "signal", order::Signal{"j", 15, {Rank{1}, Rank{70000}}});
  add_order(to, "output_unwanted", order::OutputUnwanted{"j", job::Stream::error});
  add_order(to, "end_job", order::EndJob{"j", job::Ending{-187, Rank{3}, 7}});
  add_order(to, "daemon_hello", report::Hello{{{3, "0.1.0", "a", "contact", 17, "10.0.0.1,fd00::1"}}});
  add_order(to, "started",
            report::Started{"j",
                            {1, 2},
                            {"note"},
                            127,
                            "no",
                            {{"libmpi.so.40", "/a/libpmix.so.2", "/b/libpmix.so.2", false, false}}});
  add_order(to, "unreachable", report::Unreachable{{4, 5}, "line", "how"});
  add_order(to, "output", report::Output{"j", Rank{9}, job::Stream::error, "bytes"});
  add_order(to, "ended", report::Ended{"j", {{Rank{9}, 256, true, false, Rank{3}, {1ULL << 40, 7}}, {}}});
  add_order(to, "connected_late", report::ConnectedLate{"j", Rank{2}});
  add_order(to, "held", report::HeldHere{"j", {job::StopPoint::app, "here", 3}});
  add_order(to, "aborted", report::Aborted{"j", {Rank{2}, -1, "why", {Rank{0}}}});
  job::SpawnRequest spawn;
  spawn.parent = {"j", Rank{3}};
  spawn.words = {"--map-by", "node"};
  spawn.programs.push_back({{"--wdir", "/tmp"}, {"p", "a"}, 2, {{"A", "b"}}});
  // An empty one is none: it has no program.
  to.push_back({"spawn_report", {encoded(encode(report::Spawn{7, spawn}))}, &accepts_order<report::Spawn>});
  add_order(to, "control",
            report::Control{8, {{"j", Rank{1}}, job::ControlRequest::What::kill, 9, {{"k", {Rank{2}}}}}});
  add_order(to, "connected", report::Connected{{"j", "j.1"}, true});
  add_order(to, "spawned", order::Outcome{7, {-190, "j.1"}});
  const job::PullName pull{{"j", Rank{1}}, 3};
  add_order(to, "pull", report::Pull{9, {pull, false, {{"j", {Rank{0}}}, {"k", {}}}, true, false, true}});
  add_order(to, "push", report::Push{10, {{"j", Rank{1}}, {{"k", {}}}, "bytes", true}});
  add_order(to, "pulled", order::Pulled{pull, {"j", Rank{0}}, job::Stream::error, "bytes"});
  add_order(to, "pushed", order::Pushed{"k", {Rank{0}, Rank{2}}, "bytes", false});
  add_order(to, "pull_dropped", order::PullDropped{pull});
  job::NodeStart start;
  start.map = 7;
  start.ranks = 2;
  const base::TraceEvent event{.begun = 5, .ended = 6, .subject = 9, .status = -1, .kind = 0, .thread = 1};
  const job::NodeTrace trace{3, 4, {.read_at = 8, .kinds = {{"a", "rank"}}, .tracks = {{1, 7, {event}}}}};
  add_order(to, "settled", report::Settled{"j", "/b/libpmix.so.2", start, trace});
  add_order(to, "broadcast", order::Broadcast{"j", 3, MessageType::end_job, "order"});
  add_order(to, "gathered",
            report::Gathered{"j", {{4, 1, MessageType::started, "a"}, {5, 9, MessageType::settled, ""}}});
  add_order(to, "find_places", order::FindPlaces{"j", 3, true});
  const job::Place place{Rank{1}, 17, job::Place::Phase::connected, "PMIx_Fence", "PMIx_Get", 9, "runs", 1};
  add_order(to, "places", report::PlacesHere{"j", 3, {{place}, {"#0 poll"}, "gdb: no"}});
}

}  // namespace weft::fuzz
