// SPDX-License-Identifier: BSD-3-Clause
#include "pmi/spawn/spawn_wire.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pmi/job/job.hpp"

namespace weft::pmi {
namespace {

using Step = SpawnReader::Step;

Step take_all(SpawnReader& reader, const std::vector<std::string>& lines) {
  auto step = Step::more;
  for (const auto& line : lines) step = reader.take(line);
  return step;
}

TEST(SpawnWire, one_program_needs_a_name_and_a_number) {
  SpawnReader reader;
  EXPECT_EQ(take_all(reader, {"nprocs=2", "execname=a b", "endcmd"}), Step::order_ends);
  const auto order = reader.release();
  ASSERT_EQ(order.commands.size(), 1);
  EXPECT_EQ(order.commands[0].program, "a b");
  EXPECT_EQ(order.commands[0].ranks, 2);
  EXPECT_TRUE(order.commands[0].arguments.empty());
}

TEST(SpawnWire, programs_of_one_order_have_their_own_words_and_one_preput) {
  SpawnReader reader;
  EXPECT_EQ(take_all(reader, {"nprocs=1", "execname=a", "totspawns=2", "spawnssofar=1", "arg1=x=y",
                              "arg2=", "argcnt=2", "preput_num=1", "preput_key_0=port", "preput_val_0=tcp:1",
                              "info_num=1", "info_key_0=wdir", "info_val_0=/", "endcmd"}),
            Step::block_ends);
  EXPECT_TRUE(reader.is_between_blocks());
  EXPECT_EQ(
      take_all(reader, {"nprocs=3", "execname=b", "totspawns=2", "spawnssofar=2", "argcnt=0", "preput_num=1",
                        "preput_key_0=port", "preput_val_0=tcp:1", "info_num=0", "endcmd"}),
      Step::order_ends);
  const auto order = reader.release();
  ASSERT_EQ(order.commands.size(), 2);
  EXPECT_EQ(order.commands[0].arguments, (std::vector<std::string>{"x=y", ""}));
  EXPECT_EQ(order.commands[0].infos, (std::vector<KeyValue>{{"wdir", "/"}}));
  EXPECT_EQ(order.commands[1].ranks, 3);
  EXPECT_TRUE(order.commands[1].infos.empty());
  EXPECT_EQ(order.preput, (std::vector<KeyValue>{{"port", "tcp:1"}}));
  EXPECT_FALSE(reader.is_between_blocks());
  EXPECT_EQ(take_all(reader, {"nprocs=1", "execname=c", "endcmd"}), Step::order_ends);
  EXPECT_EQ(reader.release().commands.size(), 1);
}

TEST(SpawnWire, words_of_other_clients_are_passed_over) {
  SpawnReader reader;
  EXPECT_EQ(take_all(reader, {"nprocs=1", "execname=a", "threads=7", "endcmd"}), Step::order_ends);
}

TEST(SpawnWire, refuses_what_is_no_order) {
  const std::vector<std::vector<std::string>> all{
      {"endcmd"},
      {"nprocs=1", "endcmd"},
      {"no word"},
      {"nprocs=x"},
      {"nprocs=-1"},
      {"nprocs=99999999999"},
      {"execname="},
      {std::string("execname=a\0b", 12)},
      {"arg2=x"},
      {"arg1=x", "arg1=x"},
      {"argx=x"},
      {"argcnt=1"},
      {"totspawns=0"},
      {"totspawns=257"},
      {"spawnssofar=2"},
      {"preput_val_0=x"},
      {"preput_key_0="},
      {"preput_key_0=" + std::string(key_room, 'k')},
      {"preput_key_0=k", "preput_val_0=" + std::string(value_room, 'v')},
      {"info_val_0=x"}};
  for (const auto& lines : all) {
    SpawnReader reader;
    EXPECT_EQ(take_all(reader, lines), Step::is_wrong) << lines.back();
  }
}

TEST(SpawnWire, keeps_no_more_than_an_order_may_have) {
  SpawnReader reader;
  const std::string argument(4000, 'x');
  int taken = 0;
  while (reader.take("arg" + std::to_string(taken + 1) + "=" + argument) == Step::more) ++taken;
  EXPECT_EQ(static_cast<std::size_t>(taken), most_spawn_bytes / (argument.size() + 7));
  SpawnReader pairs;
  int keys = 0;
  while (pairs.take("preput_key_0=key" + std::to_string(keys)) == Step::more) ++keys;
  EXPECT_EQ(keys, 64);
}

}  // namespace
}  // namespace weft::pmi
