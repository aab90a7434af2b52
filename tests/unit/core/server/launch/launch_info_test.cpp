// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/launch/launch_info.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/link/messages.hpp"
#include "core/server/launch/launch_blob.hpp"

namespace weft::server {
namespace {

using EnvEntries = std::vector<std::string>;

struct ChildEnv {
  char** entries = nullptr;
  explicit ChildEnv(const EnvEntries& with = {}) {
    entries = static_cast<char**>(std::calloc(with.size() + 1, sizeof(char*)));
    for (std::size_t i = 0; i < with.size(); ++i) entries[i] = ::strdup(with[i].c_str());
  }
  ~ChildEnv() {
    for (char** entry = entries; entry != nullptr && *entry != nullptr; ++entry) std::free(*entry);
    std::free(entries);
  }
  EnvEntries all() const {
    EnvEntries out;
    for (char** entry = entries; entry != nullptr && *entry != nullptr; ++entry) out.emplace_back(*entry);
    return out;
  }
};

/// A variable of this process, as long as the object.
struct SetVariable {
  std::string name;
  SetVariable(const char* of, const char* value) : name(of) { ::setenv(of, value, 1); }
  ~SetVariable() { ::unsetenv(name.c_str()); }
};

// ---- what is done to an environment

struct ChangeRow {
  EnvarChange change;
  const char* before;  ///< null: the variable is not there
  const char* after;
};
TEST(Envars, each_change_with_and_without_the_variable) {
  const ChangeRow rows[] = {{EnvarChange::set, nullptr, "V=new"},
                            {EnvarChange::set, "V=old", "V=new"},
                            {EnvarChange::add, nullptr, "V=new"},
                            {EnvarChange::add, "V=", "V="},
                            {EnvarChange::add, "V=old", "V=old"},
                            {EnvarChange::prepend, nullptr, "V=new"},
                            {EnvarChange::prepend, "V=", "V=new"},
                            {EnvarChange::prepend, "V=old", "V=new;old"},
                            {EnvarChange::append, nullptr, "V=new"},
                            {EnvarChange::append, "V=old", "V=old;new"},
                            {EnvarChange::first, nullptr, "V=new"},
                            {EnvarChange::first, "V=old", "V=new;old"},
                            {EnvarChange::first, "V=old;new", "V=new;old"},
                            {EnvarChange::first, "V=new", "V=new"},
                            {EnvarChange::first, "V=newer;new;a", "V=new;newer;a"},
                            {EnvarChange::unset, nullptr, nullptr},
                            {EnvarChange::unset, "V=old", nullptr}};
  for (const auto& row : rows) {
    EnvEntries before{"VV=1"}, after{"VV=1"};
    if (row.before != nullptr) before.emplace_back(row.before);
    if (row.after != nullptr) after.emplace_back(row.after);
    ChildEnv env(before);
    ASSERT_TRUE(apply({row.change, "V", "new", ';'}, &env.entries));
    EXPECT_EQ(env.all(), after) << static_cast<int>(row.change);
  }
}

TEST(Envars, of_an_environment_that_is_none) {
  ChildEnv env;
  std::free(env.entries);
  env.entries = nullptr;
  ASSERT_TRUE(apply({EnvarChange::unset, "V", "", ':'}, &env.entries));
  EXPECT_EQ(env.all(), EnvEntries{});
  ASSERT_TRUE(apply({EnvarChange::append, "V", "new", ':'}, &env.entries));
  EXPECT_EQ(env.all(), EnvEntries{"V=new"});
}

data::Value envar(const char* name, const char* value, char separator) {
  char* const no_const_name = const_cast<char*>(name);
  pmix_value_t raw{};
  raw.type = PMIX_ENVAR;
  raw.data.envar = {no_const_name, const_cast<char*>(value), separator};
  return *data::Value::copy_of(raw);
}

TEST(Envars, are_read_in_their_order_or_not_at_all) {
  data::Infos infos;
  infos.add(PMIX_APPEND_ENVAR, envar("A", "1", ','));
  infos.add("something.else", data::Value::of(true));
  infos.add(PMIX_UNSET_ENVAR, data::Value::of("A"));
  infos.add(PMIX_FIRST_ENVAR, envar("A", "2", '\0'));
  Envars read;
  ASSERT_TRUE(read_envars(infos.data(), infos.size(), read));
  const Envars wanted{{EnvarChange::append, "A", "1", ','},
                      {EnvarChange::unset, "A", "", ':'},
                      {EnvarChange::first, "A", "2", ':'}};
  EXPECT_EQ(read, wanted);
  for (auto& bad :
       {envar("", "1", ':'), envar("A=B", "1", ':'), data::Value::of("A"), data::Value::of(true)}) {
    data::Infos with;
    with.add(PMIX_SET_ENVAR, envar("GOOD", "1", ':'));
    with.add(PMIX_SET_ENVAR, *data::Value::copy_of(bad.get()));
    EXPECT_FALSE(read_envars(with.data(), with.size(), read));
    EXPECT_EQ(read, wanted);
  }
}

data::Value info_array_of(data::Infos& infos) {
  pmix_data_array_t array{PMIX_INFO, infos.size(), infos.data()};
  pmix_value_t raw{};
  raw.type = PMIX_DATA_ARRAY;
  raw.data.darray = &array;
  return *data::Value::copy_of(raw);
}

TEST(Envars, in_the_array_of_an_application_are_for_it_alone) {
  data::Infos second, infos;
  second.add(PMIX_SET_ENVAR, envar("A", "1", ':'));
  second.add(PMIX_APPNUM, data::Value::of(std::uint32_t{1}));
  second.add(PMIX_UNSET_ENVAR, data::Value::of("B"));
  infos.add(PMIX_SET_ENVAR, envar("A", "0", ':'));
  infos.add(PMIX_APP_INFO_ARRAY, info_array_of(second));
  infos.add(PMIX_SET_ENVAR, envar("C", "0", ':'));
  Envars read;
  ASSERT_TRUE(read_envars(infos.data(), infos.size(), read));
  EXPECT_EQ(read, (Envars{{EnvarChange::set, "A", "0", ':'},
                          {EnvarChange::set, "A", "1", ':', 1},
                          {EnvarChange::unset, "B", "", ':', 1},
                          {EnvarChange::set, "C", "0", ':'}}));
}

TEST(Envars, in_an_array_that_is_of_no_application_are_refused) {
  data::Infos of_none, bad_change, of_no_change;
  of_none.add(PMIX_SET_ENVAR, envar("A", "1", ':'));
  bad_change.add(PMIX_APPNUM, data::Value::of(std::uint32_t{1}));
  bad_change.add(PMIX_SET_ENVAR, envar("A=", "1", ':'));
  of_no_change.add(PMIX_WDIR, data::Value::of("/"));
  Envars read;
  for (auto* array : {&of_none, &bad_change}) {
    data::Infos infos;
    infos.add(PMIX_SET_ENVAR, envar("GOOD", "1", ':'));
    infos.add(PMIX_APP_INFO_ARRAY, info_array_of(*array));
    EXPECT_FALSE(read_envars(infos.data(), infos.size(), read));
  }
  data::Infos infos;
  infos.add(PMIX_APP_INFO_ARRAY, info_array_of(of_no_change));
  infos.add(PMIX_APP_INFO_ARRAY, data::Value::of(true));
  EXPECT_TRUE(read_envars(infos.data(), infos.size(), read));
  EXPECT_EQ(read, Envars());
}

// ---- patterns

TEST(EnvarPatterns, what_they_match) {
  std::string bad;
  const auto patterns = EnvarPatterns::parse("OMP_*;A?C;EXACT", bad);
  ASSERT_TRUE(patterns) << bad;
  for (const char* name : {"OMP_", "OMP_NUM_THREADS", "ABC", "A?C", "EXACT"})
    EXPECT_TRUE(patterns->match(name)) << name;
  for (const char* name : {"OMP", "XOMP_", "AC", "ABBC", "EXACTLY", "EXAC", ""})
    EXPECT_FALSE(patterns->match(name)) << name;
  EXPECT_TRUE(EnvarPatterns::parse("*", bad)->match("ANY"));
  EXPECT_FALSE(EnvarPatterns().match("ANY"));
}

TEST(EnvarPatterns, those_that_are_none_are_named) {
  const std::pair<const char*, const char*> rows[] = {{"", ""},           {"A;", ""},    {";A", ""},
                                                      {"A;B*C;D", "B*C"}, {"**", "**"},  {"A;B C", "B C"},
                                                      {"A=1", "A=1"},     {"A\t", "A\t"}};
  for (const auto& [text, wanted] : rows) {
    std::string bad = "unchanged";
    EXPECT_FALSE(EnvarPatterns::parse(text, bad)) << text;
    EXPECT_EQ(bad, wanted) << text;
  }
}

// ---- from the launcher to a node

Envars made_and_read(LaunchInfo& launcher, const std::string& nspace, const data::Infos& directives) {
  std::string bad;
  const auto made = launcher.gather(nspace, directives.data(), directives.size(), bad);
  EXPECT_TRUE(made) << bad;
  if (!made) return {};
  const auto packed = pack_launch_info({nspace, *made});
  EXPECT_EQ(packed.size(), made->empty() ? 0u : 1u);
  const auto read = read_launch_info(nspace, packed.data(), packed.size());
  EXPECT_TRUE(read);
  return read ? read->envars : Envars();
}

bool has(const Envars& envars, const std::string& name) {
  return std::any_of(envars.begin(), envars.end(), [&](const Envar& each) { return each.name == name; });
}

TEST(LaunchInfo, variables_of_fabrics_travel_and_those_of_one_process_do_not) {
  const SetVariable fabric("UCX_OF_THIS_TEST", "a value, with = and \n"), token("WEFT_TOKEN", "never");
  LaunchInfo launcher;
  const auto read = made_and_read(launcher, "job", {});
  EXPECT_TRUE(std::find(read.begin(), read.end(),
                        Envar{EnvarChange::set, "UCX_OF_THIS_TEST", "a value, with = and \n", ':'}) !=
              read.end());
  EXPECT_FALSE(has(read, "WEFT_TOKEN"));
  EXPECT_FALSE(has(read, "PATH"));
  data::Infos others;
  others.add(PMIX_UNSET_ENVAR, data::Value::of("X"));
  EXPECT_EQ(made_and_read(launcher, "job", others), (Envars{{EnvarChange::unset, "X", "", ':'}}));
}

TEST(LaunchInfo, forwarded_variables_add_up_for_their_namespace) {
  const SetVariable one("OF_TEST_1", "1"), two("OF_TEST_2", "2"), other("OTHER_OF_TEST", "3"),
      rank("PMIX_RANK", "7");
  LaunchInfo launcher;
  std::string bad;
  ASSERT_TRUE(launcher.forward("job", "OF_TEST_*", "OF_TEST_2", bad));
  ASSERT_TRUE(launcher.forward("job", "OTHER_OF_TES?;PMIX_R*", "", bad));
  data::Infos none;
  none.add("something.else", data::Value::of(true));
  const auto read = made_and_read(launcher, "job", none);
  EXPECT_TRUE(has(read, "OF_TEST_1") && has(read, "OTHER_OF_TEST"));
  EXPECT_FALSE(has(read, "OF_TEST_2"));
  EXPECT_FALSE(has(read, "PMIX_RANK")) << "each process has its own";
  EXPECT_TRUE(made_and_read(launcher, "another", none).empty());
  launcher.forget("job");
  EXPECT_TRUE(made_and_read(launcher, "job", none).empty());
}

TEST(LaunchInfo, a_pattern_that_is_none_registers_nothing) {
  const SetVariable one("OF_TEST_1", "1");
  LaunchInfo launcher;
  std::string bad;
  EXPECT_FALSE(launcher.forward("job", "OF_TEST_1;B*C", "", bad));
  EXPECT_EQ(bad, "B*C");
  EXPECT_FALSE(launcher.forward("job", "OF_TEST_1", "D*E", bad));
  EXPECT_EQ(bad, "D*E");
  data::Infos none;
  none.add("something.else", data::Value::of(true));
  EXPECT_TRUE(made_and_read(launcher, "job", none).empty());
}

TEST(LaunchInfo, the_user_names_variables_in_the_environment_or_in_a_file) {
  const auto home =
      std::filesystem::temp_directory_path() / ("home-of-launch-info." + std::to_string(::getpid()));
  std::filesystem::create_directories(home / ".pmix");
  const char* const before = std::getenv("HOME");
  const std::string old_home = before != nullptr ? before : "";
  ::setenv("HOME", home.c_str(), 1);
  std::ofstream(home / ".pmix" / "mca-params.conf")
      << "# forward_envars = NO\nother = NO\n  forward_envars =  OF_TEST_1\n";
  const SetVariable one("OF_TEST_1", "1"), two("OF_TEST_2", "2");
  data::Infos none;
  none.add("something.else", data::Value::of(true));
  LaunchInfo launcher;
  EXPECT_EQ(made_and_read(launcher, "job", none), (Envars{{EnvarChange::set, "OF_TEST_1", "1", ':'}}));
  {
    const SetVariable first("PMIX_MCA_forward_envars", "OF_TEST_2");
    EXPECT_EQ(made_and_read(launcher, "job", none), (Envars{{EnvarChange::set, "OF_TEST_2", "2", ':'}}));
    data::Infos unwanted;
    unwanted.add(PMIX_SETUP_APP_ENVARS, data::Value::of(false));
    EXPECT_EQ(made_and_read(launcher, "job", unwanted), Envars()) << "the host harvests nothing";
    const SetVariable bad_one("PMIX_MCA_forward_envars", "A;;B");
    std::string bad = "unchanged";
    EXPECT_FALSE(launcher.gather("job", none.data(), none.size(), bad));
    EXPECT_EQ(bad, "");
  }
  old_home.empty() ? ::unsetenv("HOME") : ::setenv("HOME", old_home.c_str(), 1);
  std::filesystem::remove_all(home);
}

TEST(LaunchInfo, parents_come_first) {
  LaunchInfo launcher;
  data::Infos of_parent, of_child;
  data::Infos of_one;
  of_one.add(PMIX_APPNUM, data::Value::of(std::uint32_t{0}));
  of_one.add(PMIX_SET_ENVAR, envar("W", "of an application of the parent", ':'));
  of_parent.add(PMIX_SET_ENVAR, envar("V", "parent", ':'));
  of_parent.add(PMIX_APP_INFO_ARRAY, info_array_of(of_one));
  made_and_read(launcher, "parent", of_parent);
  of_child.add(PMIX_PARENT_ID, data::Value::of_proc(link::make_proc("parent", PMIX_RANK_WILDCARD)));
  of_child.add(PMIX_PREPEND_ENVAR, envar("V", "child", ':'));
  of_child.add(PMIX_PARENT_ID, data::Value::of_proc(link::make_proc("unknown", 0)));
  ChildEnv env;
  for (const auto& each : made_and_read(launcher, "child", of_child)) ASSERT_TRUE(apply(each, &env.entries));
  EXPECT_EQ(env.all(), EnvEntries{"V=child:parent"});
}

// ---- what is no launch information

constexpr const char* launch_key = "weft.launch";

LaunchBlob of_job() {
  return {"job",
          {{EnvarChange::set, "VARIABLE", "value", ':', 1}, {EnvarChange::first, "PATH", "/bin", ':'}}};
}

/// Why the bytes are refused; empty: they are taken.
std::string why_refused(Bytes bytes) {
  const auto read = decode_launch(bytes);
  return read ? std::string() : read.error().what;
}

TEST(LaunchBlob, is_read_as_it_was_made) {
  const auto read = decode_launch(encode_launch(of_job()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->nspace, "job");
  EXPECT_EQ(read->envars, of_job().envars);
}

TEST(LaunchBlob, of_several_packs_keeps_contacts_and_costs) {
  auto blob = of_job();
  blob.contacts = {std::vector<std::byte>(3, std::byte{7})};
  blob.costs = collectives::Costs::on_one_machine(4);
  auto infos = pack_launch_info(blob);
  const auto without = pack_launch_info(of_job());
  for (std::size_t i = 0; i < without.size(); ++i)
    infos.add(launch_key, *data::Value::copy_of(without.data()[i].value));
  const auto read = read_launch_info("job", infos.data(), infos.size());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->contacts, blob.contacts);
  ASSERT_TRUE(read->costs);
  EXPECT_EQ(read->costs->cores, 4u);
  EXPECT_EQ(read->costs->source, collectives::Costs::Source::one_machine);
}

TEST(LaunchBlob, cut_or_changed_at_any_byte_it_is_refused) {
  auto bytes = encode_launch(of_job());
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_NE(why_refused(Bytes(bytes).first(length)), "") << length;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      const auto before = std::exchange(bytes[i], bytes[i] ^ static_cast<std::byte>(1 << bit));
      EXPECT_EQ(why_refused(bytes), "it was cut or changed on its way") << i;
      bytes[i] = before;
    }
  EXPECT_EQ(why_refused(bytes), "");
  bytes.push_back(std::byte{0});
  EXPECT_NE(why_refused(bytes), "");
}

/// The checksum is right in these: what is behind it has to hold by itself.
TEST(LaunchBlob, with_a_right_checksum_its_content_is_checked_all_the_same) {
  const auto content = base::encode(of_job());
  for (std::size_t length = 0; length < content.size(); ++length)
    EXPECT_NE(why_refused(seal_launch(Bytes(content).first(length))), "") << length;
  auto other_version = content;
  other_version[0] ^= std::byte{1};
  EXPECT_EQ(why_refused(seal_launch(other_version)), "it was made by another version of Weft");
  auto longer = content;
  longer.push_back(std::byte{0});
  EXPECT_NE(why_refused(seal_launch(longer)), "");
  for (const auto& envar : Envars{{static_cast<EnvarChange>(6), "A", "1", ':'},
                                  {EnvarChange::set, "", "1", ':'},
                                  {EnvarChange::set, "A=B", "1", ':'},
                                  {EnvarChange::set, std::string("A\0B", 3), "1", ':'},
                                  {EnvarChange::set, "A", std::string("1\0002", 3), ':'}})
    EXPECT_EQ(why_refused(encode_launch({"job", {envar}})), "its fields do not fit together");
}

TEST(LaunchInfo, one_info_that_is_refused_leaves_nothing_of_the_others) {
  data::Infos good, text, twice;
  good.add(launch_key, data::Value::of_bytes(encode_launch(of_job())));
  EXPECT_TRUE(read_launch_info("job", good.data(), good.size()));
  EXPECT_FALSE(read_launch_info("another", good.data(), good.size()));
  EXPECT_FALSE(read_launch_info("jo", good.data(), good.size()));
  text.add(PMIX_SET_ENVAR, envar("A", "1", ':'));
  text.add(launch_key, data::Value::of("weft.launch"));
  EXPECT_FALSE(read_launch_info("job", text.data(), text.size()));
  twice.add(launch_key, data::Value::of_bytes(encode_launch(of_job())));
  twice.add(launch_key, data::Value::of_bytes(encode_launch({"another", {}})));
  EXPECT_FALSE(read_launch_info("job", twice.data(), twice.size()));
}

// ---- the fabric

data::Infos maps(const char* nodes, const char* ranks) {
  data::Infos out;
  out.add(PMIX_SETUP_APP_NONENVARS, data::Value::of(true));
  if (nodes != nullptr) out.add(PMIX_NODE_MAP, data::Value::of(nodes));
  if (ranks != nullptr) out.add(PMIX_PROC_MAP, data::Value::of(ranks));
  return out;
}

TEST(FabricPlan, has_the_nodes_of_the_map_and_as_members_those_with_ranks) {
  using Members = std::vector<NodeNumber>;
  struct Row {
    const char* nodes;
    const char* ranks;
    Members members;  ///< empty: there is no plan
  };
  const Row rows[] = {{"a,b,c", "0;;1", {0, 2}},
                      {"a,b", nullptr, {0, 1}},
                      {"a,b", "0,1;", {}},
                      {"a", "0,1", {}},
                      {nullptr, "0;1", {}}};
  for (const auto& row : rows) {
    const auto infos = maps(row.nodes, row.ranks);
    const auto plan = FabricPlan::wanted_by(infos.data(), infos.size());
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->has_value() ? (*plan)->members : Members(), row.members);
    EXPECT_TRUE(!*plan || is_valid(**plan));
  }
  for (const auto& [nodes, ranks] :
       {std::pair("a,b", "0;1;2"), std::pair("a,,b", "0;1"), std::pair("a,b", "0;x")}) {
    const auto infos = maps(nodes, ranks);
    EXPECT_FALSE(FabricPlan::wanted_by(infos.data(), infos.size())) << nodes << ' ' << ranks;
  }
  data::Infos not_asked;
  not_asked.add(PMIX_NODE_MAP, data::Value::of("a,b"));
  EXPECT_FALSE(FabricPlan::wanted_by(not_asked.data(), not_asked.size())->has_value());
}

TEST(FabricPlan, of_which_the_parts_do_not_fit_is_refused) {
  FabricPlan plan;
  plan.node_map = "a,b,c";
  plan.members = {0, 2};
  const auto is_read = [](const FabricPlan& of) {
    return why_refused(encode_launch({"job", {}, of})).empty();
  };
  EXPECT_TRUE(is_read(plan));
  for (const std::vector<NodeNumber>& members : {std::vector<NodeNumber>{}, {1}, {0, 3}, {2, 0}, {1, 1}}) {
    auto other = plan;
    other.members = members;
    EXPECT_FALSE(is_read(other));
  }
  plan.node_map = "a,,c";
  EXPECT_FALSE(is_read(plan));
}

}  // namespace
}  // namespace weft::server
