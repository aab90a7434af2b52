// SPDX-License-Identifier: BSD-3-Clause
#include "pmi/wire.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "pmi/job/job.hpp"

namespace weft::pmi {
namespace {

TEST(PmiWire, ReadsEachCommandByItsName) {
  for (const auto& [name, command] : command_names) {
    std::string line = "cmd=" + std::string(name);
    if (command == Command::init) line += " pmi_version=1 pmi_subversion=1";
    if (command == Command::put || command == Command::get) line += " kvsname=space key=name";
    if (command == Command::put) line += " value=text";
    if (name.ends_with("_name")) line += " service=printers";
    if (command == Command::publish_name) line += " port=tcp://here";
    const auto request = read_request(line);
    ASSERT_TRUE(request) << line;
    EXPECT_EQ(request->command, command);
  }
}

TEST(PmiWire, ReadsTheWordsOfAPut) {
  const auto put = read_request("cmd=put kvsname=job.1 key=-bc-0 value=a=b c");
  ASSERT_TRUE(put);
  EXPECT_EQ(put->space, "job.1");
  EXPECT_EQ(put->key, "-bc-0");
  EXPECT_EQ(put->value, "a=b c");  // the last word, to the end of the line
}

TEST(PmiWire, ReadsNamesOfServices) {
  const auto publish = read_request("cmd=publish_name service=printers port=tcp://here:7");
  ASSERT_TRUE(publish);
  EXPECT_EQ(publish->service, "printers");
  EXPECT_EQ(publish->port, "tcp://here:7");
  EXPECT_FALSE(read_request("cmd=publish_name service=printers"));
  EXPECT_FALSE(read_request("cmd=publish_name service= port=p"));
  EXPECT_FALSE(read_request("cmd=lookup_name"));
  EXPECT_FALSE(read_request("cmd=unpublish_name service=" + std::string(service_room, 's')));
  EXPECT_FALSE(read_request("cmd=publish_name service=s port=" + std::string(port_room, 'p')));
}

TEST(PmiWire, ReadsVersionAndStatus) {
  EXPECT_EQ(read_request("cmd=init pmi_version=2 pmi_subversion=0")->version, 2);
  EXPECT_EQ(read_request("cmd=abort exitcode=7")->exit_status, 7);
  EXPECT_EQ(read_request("cmd=abort")->exit_status, 1);
}

TEST(PmiWire, RefusesWhatIsNoRequest) {
  using namespace std::string_view_literals;
  for (const auto line : {""sv, "cmd="sv, "cmd=nothing"sv, "put kvsname=a key=b value=c"sv, "cmd=init"sv,
                          "cmd=init pmi_version=x"sv, "cmd=init pmi_version=99999999999"sv,
                          "cmd=put kvsname=a key=b"sv, "cmd=put kvsname=a value=c"sv, "cmd=get key=b"sv,
                          "cmd=get kvsname=a key="sv, "cmd=get kvsname=a key=b\0c"sv})
    EXPECT_FALSE(read_request(line)) << line;
}

TEST(PmiWire, BoundsEachWord) {
  const auto put = [](std::size_t space, std::size_t key, std::size_t value) {
    return read_request("cmd=put kvsname=" + std::string(space, 's') + " key=" + std::string(key, 'k') +
                        " value=" + std::string(value, 'v'));
  };
  EXPECT_TRUE(put(name_room - 1, key_room - 1, value_room - 1));
  EXPECT_FALSE(put(name_room, 1, 1));
  EXPECT_FALSE(put(1, key_room, 1));
  EXPECT_FALSE(put(1, 1, value_room));
}

std::vector<Command> all_of(RequestReader& reader, std::string_view bytes, std::size_t at_once) {
  std::vector<Command> commands;
  while (!bytes.empty()) {
    auto part = bytes.substr(0, at_once);
    bytes.remove_prefix(part.size());
    while (!part.empty()) {
      const auto result = reader.next(part);
      if (result.is_error) return commands;
      if (result.request) commands.push_back(result.request->command);
    }
  }
  return commands;
}

TEST(PmiWire, PutsRequestsTogetherFromPartsOfAnyLength) {
  const std::string bytes =
      "cmd=get_maxes\nmcmd=spawn\nnprocs=2\nexecname=a\ncmd=finalize\nendcmd\ncmd=barrier_in\ncmd=finalize\n";
  const std::vector<Command> expected{Command::get_maxes, Command::spawn, Command::barrier_in,
                                      Command::finalize};
  for (std::size_t at_once = 1; at_once <= bytes.size(); ++at_once) {
    RequestReader reader;
    EXPECT_EQ(all_of(reader, bytes, at_once), expected);
  }
}

TEST(PmiWire, ALineThatDoesNotEndIsAnError) {
  RequestReader reader;
  const std::string most(RequestReader::longest_line, 'x');
  std::string_view bytes = most;
  EXPECT_FALSE(reader.next(bytes).is_error);
  bytes = "x";
  EXPECT_TRUE(reader.next(bytes).is_error);
}

TEST(PmiWire, NothingIsReadAfterAnError) {
  RequestReader reader;
  std::string_view bytes = "GET / HTTP/1.1\ncmd=get_maxes\n";
  const auto first = reader.next(bytes);
  EXPECT_TRUE(first.is_error);
  EXPECT_EQ(first.line, "GET / HTTP/1.1");
  const auto second = reader.next(bytes);
  EXPECT_TRUE(second.is_error);
  EXPECT_FALSE(second.request);
}

TEST(Values, are_told_where_they_fit_a_line_of_the_announced_length) {
  EXPECT_TRUE(is_value(""));
  EXPECT_TRUE(is_value("a=b c; \xc3\xa9"));
  EXPECT_TRUE(is_value(std::string(value_room - 1, 'x')));
  EXPECT_FALSE(is_value(std::string(value_room, 'x')));
  for (const char control : {'\n', '\r', '\t', '\0', '\x7f'})
    EXPECT_FALSE(is_value(std::string("a") + control + "b"));
}

}  // namespace
}  // namespace weft::pmi
