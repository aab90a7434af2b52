// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <unistd.h>

#include "core/data/types/array.hpp"
#include "core/link/messages.hpp"
#include "core/server/published/kept_names.hpp"
#include "core/server/published/own_names.hpp"
#include "core/server/published/places.hpp"

namespace weft::server {
namespace {

struct Called {
  std::uint64_t number = 1;
  std::uint32_t rank = 0;
  pmix_data_range_t range = PMIX_RANGE_SESSION;
  NodeNumber origin = 0;
  std::string nspace = "job";
  link::RankRuns custom{};
};

NameRef name(const std::string& key, const Called& of = {}, std::size_t bytes = 8) {
  Publication by;
  by.nspace = of.nspace;
  by.rank = of.rank;
  by.origin = of.origin;
  by.number = of.number;
  by.range = of.range;
  by.custom = of.custom;
  return std::make_shared<const Name>(
      Name{std::make_shared<const Publication>(by), key, std::vector<std::byte>(bytes)});
}

Looker looker(std::uint32_t rank = 5, NodeNumber node = 1, pmix_data_range_t range = PMIX_RANGE_SESSION,
              const char* nspace = "job") {
  return {link::make_proc(nspace, rank), node, 1000, 100, range, {}};
}

TEST(Sight, is_of_both_ranges) {
  const auto sees = [](const Called& by, const Looker& of) {
    return sight_of(*name("k", by)->by, of) == Sight::seen;
  };
  EXPECT_TRUE(sees({}, looker()));
  EXPECT_TRUE(sees({}, looker(5, 1, PMIX_RANGE_SESSION, "other")));
  EXPECT_FALSE(sees({.range = PMIX_RANGE_NAMESPACE}, looker(5, 1, PMIX_RANGE_SESSION, "other")));
  EXPECT_FALSE(sees({.range = PMIX_RANGE_LOCAL}, looker(5, 1)));
  EXPECT_TRUE(sees({.range = PMIX_RANGE_LOCAL}, looker(5, 0)));
  EXPECT_FALSE(sees({}, looker(5, 1, PMIX_RANGE_LOCAL)));
  EXPECT_TRUE(sees({.rank = 5, .range = PMIX_RANGE_PROC_LOCAL}, looker(5, 1, PMIX_RANGE_PROC_LOCAL)));
  EXPECT_FALSE(sees({.rank = 4, .range = PMIX_RANGE_PROC_LOCAL}, looker(5, 0)));
  EXPECT_FALSE(sees({.range = PMIX_RANGE_RM}, looker()));
  EXPECT_FALSE(sees({}, looker(5, 1, PMIX_RANGE_RM)));
  EXPECT_TRUE(sees({.range = PMIX_RANGE_CUSTOM, .custom = {{"job", 5, 6}}}, looker()));
  EXPECT_FALSE(sees({.range = PMIX_RANGE_CUSTOM, .custom = {{"job", 6, 6}}}, looker()));
  auto custom = looker(5, 1, PMIX_RANGE_CUSTOM);
  custom.custom = {{"job", PMIX_RANK_WILDCARD, PMIX_RANK_WILDCARD}};
  EXPECT_TRUE(sees({}, custom));
  EXPECT_FALSE(sees({.nspace = "other"}, custom));
}

TEST(Sight, needs_access_by_user_and_by_group_where_both_are_named) {
  Publication by;
  by.users = {{7, 1000}};
  EXPECT_EQ(sight_of(by, looker()), Sight::seen);
  by.groups = {{1}};
  EXPECT_EQ(sight_of(by, looker()), Sight::hidden);
  by.users = std::vector<std::uint32_t>{};
  by.groups.reset();
  EXPECT_EQ(sight_of(by, looker()), Sight::hidden);
  by.range = PMIX_RANGE_RM;
  EXPECT_EQ(sight_of(by, looker()), Sight::none);
}

TEST(Publication, is_read_from_the_infos_of_a_call) {
  const auto status_of = [](const char* key, data::Value value) {
    data::Infos infos;
    infos.add(key, std::move(value));
    Publication out;
    return read_publication(infos, out);
  };
  EXPECT_EQ(status_of(PMIX_RANGE, data::Value::of(std::uint32_t{PMIX_RANGE_GLOBAL})), PMIX_SUCCESS);
  EXPECT_EQ(status_of(PMIX_RANGE, data::Value::of(std::uint32_t{8})), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status_of(PMIX_RANGE, data::Value::of(std::uint32_t{256 + 4})), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status_of(PMIX_RANGE, data::Value::of("all")), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status_of(PMIX_PERSISTENCE, data::Value::of(std::uint32_t{5})), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status_of(PMIX_PERSISTENCE, data::Value::of(std::uint32_t{PMIX_PERSIST_INVALID})), PMIX_SUCCESS);
  EXPECT_EQ(status_of(PMIX_ACCESS_USERIDS, data::Value::of(std::uint32_t{5})), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status_of(PMIX_ACCESS_PERMISSIONS, data::Value::of(std::uint32_t{5})), PMIX_ERR_BAD_PARAM);
  const std::uint32_t users[] = {1, 2};
  data::Infos infos;
  infos.add(PMIX_ACCESS_USERIDS, *data::value_of_array(PMIX_UINT32, users, 2));
  Publication out;
  ASSERT_EQ(read_publication(infos, out), PMIX_SUCCESS);
  EXPECT_EQ(out.users, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(out.range, PMIX_RANGE_SESSION);
  EXPECT_EQ(out.persistence, PMIX_PERSIST_APP);
}

TEST(ReadRange, a_number_that_is_no_range_is_none_in_a_lookup) {
  const auto read = [](std::uint8_t number, Looker& out) {
    data::Infos infos;
    infos.add(PMIX_RANGE, data::Value::of(std::uint32_t{number}));
    return read_range(infos, out);
  };
  for (const int number : {8, 63, 199, 254, int{PMIX_RANGE_UNDEF}, int{PMIX_RANGE_INVALID}}) {
    Looker out = looker();
    EXPECT_EQ(read(static_cast<std::uint8_t>(number), out), PMIX_SUCCESS) << number;
    EXPECT_EQ(out.range, PMIX_RANGE_SESSION) << number;
  }
  Looker out = looker();
  EXPECT_EQ(read(PMIX_RANGE_LOCAL, out), PMIX_SUCCESS);
  EXPECT_EQ(out.range, PMIX_RANGE_LOCAL);
  EXPECT_EQ(read(PMIX_RANGE_CUSTOM, out), PMIX_ERR_BAD_PARAM);  // without its processes
}

TEST(KeptNames, has_a_key_once_in_a_space) {
  KeptNames names(1 << 20);
  EXPECT_EQ(names.add({name("a"), name("b")}), PMIX_SUCCESS);
  EXPECT_EQ(names.add({name("a", {.number = 2, .rank = 1})}), PMIX_ERR_DUPLICATE_KEY);
  for (const pmix_data_range_t range : {PMIX_RANGE_GLOBAL, PMIX_RANGE_NAMESPACE, PMIX_RANGE_LOCAL})
    EXPECT_EQ(names.add({name("a", {.number = 3, .range = range})}), PMIX_SUCCESS);
  EXPECT_EQ(names.add({name("a", {.number = 4, .range = PMIX_RANGE_LOCAL, .origin = 1})}), PMIX_SUCCESS);
  EXPECT_EQ(names.add({name("a", {.number = 5, .range = PMIX_RANGE_NAMESPACE, .nspace = "other"})}),
            PMIX_SUCCESS);
  EXPECT_EQ(names.size(), 7u);
}

TEST(KeptNames, takes_all_or_none) {
  KeptNames names(1 << 20);
  ASSERT_EQ(names.add({name("c")}), PMIX_SUCCESS);
  const auto bytes = names.bytes();
  EXPECT_EQ(names.add({name("a", {.number = 2}), name("b", {.number = 2}), name("c", {.number = 2})}),
            PMIX_ERR_DUPLICATE_KEY);
  EXPECT_EQ(names.add({name("d", {.number = 3}), name("d", {.number = 3})}), PMIX_ERR_DUPLICATE_KEY);
  EXPECT_EQ(names.size(), 1u);
  EXPECT_EQ(names.bytes(), bytes);
  EXPECT_TRUE(names.find("c", 0, 1));
}

TEST(KeptNames, is_bounded) {
  const auto one = name("a")->weight();
  KeptNames names(2 * one);
  EXPECT_EQ(names.add({name("a"), name("b"), name("c")}), PMIX_ERR_OUT_OF_RESOURCE);
  EXPECT_EQ(names.add({name("a"), name("b")}), PMIX_SUCCESS);
  EXPECT_EQ(names.add({name("c")}), PMIX_ERR_OUT_OF_RESOURCE);
  names.erase("a", 0, 1);
  EXPECT_EQ(names.add({name("c", {}, 9)}), PMIX_ERR_OUT_OF_RESOURCE);
  EXPECT_EQ(names.add({name("c")}), PMIX_SUCCESS);
  names.erase_if([](const Name&) { return true; });
  EXPECT_EQ(names.bytes() + names.size(), 0u);
}

TEST(KeptNames, finds_the_narrowest) {
  KeptNames names(1 << 20);
  std::uint64_t number = 0;
  for (const pmix_data_range_t range :
       {PMIX_RANGE_NAMESPACE, PMIX_RANGE_GLOBAL, PMIX_RANGE_PROC_LOCAL, PMIX_RANGE_SESSION, PMIX_RANGE_LOCAL})
    ASSERT_EQ(names.add({name("a", {.number = ++number, .rank = 5, .range = range, .origin = 1})}),
              PMIX_SUCCESS);
  for (const pmix_data_range_t range : {PMIX_RANGE_PROC_LOCAL, PMIX_RANGE_LOCAL, PMIX_RANGE_NAMESPACE,
                                        PMIX_RANGE_SESSION, PMIX_RANGE_GLOBAL}) {
    const auto [sight, found] = names.look("a", looker());
    ASSERT_EQ(sight, Sight::seen);
    EXPECT_EQ(found->by->range, range);
    names.erase("a", 1, found->by->number);
  }
  EXPECT_EQ(names.look("a", looker()).first, Sight::none);
}

TEST(OwnNames, are_found_by_publisher_and_key) {
  OwnNames own;
  own.add(name("a"));
  own.add(name("a", {.number = 2, .range = PMIX_RANGE_LOCAL}));
  own.add(name("b", {.number = 3, .rank = 1}));
  own.add(name("a", {.number = 4, .nspace = "other"}));
  EXPECT_EQ(own.find(link::make_proc("job", 0), "a").size(), 2u);
  EXPECT_EQ(own.all_of(link::make_proc("job", 1)).size(), 1u);
  EXPECT_EQ(own.all_of(std::string("job")).size(), 3u);
  EXPECT_EQ(own.all().size(), 4u);
  own.erase("job", 0, "a", 9);
  own.erase("job", 0, "a", 2);
  EXPECT_EQ(own.find(link::make_proc("job", 0), "a").size(), 1u);
  for (const auto& one : own.all()) own.erase(*one);
  EXPECT_EQ(own.bytes(), 0u);
  EXPECT_TRUE(own.all().empty());
}

TEST(Places, go_to_the_next_server_that_is_there) {
  ServerTable servers("host", 1);
  servers.reset(0, 4, 4, 1);
  for (NodeNumber node = 1; node < 4; ++node) servers.add(node, "other");
  Places places(servers);
  EXPECT_LT(places.home_of("some key"), 4u);
  EXPECT_EQ(places.keeper_of(2), 2u);
  servers.take_for_lost(2);
  EXPECT_EQ(places.keeper_of(2), 3u);
  servers.leave(3);
  EXPECT_EQ(places.keeper_of(2), 0u);
  EXPECT_EQ(places.keeper_of(1), 1u);
  servers.take_for_lost(1);
  EXPECT_EQ(places.keeper_of(1), 0u);
}

TEST(Places, follow_what_other_servers_know) {
  ServerTable servers("host", 1);
  servers.reset(0, 4, 4, 1);
  for (NodeNumber node = 1; node < 4; ++node) servers.add(node, "other");
  Places places(servers);
  places.follow(1, 2);
  EXPECT_EQ(places.keeper_of(1), 2u);
  EXPECT_EQ(places.keeper_of(2), 2u);
  places.follow(1, 0);
  places.follow(1, 3);  // that is older
  EXPECT_EQ(places.keeper_of(1), 0u);
  places.follow(9, 9);
  servers.take_for_lost(2);
  EXPECT_EQ(places.keeper_of(2), 3u);
}

TEST(Places, have_a_keeper_that_has_said_so) {
  ServerTable servers("host", 1);
  servers.reset(0, 3, 3, 1);
  for (const NodeNumber node : {1u, 2u}) servers.add(node, "other");
  Places places(servers);
  EXPECT_TRUE(places.has_keeper(1));
  servers.leave(1);
  EXPECT_FALSE(places.has_keeper(1)) << "node 2 is next, and has not asked for what node 1 has kept";
  places.follow(1, 2);
  EXPECT_TRUE(places.has_keeper(1));
  servers.take_for_lost(2);
  EXPECT_FALSE(places.has_keeper(1));
}

TEST(Places, are_on_nodes_that_are_there_from_the_start) {
  ServerTable servers("host", 1);
  servers.reset(5, 6, 2, 1);  // this one came later
  for (const NodeNumber node : {0u, 1u, 3u}) servers.add(node, "other");
  EXPECT_EQ(count_expected(servers), 4u);
  Places places(servers);
  for (int i = 0; i < 100; ++i) EXPECT_LT(places.home_of("service." + std::to_string(i)), 2u);
  servers.take_for_lost(1);
  EXPECT_EQ(places.keeper_of(1), 0u);
  places.follow(0, 3);
  EXPECT_EQ(places.keeper_of(0), 0u) << "a later one keeps none";
}

TEST(Places, spread_the_keys) {
  ServerTable servers("host", 1);
  servers.reset(0, 8, 8, 1);
  Places places(servers);
  std::vector<int> count(8);
  for (int i = 0; i < 8000; ++i) ++count[places.home_of("service." + std::to_string(i))];
  for (const auto each : count) EXPECT_NEAR(each, 1000, 200);
}

}  // namespace
}  // namespace weft::server
