// SPDX-License-Identifier: BSD-3-Clause
// One Get, in every direction that its directives can point it.
#include "core/store/get/lookup.hpp"

#include "tests/unit/core/store/segment/jobs.hpp"

namespace weft::store {
namespace {

constexpr auto wildcard = static_cast<std::uint32_t>(PMIX_RANK_WILDCARD);
constexpr auto undefined = static_cast<std::uint32_t>(PMIX_RANK_UNDEF);

/// The two-node job with puts of every scope and job-level keys of every realm.
struct Lookup : ::testing::Test {
  Lookup() {
    const auto info = [&](KeyOwner owner, const char* key, const char* text) {
      EXPECT_TRUE(job.add_info({owner, key, Value::of(text)}));
    };
    info({Realm::job, 0}, "pmix.level", "job");
    info({Realm::node, 0}, "pmix.nodekey", "alpha's");
    info({Realm::node, 1}, "pmix.nodekey", "beta's");
    info({Realm::app, 0}, "pmix.appkey", "app 0");
    info({Realm::app, 1}, "pmix.appkey", "app 1");
    info({Realm::session, 0}, "pmix.sesskey", "session");
    info({Realm::session, 9}, "pmix.sesskey", "session 9");
    info({Realm::rank, 3}, "pmix.rankkey", "rank 3");
    info({Realm::job, 0}, "plain", "job level");
    EXPECT_TRUE(put(view, 2, "local", Value::of("L"), PMIX_LOCAL));
    EXPECT_TRUE(put(view, 2, "remote", Value::of("R"), PMIX_REMOTE));
    EXPECT_TRUE(put(view, 2, "global", Value::of("G"), PMIX_GLOBAL));
    remote(3, PMIX_REMOTE, "remote", "R3");
    remote(3, PMIX_GLOBAL, "global", "G3");
  }
  void remote(std::uint32_t rank, std::uint8_t scope, std::string_view key, const char* text) {
    data::Writer encoded;
    EXPECT_TRUE(data::encode_value(encoded, Value::of(text).get()));
    const CardRecord record{scope, key, encoded.view()};
    const auto from = view.cards().remote_known(rank);
    EXPECT_TRUE(job.add_card({"job", rank, from, from + 8, {&record, 1}}));
  }
  std::string get(std::uint32_t rank, std::string_view key, const GetDirectives& how = {},
                  Caller caller = {true, 0}) const {
    return words(lookup(view, rank, key, how, caller));
  }
  std::string get(std::uint32_t rank, std::string_view key, data::Infos infos,
                  Caller caller = {true, 0}) const {
    const auto how = GetDirectives::parse(infos.data(), infos.size());
    return how ? get(rank, key, *how, caller) : "-" + std::to_string(static_cast<int>(how.error().code));
  }
  template <class... Pairs>
  static data::Infos infos(Pairs&&... pairs) {
    data::Infos out;
    (out.add(pairs.first, std::move(pairs.second)), ...);
    return out;
  }
  static auto with(const char* key, Value value) {
    return std::pair<const char*, Value>(key, std::move(value));
  }
  static auto yes(const char* key) { return with(key, Value::of(true)); }
  static Value scope(pmix_scope_t s) {
    pmix_value_t raw{};
    raw.type = PMIX_SCOPE;
    raw.data.scope = s;
    return Value::adopt(raw);
  }

  Node node;
  JobWriter job = std::move(*node.add(two_node_job()));
  const JobView& view = job.view();
};

TEST_F(Lookup, puts_of_a_local_rank) {
  EXPECT_EQ(get(2, "local"), "s L");
  EXPECT_EQ(get(2, "global"), "s G");
  EXPECT_EQ(get(2, "remote"), outside());
  EXPECT_EQ(get(2, "remote", GetDirectives{}, {true, 2}), "s R");       // its own it always sees
  EXPECT_EQ(get(2, "remote", GetDirectives{}, {false, 2}), outside());  // rank 2 of another job
  EXPECT_EQ(get(0, "local"), not_found());
  EXPECT_EQ(get(6, "local"), not_found());
}

TEST_F(Lookup, puts_of_a_remote_rank) {
  EXPECT_EQ(get(3, "remote"), "s R3");
  EXPECT_EQ(get(3, "global"), "s G3");
  EXPECT_EQ(get(1, "global"), not_found());
}

TEST_F(Lookup, the_newest_put_wins) {
  ASSERT_TRUE(put(view, 2, "global", Value::of("G'")));
  EXPECT_EQ(get(2, "global"), "s G'");
}

TEST_F(Lookup, scope_as_a_directive) {
  EXPECT_EQ(get(2, "local", infos(with(PMIX_DATA_SCOPE, scope(PMIX_LOCAL)))), "s L");
  EXPECT_EQ(get(2, "remote", infos(with(PMIX_DATA_SCOPE, scope(PMIX_REMOTE)))), "s R");
  EXPECT_EQ(get(2, "global", infos(with(PMIX_DATA_SCOPE, scope(PMIX_LOCAL)))), "s G");
  EXPECT_EQ(get(2, "local", infos(with(PMIX_DATA_SCOPE, scope(PMIX_REMOTE)))), outside());
  EXPECT_EQ(get(2, "local", infos(with(PMIX_DATA_SCOPE, scope(PMIX_GLOBAL)))), outside());
  EXPECT_EQ(get(2, "global", infos(with(PMIX_DATA_SCOPE, scope(PMIX_INTERNAL)))), outside());
}

TEST_F(Lookup, reserved_keys_of_a_rank_fall_back_to_what_it_belongs_to) {
  EXPECT_EQ(get(3, "pmix.rankkey"), "s rank 3");
  EXPECT_EQ(get(3, PMIX_LOCAL_RANK), "u16 1");
  EXPECT_EQ(get(3, PMIX_HOSTNAME), "s beta");
  EXPECT_EQ(get(3, "pmix.level"), "s job");
  EXPECT_EQ(get(3, "pmix.nodekey"), "s beta's");  // the rank's node, not the caller's
  EXPECT_EQ(get(2, "pmix.nodekey"), "s alpha's");
  EXPECT_EQ(get(4, "pmix.appkey"), "s app 1");
  EXPECT_EQ(get(4, "pmix.sesskey"), "s session");
  EXPECT_EQ(get(3, PMIX_JOB_SIZE), "u32 6");
  EXPECT_EQ(get(3, "pmix.nothing"), not_found());
}

TEST_F(Lookup, other_keys_of_a_rank_do_not) {
  EXPECT_EQ(get(2, "plain"), not_found());
  EXPECT_EQ(get(wildcard, "plain"), "s job level");
}

TEST_F(Lookup, the_hosts_word_beats_what_the_map_says) {
  ASSERT_TRUE(job.add_info({{Realm::rank, 3}, PMIX_LOCAL_RANK, Value::of(std::uint16_t{77})}));
  ASSERT_TRUE(job.add_info({{Realm::job, 0}, PMIX_UNIV_SIZE, Value::of(std::uint32_t{1000})}));
  EXPECT_EQ(get(3, PMIX_LOCAL_RANK), "u16 77");
  EXPECT_EQ(get(5, PMIX_LOCAL_RANK), "u16 2");
  EXPECT_EQ(get(wildcard, PMIX_UNIV_SIZE), "u32 1000");
}

TEST_F(Lookup, the_wildcard_is_the_job_then_the_callers_own) {
  EXPECT_EQ(get(wildcard, "pmix.level"), "s job");
  EXPECT_EQ(get(wildcard, PMIX_JOB_SIZE), "u32 6");
  EXPECT_EQ(get(wildcard, "pmix.nodekey"), "s alpha's");
  EXPECT_EQ(get(wildcard, "pmix.appkey", GetDirectives{}, {true, 4}), "s app 1");
  EXPECT_EQ(get(wildcard, "pmix.appkey", GetDirectives{}, {false, 4}),
            "s app 0");  // a stranger has no application here
  EXPECT_EQ(get(wildcard, "local"), not_found());
}

TEST_F(Lookup, node_realm) {
  EXPECT_EQ(get(3, "pmix.nodekey", infos(yes(PMIX_NODE_INFO))), "s beta's");
  EXPECT_EQ(get(wildcard, "pmix.nodekey", infos(yes(PMIX_NODE_INFO))), "s alpha's");
  EXPECT_EQ(get(wildcard, "pmix.nodekey",
                infos(yes(PMIX_NODE_INFO), with(PMIX_NODEID, Value::of(std::uint32_t{1})))),
            "s beta's");
  EXPECT_EQ(get(wildcard, "pmix.nodekey", infos(yes(PMIX_NODE_INFO), with(PMIX_HOSTNAME, Value::of("beta")))),
            "s beta's");
  EXPECT_EQ(get(wildcard, "pmix.nodekey", infos(with(PMIX_HOSTNAME, Value::of("beta")))),
            "s beta's");  // it can only mean that
  EXPECT_EQ(get(wildcard, PMIX_LOCAL_PEERS, infos(with(PMIX_NODEID, Value::of(std::uint32_t{1})))),
            "s 1,3,5");
  EXPECT_EQ(get(wildcard, "pmix.nodekey", infos(with(PMIX_HOSTNAME, Value::of("gamma")))), not_found());
  EXPECT_EQ(get(wildcard, "pmix.nodekey", infos(with(PMIX_NODEID, Value::of(std::uint32_t{2})))),
            not_found());
  EXPECT_EQ(get(3, "pmix.level", infos(yes(PMIX_NODE_INFO))), not_found());  // of the job, not of a node
}

TEST_F(Lookup, app_realm) {
  EXPECT_EQ(get(4, "pmix.appkey", infos(yes(PMIX_APP_INFO))), "s app 1");
  EXPECT_EQ(get(wildcard, "pmix.appkey", infos(yes(PMIX_APP_INFO)), {true, 5}), "s app 1");
  EXPECT_EQ(
      get(wildcard, "pmix.appkey", infos(yes(PMIX_APP_INFO), with(PMIX_APPNUM, Value::of(std::uint32_t{1})))),
      "s app 1");
  EXPECT_EQ(get(wildcard, PMIX_APP_SIZE, infos(with(PMIX_APPNUM, Value::of(std::uint32_t{0})))), "u32 4");
  EXPECT_EQ(get(wildcard, PMIX_APP_SIZE, infos(with(PMIX_APPNUM, Value::of(std::uint32_t{7})))), not_found());
}

TEST_F(Lookup, session_realm) {
  EXPECT_EQ(get(0, "pmix.sesskey", infos(yes(PMIX_SESSION_INFO))), "s session");
  EXPECT_EQ(get(0, "pmix.sesskey",
                infos(yes(PMIX_SESSION_INFO), with(PMIX_SESSION_ID, Value::of(std::uint32_t{9})))),
            "s session 9");
  EXPECT_EQ(get(0, "pmix.level", infos(yes(PMIX_SESSION_INFO))), not_found());
}

TEST_F(Lookup, any_rank_that_has_it) {
  EXPECT_EQ(get(undefined, "local"), "s L");
  EXPECT_EQ(get(undefined, "pmix.level"), "s job");
  EXPECT_EQ(get(undefined, "nowhere"), not_found());
  remote(5, PMIX_GLOBAL, "only.five", "5");
  EXPECT_EQ(get(undefined, "only.five"), "s 5");
}

// A rank whose value the caller may not see does not hide the rank that has it for all.
TEST_F(Lookup, any_rank_looks_past_what_is_out_of_scope) {
  ASSERT_TRUE(put(view, 0, "both", Value::of("hidden"), PMIX_REMOTE));
  EXPECT_EQ(get(undefined, "both", GetDirectives{}, {true, 2}), outside());
  ASSERT_TRUE(put(view, 4, "both", Value::of("open"), PMIX_GLOBAL));
  EXPECT_EQ(get(undefined, "both", GetDirectives{}, {true, 2}), "s open");
}

TEST_F(Lookup, a_corrupt_card_is_said_to_be_corrupt) {
  auto* published = reinterpret_cast<std::uint64_t*>(view.clients_memory().data() + view.local(1).card);
  *published = ~std::uint64_t{0};
  EXPECT_EQ(get(2, "local"), "-" + std::to_string(static_cast<int>(Errc::corrupt)));
  EXPECT_EQ(get(0, "local"), not_found());  // the others' are whole
}

TEST_F(Lookup, a_value_that_is_no_value_is_an_error) {
  auto card = view.cards().local(view.local_index(4));
  const std::byte noise[] = {std::byte{0xff}, std::byte{0xff}, std::byte{1}};
  ASSERT_TRUE(card.append({{Realm::rank, 0}, PMIX_GLOBAL, "noise", noise}));
  EXPECT_FALSE(lookup(view, 4, "noise", {}, {true, 0}));
}

// ---- everything known about a rank

const pmix_info_t* info_of(const Value& all, std::string_view key) {
  const auto* array = all.get().data.darray;
  const auto* items = static_cast<const pmix_info_t*>(array->array);
  const pmix_info_t* found = nullptr;
  for (std::size_t i = 0; i < array->size; ++i)
    if (key == items[i].key) {
      EXPECT_EQ(found, nullptr) << key << " is there twice";
      found = &items[i];
    }
  return found;
}

TEST_F(Lookup, all_of_a_local_rank) {
  ASSERT_TRUE(put(view, 2, "global", Value::of("newer")));
  const auto all = lookup_all(view, 2, {true, 0});
  ASSERT_TRUE(all);
  ASSERT_EQ(all->get().type, PMIX_DATA_ARRAY);
  ASSERT_EQ(all->get().data.darray->type, PMIX_INFO);
  EXPECT_STREQ(info_of(*all, "global")->value.data.string, "newer");
  EXPECT_STREQ(info_of(*all, "local")->value.data.string, "L");
  EXPECT_EQ(info_of(*all, "remote"), nullptr);
  EXPECT_EQ(info_of(*all, PMIX_LOCAL_RANK)->value.data.uint16, 1);
  EXPECT_NE(info_of(*lookup_all(view, 2, {true, 2}), "remote"), nullptr);
}

TEST_F(Lookup, all_of_a_remote_rank_and_of_the_job) {
  const auto three = lookup_all(view, 3, {true, 0});
  ASSERT_TRUE(three);
  EXPECT_STREQ(info_of(*three, "remote")->value.data.string, "R3");
  EXPECT_STREQ(info_of(*three, "pmix.rankkey")->value.data.string, "rank 3");
  EXPECT_EQ(info_of(*three, "pmix.level"), nullptr);
  const auto whole = lookup_all(view, wildcard, {true, 0});
  ASSERT_TRUE(whole);
  EXPECT_STREQ(info_of(*whole, "pmix.level")->value.data.string, "job");
  EXPECT_EQ(info_of(*whole, PMIX_JOB_SIZE)->value.data.uint32, 6u);
  EXPECT_EQ(lookup_all(view, 6, {true, 0}).error().code, Errc::not_found);
}

// ---- as bytes

/// The value, or the error, that both ways must have in common.
void expect_alike(const Result<Value>& read, const Result<Encoded>& bytes) {
  ASSERT_EQ(read.has_value(), bytes.has_value());
  if (!read) {
    EXPECT_EQ(read.error().code, bytes.error().code);
    return;
  }
  data::Reader in(*bytes);
  const auto back = Value::decode(in);
  ASSERT_TRUE(back);
  EXPECT_TRUE(in.done());
  EXPECT_EQ(data::compare_values(read->get(), back->get()), PMIX_EQUAL);
}

TEST_F(Lookup, as_bytes_it_is_the_same) {
  ASSERT_TRUE(put(view, 2, "global", Value::of("newer")));
  GetDirectives node_info;
  node_info.realm = Realm::node;
  for (const std::uint32_t rank : {0u, 2u, 3u, 4u, 6u, wildcard, undefined}) {
    SCOPED_TRACE(rank);
    for (const char* key : {"local", "remote", "global", "plain", "none", "pmix.level", "pmix.nodekey",
                            "pmix.rankkey", PMIX_LOCAL_RANK, PMIX_JOB_SIZE})
      for (const auto& how : {GetDirectives(), node_info}) {
        SCOPED_TRACE(key);
        expect_alike(lookup(view, rank, key, how, {true, 0}),
                     lookup_encoded(view, rank, key, how, {true, 0}));
      }
    expect_alike(lookup_all(view, rank, {true, 0}), lookup_all_encoded(view, rank, {true, 0}));
  }
}

/// Here is no module that could read a cpuset.
TEST_F(Lookup, as_bytes_what_only_another_library_can_read_is_there) {
  data::Writer encoded;
  encoded.u16(PMIX_PROC_CPUSET);
  encoded.u8(1);
  encoded.text("hwloc");
  encoded.text("0x1");
  auto card = view.cards().local(view.local_index(2));
  ASSERT_TRUE(card.append({{Realm::rank, 0}, PMIX_GLOBAL, "cpuset", encoded.view()}));
  EXPECT_FALSE(lookup(view, 2, "cpuset", {}, {true, 0}));
  const auto bytes = lookup_encoded(view, 2, "cpuset", {}, {true, 0});
  ASSERT_TRUE(bytes);
  EXPECT_TRUE(std::equal(bytes->begin(), bytes->end(), encoded.view().begin(), encoded.view().end()));
}

TEST(ArrayOf, copies_and_carries_nothing) {
  data::Infos infos;
  EXPECT_EQ(array_of(infos)->get().data.darray->size, 0u);
  infos.add("key", Value::of("text"));
  const auto array = array_of(infos);
  ASSERT_TRUE(array);
  infos.clear();
  EXPECT_STREQ(info_of(*array, "key")->value.data.string, "text");
}

// ---- directives

GetDirectives parsed(data::Infos infos) {
  auto how = GetDirectives::parse(infos.data(), infos.size());
  EXPECT_TRUE(how);
  how->hostname = {};
  return *how;
}

TEST(GetDirectives, none_and_unknown_ones) {
  EXPECT_FALSE(GetDirectives::parse(nullptr, 0)->optional);
  data::Infos infos;
  infos.add("pmix.no.such", Value::of("?"));
  EXPECT_TRUE(GetDirectives::parse(infos.data(), infos.size()));
}

TEST(GetDirectives, flags_can_be_set_unset_or_merely_there) {
  const std::pair<const char*, bool GetDirectives::*> flags[] = {
      {PMIX_OPTIONAL, &GetDirectives::optional},
      {PMIX_IMMEDIATE, &GetDirectives::immediate},
      {PMIX_GET_REFRESH_CACHE, &GetDirectives::refresh},
      {PMIX_GET_STATIC_VALUES, &GetDirectives::static_values},
      {PMIX_GET_POINTER_VALUES, &GetDirectives::pointer_values}};
  for (const auto& [key, flag] : flags) {
    data::Infos on, off, there;
    on.add(key, Value::of(true));
    off.add(key, Value::of(false));
    there.add(key, Value());
    EXPECT_TRUE(parsed(std::move(on)).*flag) << key;
    EXPECT_FALSE(parsed(std::move(off)).*flag) << key;
    EXPECT_TRUE(parsed(std::move(there)).*flag) << key;
  }
}

TEST(GetDirectives, a_realm_that_is_not_wanted_is_none) {
  data::Infos infos;
  for (const auto* key : {PMIX_NODE_INFO, PMIX_APP_INFO, PMIX_SESSION_INFO}) infos.add(key, Value::of(false));
  EXPECT_FALSE(parsed(std::move(infos)).realm);
}

TEST(GetDirectives, a_timeout_of_zero_is_none) {
  data::Infos zero, five;
  zero.add(PMIX_TIMEOUT, Value::of(std::uint32_t{0}));
  five.add(PMIX_TIMEOUT, Value::of(std::uint16_t{5}));
  EXPECT_FALSE(parsed(std::move(zero)).timeout);
  EXPECT_EQ(parsed(std::move(five)).timeout, std::chrono::seconds(5));
}

TEST(GetDirectives, a_wrong_type_is_named) {
  for (const auto* key : {PMIX_TIMEOUT, PMIX_NODEID, PMIX_APPNUM, PMIX_SESSION_ID, PMIX_DATA_SCOPE}) {
    data::Infos infos;
    infos.add(key, Value::of("text"));
    EXPECT_EQ(GetDirectives::parse(infos.data(), infos.size()).error().code, Errc::type_mismatch) << key;
  }
  data::Infos host, large;
  host.add(PMIX_HOSTNAME, Value::of(std::uint32_t{3}));
  EXPECT_EQ(GetDirectives::parse(host.data(), host.size()).error().code, Errc::type_mismatch);
  large.add(PMIX_NODEID, Value::of(std::uint64_t{1} << 40));
  EXPECT_EQ(GetDirectives::parse(large.data(), large.size()).error().code, Errc::type_mismatch);
}

TEST(GetDirectives, a_string_without_text_is_a_wrong_type) {
  data::Infos infos;
  pmix_value_t raw{};
  raw.type = PMIX_STRING;
  infos.add(PMIX_HOSTNAME, Value::adopt(raw));
  EXPECT_EQ(GetDirectives::parse(infos.data(), infos.size()).error().code, Errc::type_mismatch);
}

}  // namespace
}  // namespace weft::store
