// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/start_message.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <random>
#include <string>
#include <thread>

#include "tests/unit/tools/launch/sample_messages.hpp"
#include "tools/process/fd.hpp"

namespace weft::launch {
namespace {

using messages::Stop;

TEST(StartMessage, comes_back_as_it_was) {
  for (const std::size_t nodes : {1U, 2U, 1000U}) {
    const auto message = message_for(nodes);
    EXPECT_EQ(decode_start_message(encode(message, "1.2.0"), "1.2.0"), message);
  }
  auto plain = message_for(1);
  plain.agent = {Agent::Kind::fork, {}, 0, "a\nb%\x7f\x01"};
  plain.transport.clear();
  plain.contact.clear();
  plain.above.reset();
  plain.are_names_at_launcher = true;
  plain.settings.clear();
  plain.audience = StartMessage::Audience::all;
  EXPECT_EQ(decode_start_message(encode(plain, "1.2.0"), "1.2.0"), plain);
}

TEST(StartMessage, begins_with_the_versions_and_is_text) {
  const auto text = encode(message_for(3), "1.2.0");
  EXPECT_EQ(text.find("weft start 5 1.2.0\n"), 0U);
  for (const unsigned char c : text) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << int{c};
}

TEST(StartMessage, another_release_is_told_with_both) {
  const auto text = encode(message_for(3), "1.2.0");
  const auto said = refusal_of([&] { decode_start_message(text, "1.3.0"); });
  EXPECT_NE(said.find("weftrun is of release 1.2.0, this daemon is of 1.3.0"), std::string::npos) << said;
  // Whatever a later format has in its other lines.
  const auto later =
      refusal_of([&] { decode_start_message("weft start 7 9.0 and more\nnew\nend\n", "1.3.0"); });
  EXPECT_NE(later.find("release 9.0 and more, this daemon is of 1.3.0"), std::string::npos) << later;
}

TEST(StartMessage, cut_anywhere_it_is_none) {
  const auto text = encode(message_for(4), "1.2.0");
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(refusal_of([&] { decode_start_message(text.substr(0, length), "1.2.0"); }).empty())
        << length;
  }
}

TEST(StartMessage, damage_is_refused_or_harmless) {
  const auto text = encode(message_for(20), "1.2.0");
  std::mt19937 random(4);
  for (int i = 0; i < 20'000; ++i) {
    auto damaged = text;
    for (unsigned k = 0, n = 1 + random() % 3; k < n; ++k) {
      const auto at = random() % damaged.size();
      switch (random() % 3) {
        case 0:
          damaged[at] = static_cast<char>(random());
          break;
        case 1:
          damaged.erase(at, 1 + random() % 30);
          break;
        default:
          damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 40));
      }
    }
    try {
      const auto message = decode_start_message(damaged, "1.2.0");
      ASSERT_GE(message.servers, 2U);  // what was taken holds together
      ASSERT_LE(message.first_servers, message.servers);
      ASSERT_FALSE(message.nodes.empty());
      for (std::size_t n = 0; n < message.nodes.size(); ++n) {
        ASSERT_LT(message.nodes[n].number, message.servers);
        ASSERT_NE(message.nodes[n].number, message.launcher.number);
        ASSERT_FALSE(message.nodes[n].host.empty());
        if (n > 0) {
          ASSERT_LT(message.nodes[n - 1].number, message.nodes[n].number);
        }
      }
    } catch (const Stop& stop) {
      ASSERT_EQ(std::string(stop.what()).find('\n'), std::string::npos);
    }
  }
}

TEST(StartMessage, wrong_fields_are_named_with_their_line) {
  const auto text = encode(message_for(2), "1.2.0");
  const auto with = [&](const std::string& from, const std::string& to) {
    auto changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return refusal_of([&] { decode_start_message(changed, "1.2.0"); });
  };
  EXPECT_NE(with("servers 3", "servers 1").find("no launch of several"), std::string::npos);
  EXPECT_NE(with("servers 3 1", "servers 3 4").find("line 3"), std::string::npos);
  EXPECT_NE(with("servers 3", "servers 99999999").find("line 3"), std::string::npos);
  EXPECT_NE(with("key 03", "key ").find("key"), std::string::npos);
  EXPECT_NE(with("key 03", "key 0g").find("line 5"), std::string::npos);
  for (const char* other : {"LD_PRELOAD=x", "WEFT_FENCE", "WEFT_TOKEN=x", "=x", ""})
    EXPECT_NE(with("WEFT_FENCE=full", other).find("no setting"), std::string::npos) << other;
  EXPECT_NE(with("node 1 n1", "node 0 n1").find("out of order"), std::string::npos);
  EXPECT_NE(with("node 1 n1", "node 2 n1").find("out of order"), std::string::npos);  // the launcher's
  EXPECT_NE(with("node 1 n1", "node 1 ").find("no name"), std::string::npos);
  EXPECT_NE(with("audience one", "audience two").find("'two' is unknown"), std::string::npos);
  EXPECT_NE(with("end\n", "end\nmore\nend\n").find("follows its end"), std::string::npos);
}

TEST(StartMessage, is_read_in_whatever_pieces_it_comes) {
  const auto message = message_for(5000);
  const auto text = encode(message, "1.2.0");
  process::Pipe pipe = process::make_pipe(true, true);
  std::thread writer([&] {
    for (std::size_t at = 0; at < text.size(); at += 1009) {
      const auto piece = text.substr(at, 1009);
      ASSERT_EQ(::write(pipe.write.get(), piece.data(), piece.size()), static_cast<ssize_t>(piece.size()));
    }
  });
  const auto read = read_start_message(pipe.read.get(), "1.2.0");  // the pipe stays open
  writer.join();
  EXPECT_EQ(read, message);
}

TEST(StartMessage, input_that_is_none_ends_at_once) {
  process::Pipe other = process::make_pipe(true, true);  // open at the other end: nothing must be waited for
  ASSERT_EQ(::write(other.write.get(), "hello\n", 6), 6);
  EXPECT_NE(refusal_of([&] { read_start_message(other.read.get(), "1"); }).find("no start message"),
            std::string::npos);
  process::Pipe ended = process::make_pipe(true, true);
  ASSERT_EQ(::write(ended.write.get(), "weft start 5", 12), 12);
  ended.write.reset();
  EXPECT_NE(refusal_of([&] { read_start_message(ended.read.get(), "1"); }).find("ended before"),
            std::string::npos);
}

TEST(FindSelf, of_one_receiver_it_is_the_first) {
  auto message = message_for(3);
  message.nodes[0].host = "localhost";
  EXPECT_EQ(find_self(message, {"whatever", ""}), 0U);
  message.nodes[0].host = "a-name-that-only-the-agent-knows.invalid";  // as an alias in ssh's own file
  EXPECT_EQ(find_self(message, {"whatever", ""}), 0U);
}

TEST(FindSelf, a_machine_of_other_addresses_is_wrong) {
  auto message = message_for(1);
  message.nodes[0].host = "192.0.2.7";  // RFC 5737: no machine's
  const auto said = refusal_of([&] { find_self(message, {"me", ""}); });
  EXPECT_NE(said.find("this machine is 'me'"), std::string::npos) << said;
  EXPECT_NE(said.find("'192.0.2.7'"), std::string::npos) << said;
  message.agent = {Agent::Kind::fork, {}, 0, "weftd"};  // a virtual node may have any name
  EXPECT_EQ(find_self(message, {"me", ""}), 0U);
}

TEST(FindSelf, of_all_receivers_each_finds_its_name) {
  auto message = message_for(4);
  message.audience = StartMessage::Audience::all;
  message.agent.kind = Agent::Kind::slurm;
  message.nodes[3].host = "n3.cluster.org";
  EXPECT_EQ(find_self(message, {"N2", ""}), 2U);
  EXPECT_EQ(find_self(message, {"n3", ""}), 3U);
  EXPECT_EQ(find_self(message, {"n2", "n1"}), 1U);  // Slurm's name goes before the machine's
  const auto said = refusal_of([&] { find_self(message, {"n2", "x9"}); });
  EXPECT_NE(said.find("'n2', for Slurm 'x9'"), std::string::npos) << said;
  EXPECT_NE(refusal_of([&] { find_self(message, {"other", ""}); }).find("'other'"), std::string::npos);
}

}  // namespace
}  // namespace weft::launch
