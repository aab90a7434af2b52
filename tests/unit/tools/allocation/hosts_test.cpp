// SPDX-License-Identifier: BSD-3-Clause
#include "tools/allocation/hosts.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/unit/tools/messages/refusal.hpp"

namespace weft::allocation {
namespace {

using messages::expect_refusal;
using messages::refusal_of;

std::string shown(const Hosts& hosts) {
  std::string text;
  for (const auto& host : hosts) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", host.name, host.slots);
    if (host.max_slots != job::most_ranks_a_node) text += fmt::format("/{}", host.max_slots);
    if (host.here) text += "!";
  }
  return text;
}

TEST(HostOption, names_and_slots) {
  EXPECT_EQ(shown(read_host_option({"a:2,b:2"})), "a:2 b:2");
  EXPECT_EQ(shown(read_host_option({"a,b,a", "c:3,b:4"})), "a:2 b:5 c:3");
  EXPECT_EQ(shown(read_host_option({"n[01-03]:8,m[1-2]"})), "n01:8 n02:8 n03:8 m1:1 m2:1");
  EXPECT_EQ(shown(read_host_option({"10.0.0.7:4,fe80::1%eth0,::1"})), "10.0.0.7:4 fe80::1%eth0:1 ::1:1");
  EXPECT_EQ(shown(read_host_option({"a:65535,a:65535"})), "a:65535");
  EXPECT_EQ(shown(read_host_option({"[::1]:2,[fe80::1%eth0]", "[2001:db8::7]:4"})),
            "::1:2 fe80::1%eth0:1 2001:db8::7:4");
  EXPECT_EQ(shown(read_host_option({"a:2 , b,\tc"})), "a:2 b:1 c:1");
  EXPECT_EQ(shown(read_host_option({"10,0010:2,[08-10]"})), "10:2 0010:2 08:1 09:1");  // names of digits
}

TEST(HostOption, what_is_wrong_is_named) {
  const auto said = [](const std::string& text) {
    return refusal_of([&] { read_host_option({"ok", text}); });
  };
  for (const char* text : {"", ",", "a,", ",a", ":2"}) expect_refusal(said(text), "a host has no name");
  expect_refusal(said("a:0"), "--host 'a:0': '0' is not a number of slots; it can be 1 to 65535");
  for (const char* text :
       {"a:", "a:x", "a:-1", "a:2:3", "[::1]:", "[::1]:x", "a:65536", "a:99999999999999999999"})
    expect_refusal(said(text), "is not a number of slots");
  expect_refusal(said("me@a"), "--agent 'ssh -l USER'");
  for (const char* text : {"-oProxyCommand=x", "a b", "a;b", "a/b", "a\nb", "$a", "[::1]2"})
    expect_refusal(said(text), "is not the name of a host");
  expect_refusal(said("\"a\""), "quotes");
  expect_refusal(said("a,"), "comma too many");
  expect_refusal(said("n[1-"), "brackets");
  expect_refusal(said("n[2-1]"), "'2-1' is no range");
  expect_refusal(said("n[0-9999999]"), "more than");
  expect_refusal(said(std::string(256, 'a')), "is not the name of a host");
}

TEST(Hostfile, lines_and_comments) {
  EXPECT_EQ(shown(read_hostfile("# all of them\n"
                                "a slots=2\n"
                                "\n"
                                "  b:3   # half\n"
                                "c\tslots=2 max_slots=4\r\n"
                                "d max-slots=6\n"
                                "a slots=1\n"
                                "n[1-2] slots=8 # last line without its end",
                                "F")),
            "a:3 b:3 c:2/4 d:6/6 n1:8 n2:8");
  EXPECT_EQ(shown(read_hostfile("a slots=1 max_slots=2\na slots=4\n", "F")), "a:5/5");
}

TEST(Hostfile, as_people_write_them) {
  EXPECT_EQ(shown(read_hostfile("\xef\xbb\xbf# from another system\r\n"
                                "a slots = 2\r\n"
                                "b\tslots= 3 max_slots =4\r\n"
                                "\"c\" slots=\"5\"\r\n"
                                "'d:6'\n"
                                "e:2,f,n[01-02]:3\n"
                                "[::1]:2\n"
                                "fe80::1%eth0 slots=2#two\n"
                                "g,h slots=2",
                                "F")),
            "a:2 b:3/4 c:5 d:6 e:2 f:1 n01:3 n02:3 ::1:2 fe80::1%eth0:2 g:2 h:2");
}

TEST(Hostfile, keys_of_nodes) {
  const auto hosts = read_hostfile(
      "a slots=2 data:net.port=7000 data:net.address=10.0.0.1\n"
      "n[1-2] data:rack=r1= max_slots=3\n"
      "'b' \"data:color=blue\" data:x = 'one' # data:y=2\n"
      "a:1 data:net.port=7000 data:mask=ff\n"
      "c\n",
      "F");
  EXPECT_EQ(shown(hosts), "a:3 n1:3/3 n2:3/3 b:1 c:1");
  EXPECT_EQ(hosts[0].keys,
            (job::KeyValues{{"net.port", "7000"}, {"net.address", "10.0.0.1"}, {"mask", "ff"}}));
  EXPECT_EQ(hosts[1].keys, (job::KeyValues{{"rack", "r1="}}));
  EXPECT_EQ(hosts[2].keys, hosts[1].keys);
  EXPECT_EQ(hosts[3].keys, (job::KeyValues{{"color", "blue"}, {"x", "one"}}));
  EXPECT_TRUE(hosts[4].keys.empty());
}

TEST(Hostfile, keys_that_are_wrong_are_named_with_file_and_line) {
  const auto said = [](const std::string& text) { return refusal_of([&] { read_hostfile(text, "F"); }); };
  expect_refusal(said("a\nb data:x\n"), "--hostfile F, line 2: the key 'x' has no value; write KEY=VALUE");
  expect_refusal(said("a data:\n"), "names no key");
  expect_refusal(said("a data:=3\n"), "names no key");
  expect_refusal(said("a data:x=\n"), "the key 'x' has no value");
  expect_refusal(said("a data:pmix.hname=x\n"), "line 1: the key 'pmix.hname' is reserved");
  expect_refusal(said("a data:weft.address=x\n"), "the key 'weft.address' is reserved");
  expect_refusal(said("a data:x=1 data:x=2\n"), "line 1: 'x' has a value already, '1'");
  expect_refusal(said("a data:x=1\nb\na data:x=2\n"), "line 3: of 'a', 'x' has a value already, '1'");
  expect_refusal(said("a data=x\n"), "'data=x' is unknown; after the name there can be slots=N");
}

TEST(Hostfile, what_is_wrong_is_named_with_file_and_line) {
  const auto said = [](const std::string& text) { return refusal_of([&] { read_hostfile(text, "F"); }); };
  expect_refusal(said("a\n\nb slots=x\n"), "--hostfile F, line 3: 'x' is not a number of slots");
  expect_refusal(said("a slots\n"), "line 1: 'slots' is unknown");
  expect_refusal(said("a cpus=2\n"), "'cpus=2' is unknown");
  expect_refusal(said("a slots=\n"), "'' is not a number of slots");
  expect_refusal(said("a slots=1 slots=2\n"), "second number");
  expect_refusal(said("a:1 slots=2\n"), "second number");
  expect_refusal(said("a slots=4 max_slots=2\n"), "max_slots=2 is less than slots=4");
  expect_refusal(said("a slots = = 2\n"), "is not a number of slots");
  expect_refusal(said("a slots=2,\n"), "'2,' is not a number of slots");
  expect_refusal(said("a , b\n"), "',' is unknown");
  expect_refusal(said("me@a slots=2\n"), "--agent 'ssh -l USER'");
  expect_refusal(said("a:2:3\n"), "'2:3' is not a number of slots");
  expect_refusal(said("-a\n"), "'-a' is not the name of a host");
  expect_refusal(said("\"\" slots=2\n"), "a host has no name");
  expect_refusal(said("a '' \"\"\n"), "'' is unknown");
  expect_refusal(said(""), "--hostfile F: it names no host");
  expect_refusal(said("# nothing\n\n"), "it names no host");
  expect_refusal(refusal_of([] { read_hostfile(std::string("/no/such/file")); }), "cannot be read");
  expect_refusal(refusal_of([] { read_hostfile(std::string("/")); }), "cannot be read");
}

TEST(Hostfile, from_a_file) {
  const std::string file = testing::TempDir() + "/hosts_test_" + std::to_string(::getpid());
  std::ofstream(file) << "a:2\nb\n";
  EXPECT_EQ(shown(read_hostfile(file)), "a:2 b:1");
  std::ofstream(file, std::ios::trunc).close();
  expect_refusal(refusal_of([&] { read_hostfile(file); }), "names no host");
  ::unlink(file.c_str());
}

TEST(OwnHost, has_one_name) {
  const auto is_here = [](const std::string& name) { return name == "localhost" || name == "head.org"; };
  EXPECT_EQ(shown(with_own_name(read_host_option({"a:2,localhost,b,head.org:3"}), "head.org", is_here)),
            "a:2 head.org:4! b:1");
  EXPECT_EQ(shown(with_own_name(read_host_option({"a"}), "head.org", is_here)), "a:1");
}

TEST(OwnHost, has_the_keys_of_all_its_names) {
  const auto is_here = [](const std::string& name) { return name != "a"; };
  const auto named = [&](const char* text) {
    return with_own_name(read_hostfile(std::string_view(text), "F"), "head", is_here);
  };
  const auto hosts = named("a data:x=0\nlocalhost data:x=1\nhead data:x=1 data:y=2\n");
  EXPECT_EQ(shown(hosts), "a:1 head:2!");
  EXPECT_EQ(hosts[0].keys, (job::KeyValues{{"x", "0"}}));
  EXPECT_EQ(hosts[1].keys, (job::KeyValues{{"x", "1"}, {"y", "2"}}));
  expect_refusal(refusal_of([&] { named("localhost data:x=1\nhead data:x=2\n"); }),
                 "of 'head', 'x' has a value already, '1'");
}

TEST(Hosts, each_once) {
  const auto hosts = merged({{"a", 2}, {"b", 1}, {"a", 3, 9, false, {{"x", "1"}}}});
  EXPECT_EQ(shown(hosts), "a:5 b:1");
  EXPECT_EQ(hosts[0].keys, (job::KeyValues{{"x", "1"}}));
  expect_refusal(refusal_of([] { merged({{"-a", 2}}); }), "'-a' is not the name of a host");
}

}  // namespace
}  // namespace weft::allocation
