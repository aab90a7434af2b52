// SPDX-License-Identifier: BSD-3-Clause
#include "pmi/wire2/spawn_fields.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weft::pmi::wire2 {
namespace {

using Step = SpawnFields::Step;

Step begin(SpawnFields& fields, const std::string& text) {
  return fields.begin(*read_message("cmd=spawn;" + text));
}
Step add(SpawnFields& fields, const std::string& text) {
  return fields.add(*read_message("cmd=spawn-cmd;" + text));
}
Step begin(const std::string& text) {
  SpawnFields fields;
  return begin(fields, text);
}

TEST(SpawnFields, of_one_message_are_an_order) {
  SpawnFields fields;
  ASSERT_EQ(
      begin(fields,
            "thrid=1;ncmds=2;preputcount=2;ppkey0=p;ppval0=x;ppkey1=q;ppval1=;subcmd=a;maxprocs=2;argc=2;"
            "argv0=b "
            "c;argv1=;infokeycount=1;infokey0=wdir;infoval0=/;subcmd=d;maxprocs=1;argc=0;infokeycount=0;"),
      Step::order_ends);
  const auto order = fields.release();
  EXPECT_EQ(order.preput, (std::vector<KeyValue>{{"p", "x"}, {"q", ""}}));
  ASSERT_EQ(order.commands.size(), 2U);
  EXPECT_EQ(order.commands[0].program, "a");
  EXPECT_EQ(order.commands[0].arguments, (std::vector<std::string>{"b c", ""}));
  EXPECT_EQ(order.commands[0].ranks, 2U);
  EXPECT_EQ(order.commands[0].infos, (std::vector<KeyValue>{{"wdir", "/"}}));
  EXPECT_EQ(order.commands[1].program, "d");
  EXPECT_EQ(order.commands[1].ranks, 1U);
  EXPECT_TRUE(fields.release().commands.empty());
}

TEST(SpawnFields, of_messages_of_their_own_are_an_order_with_the_name_as_first_argument) {
  SpawnFields fields;
  ASSERT_EQ(begin(fields, "thrid=1;ncmds=2;preputcount=0;"), Step::more);
  EXPECT_TRUE(fields.is_open());
  ASSERT_EQ(add(fields, "thrid=1;maxprocs=2;argc=2;argv0=a;argv1=b;"), Step::more);
  ASSERT_EQ(add(fields, "thrid=1;maxprocs=1;argc=1;argv0=c;"), Step::order_ends);
  EXPECT_FALSE(fields.is_open());
  const auto order = fields.release();
  ASSERT_EQ(order.commands.size(), 2U);
  EXPECT_EQ(order.commands[0].program, "a");
  EXPECT_EQ(order.commands[0].arguments, std::vector<std::string>{"b"});
  EXPECT_EQ(order.commands[1].program, "c");
}

TEST(SpawnFields, count_arguments_from_0_or_from_1) {
  EXPECT_EQ(begin("ncmds=1;subcmd=a;argv0=x;argv1=y;"), Step::order_ends);
  EXPECT_EQ(begin("ncmds=1;subcmd=a;argv1=x;argv2=y;"), Step::order_ends);
  EXPECT_EQ(begin("ncmds=1;subcmd=a;argv2=x;"), Step::is_wrong);
  EXPECT_EQ(begin("ncmds=1;subcmd=a;argv0=x;argv2=y;"), Step::is_wrong);
  EXPECT_EQ(begin("ncmds=1;subcmd=a;argvx=x;"), Step::is_wrong);
}

TEST(SpawnFields, that_are_no_order_are_wrong) {
  using namespace std::string_literals;
  for (const auto& text :
       {""s, "ncmds=0;"s, "ncmds=x;"s, "ncmds=-1;"s, "ncmds=257;"s, "ncmds=1;subcmd=;"s, "ncmds=2;subcmd=a;"s,
        "ncmds=1;subcmd=a;subcmd=b;"s, "ncmds=1;subcmd=a;argc=1;"s, "ncmds=1;subcmd=a;argc=x;"s,
        "ncmds=1;subcmd=a;maxprocs=x;"s, "ncmds=1;subcmd=a\0;"s, "ncmds=1;ppkey0=;subcmd=a;"s,
        "ncmds=1;ppval0=x;subcmd=a;"s, "ncmds=1;subcmd=a;infoval0=x;"s,
        "ncmds=1;ppkey0=k;ppval0=" + std::string(value_room, 'v') + ";subcmd=a;"})
    EXPECT_EQ(begin(text), Step::is_wrong) << text;
}

TEST(SpawnFields, of_another_thread_or_of_no_order_are_wrong_and_end_the_order) {
  SpawnFields fields;
  EXPECT_EQ(add(fields, "argv0=a;"), Step::is_wrong);
  ASSERT_EQ(begin(fields, "thrid=1;ncmds=1;"), Step::more);
  EXPECT_EQ(add(fields, "thrid=2;argv0=a;"), Step::is_wrong);
  EXPECT_FALSE(fields.is_open());
  EXPECT_EQ(add(fields, "thrid=1;argv0=a;"), Step::is_wrong);
}

TEST(SpawnFields, of_a_program_without_a_name_are_wrong) {
  SpawnFields fields;
  ASSERT_EQ(begin(fields, "ncmds=1;"), Step::more);
  EXPECT_EQ(add(fields, "maxprocs=1;argc=0;"), Step::is_wrong);
}

}  // namespace
}  // namespace weft::pmi::wire2
