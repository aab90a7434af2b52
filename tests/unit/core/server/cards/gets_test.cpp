// SPDX-License-Identifier: BSD-3-Clause
// The room of Gets without a process: a segment, a host that is a few functions, and a loop that the test
// turns.
#include "core/server/cards/gets.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>

#include "core/link/messages.hpp"
#include "core/server/cards/card_message.hpp"
#include "core/server/jobs/far_cards.hpp"
#include "core/store/cards/card.hpp"
#include "tests/unit/core/store/segment/jobs.hpp"

namespace weft::server {
namespace {

using std::chrono::milliseconds;
using store::KeyWait;
using store::Local;

constexpr const char* job_name = "job";
constexpr std::uint32_t here = 0, far = 2;  ///< ranks 0 and 1 live on this node, 2 and 3 on the other

/// The host's direct_modex: keeps each call until the test ends it.
struct DirectModex {
  struct Call {
    pmix_proc_t proc;
    data::Infos directives;
    pmix_modex_cbfunc_t done;
    void* open;
  };
  static inline std::deque<Call> calls;

  static pmix_status_t call(const pmix_proc_t* proc, const pmix_info_t infos[], size_t count,
                            pmix_modex_cbfunc_t done, void* open) {
    calls.push_back({*proc, std::move(*data::Infos::copy_of(infos, count)), done, open});
    return PMIX_SUCCESS;
  }
  static void end(pmix_status_t status, const Blob& card) {
    auto call = std::move(calls.front());
    calls.pop_front();
    call.done(status, reinterpret_cast<const char*>(card.data()), card.size(), call.open, nullptr, nullptr);
  }
};

struct GetsTest : ::testing::Test {
  explicit GetsTest(bool host_brings = false, milliseconds key_wait = milliseconds(2000))
      : host((module.direct_modex = host_brings ? DirectModex::call : nullptr, &module), io),
        gets(loop, jobs, cards, cluster, key_wait) {
    DirectModex::calls.clear();
    data::Infos infos;
    infos.add(PMIX_JOB_SIZE, data::Value::of(std::uint32_t{4}));
    infos.add(PMIX_NUM_NODES, data::Value::of(std::uint32_t{2}));
    infos.add(PMIX_NODEID, data::Value::of(std::uint32_t{0}));
    infos.add(PMIX_NODE_MAP, data::Value::of("alpha,beta"));
    infos.add(PMIX_PROC_MAP, data::Value::of("0,1;2,3"));
    bool is_new = false;
    EXPECT_TRUE(jobs.register_job(jobs.announce(job_name), 2, infos, is_new));
  }

  const store::JobView& view() { return jobs.find(job_name)->view(); }
  static pmix_proc_t proc(std::uint32_t rank) { return link::make_proc(job_name, rank); }
  Local& local(std::uint32_t rank) { return view().local(view().local_index(rank)); }
  /// Commits as the rank's own process does, with the notice that its server gets.
  void commit(std::uint32_t rank, const char* key, pmix_scope_t scope = PMIX_GLOBAL) {
    ASSERT_TRUE(store::put(view(), rank, key, data::Value::of(key), scope));
    gets.retry(proc(rank));
  }
  void end_of(std::uint32_t rank) {
    local(rank).state = Local::gone;
    gets.retry(proc(rank));
  }
  /// A blob as the other node sends it: these keys of a far rank.
  template <class... Keys>
  Blob far_card(std::uint32_t rank, Keys... keys) {
    std::vector<std::byte> memory(store::KeyedLog::footprint(2048, 16) + 64);
    void* start = memory.data();
    std::size_t room = memory.size();
    store::KeyedLog log(static_cast<std::byte*>(std::align(64, room - 64, start, room)), 2048, 16);
    for (const char* key : {keys...}) {
      data::Writer encoded;
      EXPECT_TRUE(data::encode_value(encoded, data::Value::of(key).get()));
      EXPECT_TRUE(log.append({{store::Realm::rank, 0}, PMIX_GLOBAL, key, encoded.view()}));
    }
    store::BlobWriter blob;
    EXPECT_TRUE(blob.add(job_name, rank, log));
    return std::move(blob).finish();
  }

  struct Outcome {
    std::optional<pmix_status_t> status;
    std::string text;
    int calls = 0;
  };
  std::shared_ptr<Outcome> get(std::uint32_t rank, const char* key, data::Infos directives = {},
                               bool is_of_host = false) {
    auto out = std::make_shared<Outcome>();
    Gets::Request request{proc(rank), key, std::move(directives), {true, 9}, is_of_host};
    if (is_of_host) request.caller = {};
    gets.get(std::move(request), [out](pmix_status_t status, const store::Encoded& bytes) {
      out->status = status;
      ++out->calls;
      data::Reader in(bytes);
      const auto value = data::Value::decode(in);
      if (value && value->get().type == PMIX_STRING) out->text = value->get().data.string;
    });
    return out;
  }
  template <class... Pairs>
  static data::Infos with(Pairs&&... pairs) {
    data::Infos out;
    (out.add(pairs.first, std::move(pairs.second)), ...);
    return out;
  }
  static data::Infos flag(const char* key) { return with(std::pair(key, data::Value::of(true))); }
  static data::Infos timeout(std::uint32_t seconds) {
    return with(std::pair(PMIX_TIMEOUT, data::Value::of(seconds)));
  }
  /// Turns the loop until the Get has ended.
  pmix_status_t wait(const std::shared_ptr<Outcome>& get) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!get->status && std::chrono::steady_clock::now() < limit) {
      io.restart();
      io.run_one_for(milliseconds(100));
    }
    return get->status.value_or(PMIX_ERROR);
  }
  /// Runs what is ready.
  void turn() {
    io.restart();
    io.poll();
  }

  asio::io_context io;
  Loop loop{io};
  store::Node node;
  pmix_server_module_t module{};
  Host host;
  Jobs jobs{node.segment, "alpha", {.card_bytes = 64 << 10}};
  Cluster cluster{loop, "alpha"};
  Cards cards{jobs, host, cluster};
  Gets gets;
};

struct Impatient : GetsTest {
  Impatient() : GetsTest(false, milliseconds(30)) {}
};
struct Never : GetsTest {
  Never() : GetsTest(false, milliseconds(0)) {}
};
struct ByHost : GetsTest {
  ByHost() : GetsTest(true, milliseconds(30)) {}
};

TEST_F(GetsTest, what_is_there_is_told_at_once) {
  commit(here, "key");
  const auto found = get(here, "key");
  EXPECT_EQ(found->status, PMIX_SUCCESS);
  EXPECT_EQ(found->text, "key");
  EXPECT_EQ(local(here).watched.load(), 0u);
}

TEST_F(GetsTest, a_rank_that_has_not_committed_is_watched_until_it_has) {
  const auto first = get(here, "key"), second = get(here, "key"), later = get(here, "later", timeout(60));
  EXPECT_FALSE(first->status || second->status || later->status);
  EXPECT_EQ(local(here).watched.load(), 1u);
  commit(here, "key");
  EXPECT_EQ(first->status, PMIX_SUCCESS);
  EXPECT_EQ(second->status, PMIX_SUCCESS);
  EXPECT_FALSE(later->status);
  EXPECT_EQ(local(here).watched.load(), 1u);
  commit(here, "later");
  EXPECT_EQ(later->text, "later");
  EXPECT_EQ(local(here).watched.load(), 0u);
  EXPECT_EQ(first->calls, 1);
}

TEST_F(Impatient, a_key_of_a_later_commit_is_waited_for) {
  commit(here, "key");
  const auto found = get(here, "later"), missing = get(here, "never");
  EXPECT_FALSE(found->status || missing->status);
  commit(here, "later");
  EXPECT_EQ(found->status, PMIX_SUCCESS);
  const auto began = std::chrono::steady_clock::now();
  const auto alone = get(here, "never");
  EXPECT_EQ(wait(alone), PMIX_ERR_NOT_FOUND);
  EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds(30));
  EXPECT_EQ(wait(missing), PMIX_ERR_NOT_FOUND);
}

TEST_F(Impatient, the_wait_for_a_key_begins_with_the_first_commit) {
  const auto missing = get(here, "never");
  EXPECT_FALSE(missing->status);
  commit(here, "key");
  EXPECT_FALSE(missing->status);
  EXPECT_EQ(wait(missing), PMIX_ERR_NOT_FOUND);
}

TEST_F(Never, a_key_that_is_missing_is_not_waited_for) {
  commit(here, "key");
  EXPECT_EQ(get(here, "never")->status, PMIX_ERR_NOT_FOUND);
  EXPECT_FALSE(get(1, "never")->status);  // it has not committed
}

TEST_F(Never, what_the_callers_process_was_told_goes_first) {
  commit(here, "key");
  const auto found =
      get(here, "later", with(std::pair(KeyWait::attribute, data::Value::of(KeyWait::packed_forever))));
  EXPECT_FALSE(found->status);
  commit(here, "later");
  EXPECT_EQ(found->status, PMIX_SUCCESS);
}

TEST_F(Never, a_deadline_is_the_callers) {
  commit(here, "key");
  const auto begun = std::chrono::steady_clock::now();
  const auto of_committed = get(here, "never", timeout(1)), of_silent = get(1, "never", timeout(1));
  const auto of_job = get(PMIX_RANK_WILDCARD, "never", timeout(1));
  for (const auto& late : {of_committed, of_silent, of_job}) EXPECT_EQ(wait(late), PMIX_ERR_TIMEOUT);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::seconds(1));
}

TEST_F(GetsTest, the_gets_of_a_requester_that_is_gone_are_dropped) {
  const int one = 0, other = 0;
  int ended = 0;
  const auto got = [&](pmix_status_t, const store::Encoded&) { ++ended; };
  for (const void* requester : {&one, &other}) {
    gets.get(
        {.proc = proc(here), .key = "late", .directives = {}, .caller = {true, 9}, .requester = requester},
        got);
    gets.get(
        {.proc = proc(far), .key = "late", .directives = {}, .caller = {true, 9}, .requester = requester},
        got);
  }
  ended = 0;  // without a way to the far node its Gets have ended
  gets.drop(&one);
  commit(here, "late");
  EXPECT_EQ(ended, 1);
}

TEST_F(GetsTest, a_process_does_not_wait_for_itself) {
  std::optional<pmix_status_t> status;
  gets.get({proc(1), "key", timeout(60), {true, 1}, false},
           [&](pmix_status_t ended, const store::Encoded&) { status = ended; });
  EXPECT_EQ(status, PMIX_ERR_NOT_FOUND);
}

TEST_F(GetsTest, a_dead_rank_ends_every_get_in_the_same_way) {
  commit(here, "key");
  const auto ways = [&](std::uint32_t rank, pmix_status_t status) {
    EXPECT_EQ(get(rank, "never", {}, true)->status, status);
    EXPECT_EQ(get(rank, "never", flag(PMIX_IMMEDIATE), true)->status, status);
    EXPECT_EQ(get(rank, "never", timeout(60), true)->status, status);
  };
  const auto waiting = get(1, "never", {}, true), bounded = get(1, "never", timeout(60), true);
  EXPECT_EQ(get(1, "never", flag(PMIX_IMMEDIATE), true)->status, PMIX_ERR_NOT_FOUND);
  end_of(1);
  EXPECT_EQ(waiting->status, PMIX_ERR_UNREACH);
  EXPECT_EQ(bounded->status, PMIX_ERR_UNREACH);
  ways(1, PMIX_ERR_UNREACH);
  end_of(here);
  ways(here, PMIX_ERR_NOT_FOUND);
}

TEST_F(GetsTest, a_directive_of_a_wrong_type_is_refused) {
  EXPECT_EQ(get(here, "key", with(std::pair(PMIX_TIMEOUT, data::Value::of("soon"))))->status,
            PMIX_ERR_BAD_PARAM);
}

TEST_F(GetsTest, the_end_of_a_namespace_ends_its_gets) {
  const auto waiting = get(here, "key");
  std::optional<pmix_status_t> card;
  gets.card({proc(here)}, [&](const Gets::CardReply& reply) { card = reply.status; });
  jobs.erase(job_name);
  gets.retry_all(job_name);
  EXPECT_EQ(waiting->status, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(card, PMIX_ERR_NOT_FOUND);
}

TEST_F(GetsTest, a_job_of_several_nodes_without_a_way_between_them) {
  EXPECT_EQ(get(far, "key")->status, PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(get(far, "key", flag(PMIX_OPTIONAL))->status, PMIX_ERR_NOT_FOUND);
}

// ---- the host brings cards

TEST_F(ByHost, gets_the_callers_directives_and_the_key) {
  auto directives = timeout(60);
  directives.add(KeyWait::attribute, data::Value::of(std::uint32_t{1}));
  directives.add("odd.directive", data::Value::of("as it is"));
  const auto found = get(far, "key", std::move(directives));
  ASSERT_EQ(DirectModex::calls.size(), 1u);
  const auto& told = DirectModex::calls[0].directives;
  EXPECT_EQ(told.size(), 3u);
  ASSERT_TRUE(told.find(PMIX_REQUIRED_KEY) && told.find(PMIX_TIMEOUT) && told.find("odd.directive"));
  EXPECT_STREQ(told.find(PMIX_REQUIRED_KEY)->value.data.string, "key");
  EXPECT_EQ(told.find(PMIX_TIMEOUT)->value.data.uint32, 60u);
  DirectModex::end(PMIX_SUCCESS, far_card(far, "key"));
  EXPECT_EQ(wait(found), PMIX_SUCCESS);
  EXPECT_EQ(found->text, "key");
  EXPECT_EQ(get(far, "key")->status, PMIX_SUCCESS);  // it is here now
  EXPECT_TRUE(DirectModex::calls.empty());
}

TEST_F(ByHost, is_asked_once_for_gets_that_say_the_same) {
  const auto first = get(far, "key"), second = get(far, "key"), other = get(far, "other key");
  const auto of_another_rank = get(far + 1, "key"), with_deadline = get(far, "key", timeout(60));
  ASSERT_EQ(DirectModex::calls.size(), 4u);
  DirectModex::end(PMIX_SUCCESS, far_card(far, "key"));
  EXPECT_EQ(wait(first), PMIX_SUCCESS);
  EXPECT_EQ(wait(second), PMIX_SUCCESS);
  EXPECT_FALSE(other->status || of_another_rank->status || with_deadline->status);
  DirectModex::end(PMIX_ERR_TIMEOUT, {});
  EXPECT_EQ(wait(other), PMIX_ERR_TIMEOUT);  // what the host says
  DirectModex::end(PMIX_ERR_NOT_FOUND, {});
  EXPECT_EQ(wait(of_another_rank), PMIX_ERR_NOT_FOUND);
  DirectModex::end(PMIX_SUCCESS, {});
  EXPECT_EQ(wait(with_deadline), PMIX_SUCCESS);  // the first reply brought it
}

TEST_F(ByHost, does_not_bring_a_key_in_the_time_that_keys_are_waited_for) {
  const auto missing = get(far, "never");
  DirectModex::end(PMIX_SUCCESS, far_card(far, "key"));
  EXPECT_EQ(wait(missing), PMIX_ERR_NOT_FOUND);
}

TEST_F(ByHost, is_asked_again_for_a_key_of_a_later_commit) {
  const auto waiting = get(far, "later", timeout(60));
  for (int again = 0; again < 3; ++again) {
    DirectModex::end(PMIX_SUCCESS, far_card(far, "key"));
    for (int i = 0; i < 1000 && DirectModex::calls.empty(); ++i) {
      io.restart();
      io.run_one_for(milliseconds(30));
    }
    ASSERT_EQ(DirectModex::calls.size(), 1u);
    EXPECT_FALSE(waiting->status);
  }
  DirectModex::end(PMIX_SUCCESS, far_card(far, "key", "later"));
  EXPECT_EQ(wait(waiting), PMIX_SUCCESS);
  EXPECT_EQ(waiting->calls, 1);
}

TEST_F(ByHost, a_deadline_waits_for_a_fence_that_brings_the_key) {
  const auto waiting = get(far, "key", timeout(60));
  DirectModex::end(PMIX_SUCCESS, {});
  turn();
  EXPECT_FALSE(waiting->status);
  EXPECT_EQ(take_cards(jobs, far_card(far, "key"), {}), PMIX_SUCCESS);
  gets.retry_all(job_name);
  EXPECT_EQ(waiting->status, PMIX_SUCCESS);
}

TEST_F(ByHost, a_deadline_that_passes_before_the_host_replies_ends_the_get) {
  const auto late = get(far, "key", timeout(1));
  EXPECT_EQ(wait(late), PMIX_ERR_TIMEOUT);
  DirectModex::end(PMIX_SUCCESS, far_card(far, "key"));
  turn();
  EXPECT_EQ(late->calls, 1);
}

TEST_F(ByHost, is_not_asked_for_what_is_wanted_at_once_nor_for_its_own_gets) {
  EXPECT_EQ(get(far, "key", flag(PMIX_IMMEDIATE))->status, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(get(far, "key", {}, true)->status, PMIX_ERR_NOT_FOUND);
  EXPECT_TRUE(DirectModex::calls.empty());
  commit(here, "key");
  EXPECT_EQ(get(here, "never", {}, true)->status, PMIX_ERR_NOT_FOUND);  // the host's thread is not held up
}

// ---- cards for other nodes

struct CardsOfThisNode : GetsTest {
  struct Reply {
    std::optional<pmix_status_t> status;
    std::uint64_t end = 0;
    std::string keys;
  };
  std::shared_ptr<Reply> card(const Gets::CardRequest& request) {
    auto out = std::make_shared<Reply>();
    gets.card(request, [out](const Gets::CardReply& reply) {
      out->status = reply.status;
      out->end = reply.end;
      (void)store::read_cards(reply.card, [&](const store::Card& card) {
        for (const auto& record : card.records) out->keys += std::string(record.key) + " ";
      });
    });
    return out;
  }
};

TEST_F(CardsOfThisNode, come_as_soon_as_there_is_one) {
  EXPECT_EQ(card({proc(here), 0, 0, false})->status, PMIX_ERR_NOT_FOUND);
  const auto waiting = card({proc(here)});
  EXPECT_FALSE(waiting->status);
  EXPECT_EQ(local(here).watched.load(), 1u);
  commit(here, "a");
  EXPECT_EQ(waiting->status, PMIX_SUCCESS);
  EXPECT_EQ(waiting->keys, "a ");
  EXPECT_EQ(waiting->end, view().cards().local(view().local_index(here)).published());
  EXPECT_EQ(local(here).watched.load(), 0u);
}

TEST_F(CardsOfThisNode, bring_what_is_new) {
  commit(here, "a");
  const auto known = card({proc(here)})->end;
  const auto more = card({proc(here), known, known});
  EXPECT_FALSE(more->status);
  EXPECT_EQ(card({proc(here), known, known, false})->status, PMIX_ERR_NOT_FOUND);
  commit(here, "b");
  EXPECT_EQ(more->keys, "b ");
  EXPECT_EQ(card({proc(here), 0, known})->keys, "a b ");
}

TEST_F(CardsOfThisNode, grow_by_what_is_not_for_other_nodes) {
  commit(here, "a");
  const auto known = card({proc(here)})->end;
  const auto more = card({proc(here), known, known});
  commit(here, "mine", PMIX_LOCAL);
  EXPECT_EQ(more->status, PMIX_SUCCESS);
  EXPECT_EQ(more->keys, "");
  EXPECT_GT(more->end, known);
}

TEST_F(CardsOfThisNode, of_ranks_that_have_ended) {
  commit(here, "a");
  const auto known = card({proc(here)})->end;
  const auto rich = card({proc(here), known, known}), poor = card({proc(1)});
  end_of(here);
  end_of(1);
  EXPECT_EQ(rich->status, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(poor->status, PMIX_ERR_UNREACH);
  EXPECT_EQ(card({proc(1), 0, 0, false})->status, PMIX_ERR_UNREACH);
  EXPECT_EQ(card({proc(here)})->status, PMIX_SUCCESS);
}

TEST_F(CardsOfThisNode, of_ranks_that_are_not_here) {
  EXPECT_EQ(card({proc(far)})->status, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(card({proc(9)})->status, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(card({link::make_proc("no such job", 0)})->status, PMIX_ERR_NOT_FOUND);
}

TEST(CardMessages, go_there_and_back) {
  const CardMessage message{"job", 7, 80, 72, false};
  const auto read = base::decode<CardMessage>(base::encode(message));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->nspace, "job");
  EXPECT_EQ(read->rank, 7u);
  EXPECT_EQ(read->from, 80u);
  EXPECT_EQ(read->beyond, 72u);
  EXPECT_FALSE(read->waits);
  auto bytes = base::encode(message);
  bytes.pop_back();
  EXPECT_FALSE(base::decode<CardMessage>(bytes));
  const auto reply =
      base::decode<CardMessageReply>(base::encode(CardMessageReply{96, Blob(5, std::byte{1})}));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->end, 96u);
  EXPECT_EQ(reply->cards.size(), 5u);
}

}  // namespace
}  // namespace weft::server
