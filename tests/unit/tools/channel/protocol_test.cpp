// SPDX-License-Identifier: BSD-3-Clause
// Messages are the same after the way, and nothing else is taken for one; the tree of launch messages reaches
// each daemon once.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tools/channel/launch_order.hpp"
#include "tools/channel/launch_tree.hpp"
#include "tools/channel/protocol.hpp"

namespace weft::channel {
namespace {

using job::Rank;

order::Launch a_launch() {
  order::Launch launch;
  launch.nspace = "weft-a-1";
  launch.hosts = {"a", "b"};
  launch.distribution = "2;slot@0:2x1";
  launch.node_keys = {{"net.port", {"7000", ""}}, {"net", {"ib"}}};
  launch.apps.resize(2);
  launch.apps[0].argv = {"./p", ""};
  launch.apps[0].ranks = 2;
  launch.launch_info = std::string("\0info", 5);
  launch.apps[1].directory = "/tmp";
  launch.environment = {"PATH=/bin"};
  launch.mapping = {job::BindTo::core, job::MapBy::numa, 4, true};
  launch.processors = "0-3";
  launch.core_lists = {"*", "1:0-2"};
  launch.merges_errors = true;
  launch.accounts = true;
  launch.traces = true;
  launch.one_machine = true;
  launch.input = {job::InputTarget::Kind::all, Rank{3}};
  launch.parent = job::ProcessName{"weft-a-0", Rank{2}};
  launch.attacher = job::Attacher{77, 1000, true};
  launch.witnesses = {4, 5};
  return launch;
}

job::SpawnRequest a_spawn() {
  job::SpawnRequest request;
  request.parent = {"j", Rank{3}};
  request.words = {"--map-by", "node"};
  request.programs.push_back({{"--wdir", "/tmp"}, {"p", "a"}, 2, {{"A", "b"}, {"C", std::nullopt}}});
  request.programs[0].settings[1].how = job::EnvironmentSetting::How::unset;
  request.may_oversubscribe = false;
  request.start_seconds = 9;
  return request;
}

job::Places some_places() {
  using Phase = job::Place::Phase;
  return {{{Rank{1}, 17, Phase::connected, "PMIx_Fence of all ranks", "PMIx_Get", 1ULL << 33,
            "sleeps in futex", 1},
           {Rank{2}, 18, Phase::gone, "", "", 0, "", 0}},
          {"#0 poll\n#1 main"},
          "gdb: no"};
}

job::NodeStart a_start() {
  job::NodeStart start;
  start.map = 1ULL << 40;
  start.fence = 0;
  start.ranks = 3;
  start.in_init = 2;
  start.fence_bytes = 1ULL << 33;
  return start;
}

job::NodeTrace a_node_trace() {
  const base::TraceEvent event{
      .begun = 5, .ended = 1ULL << 40, .subject = 9, .status = -1, .kind = 1, .thread = 2};
  return {
      3, 4, {.read_at = 1ULL << 41, .kinds = {{"a", ""}, {"b", "rank"}}, .tracks = {{70000, 7, {event}}}}};
}

report::Gathered some_gathered() {
  return {"j", {{4, 1, MessageType::started, "first"}, {5, 70000, MessageType::settled, ""}}};
}

/// One message of every kind, as bytes.
std::vector<std::string> one_of_each() {
  return {
      encode(a_launch()),
      encode(order::Input{"j", std::string("a\0b", 3)}),
      encode(order::Signal{"j", 15, {Rank{1}, Rank{70000}}}),
      encode(order::OutputUnwanted{"j", job::Stream::error}),
      encode(order::EndJob{"j", job::Ending{-187, Rank{3}, 7}}),
      encode(order::Leave{}),
      encode(report::Hello{{{3, "0.1.0", "a", "contact", 17, "10.0.0.1,fd00::1"}}}),
      encode(report::Started{"j", {1, 2}, {"note"}, 127, "no", {{"libmpich.so.12", "", "", true, true}}}),
      encode(report::Unreachable{{4, 5}, "line", "how"}),
      encode(report::Output{"j", Rank{9}, job::Stream::error, "bytes"}),
      encode(report::Ended{"j", {{Rank{9}, 256, true, false, Rank{3}, {1ULL << 40, 7}}, {}}}),
      encode(report::ConnectedLate{"j", Rank{2}}),
      encode(report::Aborted{"j", {Rank{2}, -1, "why", {Rank{0}}}}),
      encode(report::InputUnwanted{"j"}),
      encode(report::HeldHere{"j", {job::StopPoint::app, "here", 3}}),
      encode(report::Settled{"j", "file"}),
      encode(report::Settled{"j", "", a_start()}),
      encode(report::Settled{"j", "", {}, a_node_trace()}),
      encode(report::PeerLost{3, "why"}),
      encode(report::Spawn{7, a_spawn()}),
      encode(report::Control{8, {{"j", Rank{1}}, job::ControlRequest::What::kill, 9, {{"k", {Rank{2}}}}}}),
      encode(report::Connected{{"j", "j.1"}, false}),
      encode(order::Outcome{7, {-190, "j.1"}}),
      encode(order::FindPlaces{"j", 3, false}),
      encode(report::PlacesHere{"j", 3, some_places()}),
      encode(order::Broadcast{"j", 3, MessageType::signal, "order"}),
      encode(some_gathered()),
      encode(report::Watch{})};
}

/// A message that is read must be written as the same bytes again.
template <class Message>
bool is_readable(const std::string& bytes) {
  const auto message = decode<Message>(bytes);
  if (!message) return false;
  EXPECT_EQ(encode(*message), bytes);
  return true;
}

/// How many of the kinds can be read from these bytes.
template <class... Messages>
std::size_t count_readable(const std::string& bytes) {
  return (std::size_t{is_readable<Messages>(bytes)} + ...);
}

std::size_t readable_as_any(const std::string& bytes) {
  return count_readable<order::Launch, order::Input, order::Signal, order::OutputUnwanted, order::EndJob,
                        order::Leave, report::Hello, report::Started, report::Unreachable, report::Output,
                        report::Ended, report::ConnectedLate, report::Aborted, report::InputUnwanted,
                        report::Settled, report::HeldHere, report::PeerLost, report::Spawn, report::Connected,
                        report::Control, order::Outcome, order::FindPlaces, report::PlacesHere,
                        order::Broadcast, report::Gathered, report::Watch>(bytes);
}

TEST(Protocol, every_message_survives) {
  for (const auto& bytes : one_of_each()) EXPECT_GE(readable_as_any(bytes), 1U);
  const auto launch = decode<order::Launch>(encode(a_launch()));
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->launch_info, a_launch().launch_info);
  EXPECT_EQ(launch->input.rank, Rank{3});
  ASSERT_EQ(launch->node_keys.size(), 2U);
  EXPECT_EQ(launch->node_keys[0].key, "net.port");
  EXPECT_EQ(launch->node_keys[0].values, (std::vector<std::string>{"7000", ""}));
  const auto ended = decode<report::Ended>(
      encode(report::Ended{"j", {{Rank{9}, 256, true, false, Rank{3}, {1ULL << 40, 7}}, {}}}));
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->ends.at(0).written.out, 1ULL << 40);
  EXPECT_EQ(decode<report::Aborted>(encode(report::Aborted{"j", {Rank{2}, -1, "why", {}}}))->request.status,
            -1);
  EXPECT_EQ(decode<report::Settled>(encode(report::Settled{"j", "/x"}))->other_pmix, "/x");
  const auto settled = decode<report::Settled>(encode(report::Settled{"j", "", a_start()}));
  ASSERT_TRUE(settled && settled->start);
  EXPECT_EQ(settled->start->map, 1ULL << 40);
  EXPECT_EQ(settled->start->fence, 0u);
  EXPECT_FALSE(settled->start->spawn);
  EXPECT_EQ(settled->start->in_init, 2u);
  EXPECT_FALSE(settled->trace);
  const auto traced = decode<report::Settled>(encode(report::Settled{"j", "", {}, a_node_trace()}));
  ASSERT_TRUE(traced && traced->trace);
  EXPECT_EQ(traced->trace->started, 4u);
  EXPECT_EQ(traced->trace->server.tracks.at(0).rank, 70000u);
  EXPECT_EQ(traced->trace->server.tracks.at(0).events.at(0).ended, 1ULL << 40);
  auto no_kind = a_node_trace();
  no_kind.server.tracks[0].events[0].kind = 2;
  EXPECT_FALSE(decode<report::Settled>(encode(report::Settled{"j", "", {}, no_kind})));
}

TEST(Protocol, keys_of_nodes_have_bounds) {
  using job::NodeKey;
  const auto is_read = [](NodeKey key) {
    auto launch = a_launch();
    launch.node_keys = {std::move(key)};
    return decode<order::Launch>(encode(launch)).has_value();
  };
  EXPECT_TRUE(is_read({std::string(NodeKey::longest_key, 'k'), {std::string(NodeKey::longest_value, 'v')}}));
  EXPECT_FALSE(is_read({std::string(NodeKey::longest_key + 1, 'k'), {"v"}}));
  EXPECT_FALSE(is_read({"k", {"v", std::string(NodeKey::longest_value + 1, 'v')}}));
  EXPECT_FALSE(is_read({"", {"v"}}));
  EXPECT_FALSE(is_read({"k", {}}));
}

TEST(Protocol, values_of_nodes_that_begin_alike_are_short) {
  auto launch = a_launch();
  launch.node_keys.clear();
  const auto without = encode(launch).size();
  job::NodeKey key{"weft.address", {}};
  for (int node = 0; node < 10'000; ++node)
    key.values.push_back("10.1." + std::to_string(node / 250) + "." + std::to_string(node % 250 + 1));
  key.values.push_back("");
  key.values.push_back(std::string(job::NodeKey::longest_value, 'v'));
  key.values.push_back(key.values.back());
  key.values.push_back("v");
  launch.node_keys = {key};
  const auto bytes = encode(launch);
  EXPECT_LT(bytes.size() - without, 10'000U * 6 + 3 * job::NodeKey::longest_value);
  const auto read = decode<order::Launch>(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->node_keys.at(0).values, key.values);
}

TEST(Protocol, a_value_shares_no_more_than_there_was_before_it) {
  base::Writer out;
  out.text("k");
  out.u32(2);
  out.u8(0), out.u16(1), out.raw(as_bytes(std::string_view("a")));
  const auto first = out.size();
  for (const std::uint8_t shared : {1, 2}) {
    out.truncate(first);
    out.u8(shared), out.u16(1), out.raw(as_bytes(std::string_view("b")));
    base::Reader in(out.view());
    job::NodeKey key;
    in(key);
    EXPECT_EQ(in.done(), shared == 1);
    if (shared == 1) {
      EXPECT_EQ(key.values, (std::vector<std::string>{"a", "ab"}));
    }
  }
}

TEST(Protocol, a_daemon_says_the_addresses_of_its_machine) {
  const auto read = [](std::size_t bytes) {
    const report::Hello hello{{{3, "0.1.0", "a", "contact", 17, std::string(bytes, '1')}}};
    return decode<report::Hello>(encode(hello));
  };
  const auto hello = read(job::NodeKey::longest_value);
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->daemons.at(0).addresses.size(), job::NodeKey::longest_value);
  EXPECT_FALSE(read(job::NodeKey::longest_value + 1));
}

TEST(Protocol, keys_of_nodes_add_nothing_to_a_job_that_has_none) {
  auto launch = a_launch();
  launch.node_keys.clear();
  const auto without = encode(launch).size();
  launch.hosts.resize(1000), launch.node_keys = {{"net", {"ib"}}};
  const auto of_all = encode(launch).size();
  launch.node_keys.clear();
  EXPECT_EQ(of_all - encode(launch).size(), 4U + 3U + 4U + 3U + 2U) << "one value, whatever the nodes are";
  auto bare = a_launch();
  bare.node_keys = {{"net", {"ib"}}};
  EXPECT_EQ(encode(bare).size() - without, 16U);
}

TEST(Protocol, a_place_names_a_stack_that_is_there) {
  auto places = some_places();
  places.ranks[1].stack = 2;
  EXPECT_FALSE(decode<report::PlacesHere>(encode(report::PlacesHere{"j", 3, places})));
}

TEST(Protocol, what_goes_along_the_tree_is_of_the_kinds_that_do) {
  const auto gathered = decode<report::Gathered>(encode(some_gathered()));
  ASSERT_TRUE(gathered);
  EXPECT_EQ(gathered->items.at(1).node, 5u);
  EXPECT_EQ(gathered->items.at(1).number, 70000u);
  const std::set<MessageType> orders = {MessageType::signal, MessageType::output_unwanted,
                                        MessageType::end_job};
  const std::set<MessageType> reports = {
      MessageType::started, MessageType::ended,          MessageType::connected_late, MessageType::aborted,
      MessageType::held,    MessageType::input_unwanted, MessageType::settled};
  for (std::uint8_t i = 0; i < message_type_count; ++i) {
    const auto type = static_cast<MessageType>(i);
    EXPECT_EQ(decode<order::Broadcast>(encode(order::Broadcast{"j", 1, type, ""})).has_value(),
              orders.count(type) != 0);
    EXPECT_EQ(decode<report::Gathered>(encode(report::Gathered{"j", {{0, 1, type, ""}}})).has_value(),
              reports.count(type) != 0);
  }
}

TEST(Protocol, a_message_that_is_cut_or_too_long_is_none) {
  const auto bytes = encode(a_launch());
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decode<order::Launch>(bytes.substr(0, length))) << length;
  EXPECT_FALSE(decode<order::Launch>(bytes + '\0'));
}

TEST(Protocol, a_message_about_a_job_begins_with_its_namespace) {
  for (const auto& bytes :
       {encode(order::Input{"j", "bytes"}), encode(order::EndJob{"j", {}}),
        encode(report::Started{.nspace = "j"}), encode(report::InputUnwanted{"j"}),
        encode(order::Broadcast{"j", 1, MessageType::signal, ""}), encode(report::Gathered{"j", {}})})
    EXPECT_EQ(job_of(bytes), "j");
  EXPECT_EQ(job_of(encode(a_launch())), a_launch().nspace);
  EXPECT_EQ(job_of(""), std::nullopt);
  EXPECT_EQ(job_of(encode(order::Leave{})), std::nullopt);
  auto other = encode(report::InputUnwanted{"j"});
  other[0] = static_cast<char>(wire_version + 1);
  EXPECT_EQ(job_of(other), std::nullopt);
}

TEST(Protocol, another_version_is_not_read) {
  auto bytes = encode(report::Settled{"j", "file"});
  bytes[0] = static_cast<char>(wire_version + 1);
  EXPECT_FALSE(decode<report::Settled>(bytes));
  EXPECT_FALSE(decode<report::Settled>(""));
}

TEST(Protocol, lengths_that_the_bytes_cannot_hold_are_not_believed) {
  std::string bytes = {static_cast<char>(wire_version), '\xff', '\xff', '\xff', '\xff'};
  EXPECT_FALSE(decode<order::Input>(bytes));
  EXPECT_FALSE(decode<report::Unreachable>(bytes + "line"));
}

TEST(Protocol, damaged_messages_are_refused_or_read_as_what_they_say) {
  std::mt19937 random(7);
  for (const auto& bytes : one_of_each()) {
    for (int round = 0; round < 300; ++round) {
      auto damaged = bytes;
      for (unsigned i = 0; i <= random() % 4; ++i)
        damaged[random() % damaged.size()] = static_cast<char>(random());
      readable_as_any(damaged);  // checks that it means the same both ways
    }
  }
}

TEST(Protocol, codes_are_the_hosts_own_and_tell_the_subject) {
  std::set<pmix_status_t> codes;
  for (std::uint8_t i = 0; i < message_type_count; ++i) {
    const auto type = static_cast<MessageType>(i);
    EXPECT_LT(event_code_of(type), PMIX_EXTERNAL_ERR_BASE);
    EXPECT_EQ(message_type_of(event_code_of(type)), type);
    codes.insert(event_code_of(type));
  }
  EXPECT_EQ(codes.size(), message_type_count);
}

/// The nodes to which the message comes, with that of the launcher.
std::vector<std::uint32_t> reached_by(const LaunchTree& tree, std::uint32_t launcher) {
  std::vector<std::uint32_t> out = {launcher};
  for (std::size_t i = 0; i < out.size() && out.size() < 1000; ++i) {
    const auto children = tree.children_of(out[i]);
    EXPECT_LE(children.size(), LaunchTree::arity);
    for (const auto child : children) {
      EXPECT_EQ(tree.parent_of(child), out[i]);
      EXPECT_TRUE(tree.is_above(out[i], child) && tree.is_above(launcher, child));
      EXPECT_FALSE(tree.is_above(child, out[i]) || tree.is_above(child, child));
    }
    out.insert(out.end(), children.begin(), children.end());
  }
  return out;
}

TEST(LaunchTree, reaches_each_node_of_the_job_once_and_no_other) {
  std::mt19937 random(11);
  for (std::uint32_t servers = 1; servers <= 300; ++servers) {
    for (const std::uint32_t launcher : {0U, servers / 2, servers - 1}) {
      std::vector<std::uint32_t> nodes;
      for (std::uint32_t node = 0; node < servers; ++node)
        if (servers % 3 == 0 || random() % 2 == 0) nodes.push_back(node);
      const LaunchTree tree(nodes, launcher);
      auto reached = reached_by(tree, launcher);
      std::erase(reached, launcher);
      std::erase(nodes, launcher);
      std::sort(reached.begin(), reached.end());
      EXPECT_EQ(reached, nodes);
      for (std::uint32_t node = 0; node < servers; ++node)
        EXPECT_EQ(tree.parent_of(node).has_value(), std::binary_search(nodes.begin(), nodes.end(), node));
    }
  }
}

TEST(LaunchTree, a_node_that_is_not_in_it_passes_nothing_on) {
  const LaunchTree tree({1, 4}, 9);
  EXPECT_TRUE(tree.children_of(2).empty());
  EXPECT_EQ(tree.parent_of(2), std::nullopt);
  EXPECT_EQ(tree.parent_of(9), std::nullopt);
  EXPECT_FALSE(tree.is_above(9, 2) || tree.is_above(2, 4));
}

TEST(LaunchTree, a_node_is_above_those_of_its_part_and_no_other) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t node = 0; node < 100; ++node) nodes.push_back(node);
  const LaunchTree tree(nodes, 100);  // 0 to 7 below the launcher, 8 to 15 below 0, 72 to 79 below 8
  EXPECT_TRUE(tree.is_above(0, 8) && tree.is_above(0, 72) && tree.is_above(8, 72));
  EXPECT_FALSE(tree.is_above(1, 8) || tree.is_above(1, 72) || tree.is_above(9, 72) || tree.is_above(7, 72));
}

}  // namespace
}  // namespace weft::channel
