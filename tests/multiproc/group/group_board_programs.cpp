// SPDX-License-Identifier: BSD-3-Clause
// Members of one node that make and end groups at a board, and come back to messages, for
// group_board_test.cpp. The first construct of an array is a message and brings the board.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

using Procs = std::vector<pmix_proc_t>;

pmix_status_t construct(const std::string& name, const Procs& procs, const Infos& infos = {}) {
  return PMIx_Group_construct(name.c_str(), procs.data(), procs.size(), infos.data(), infos.size(), nullptr,
                              nullptr);
}
pmix_status_t destruct(const std::string& name, const Infos& infos = {}) {
  return PMIx_Group_destruct(name.c_str(), infos.data(), infos.size());
}
void make(const std::string& name, const Procs& procs) {
  check_status(construct(name, procs), PMIX_SUCCESS);
}
void end(const std::string& name) {
  check_status(destruct(name), PMIX_SUCCESS);
}

/// The members that construct tells of.
Procs made_of(const std::string& name, const Procs& procs) {
  pmix_info_t* results = nullptr;
  std::size_t count = 0;
  check_status(PMIx_Group_construct(name.c_str(), procs.data(), procs.size(), nullptr, 0, &results, &count),
               PMIX_SUCCESS);
  check_equal(count, 1);
  check(PMIx_Check_key(results[0].key, PMIX_GROUP_MEMBERSHIP), "no members");
  const auto& array = *results[0].value.data.darray;
  const auto* first = static_cast<const pmix_proc_t*>(array.array);
  Procs out(first, first + array.size);
  PMIX_INFO_FREE(results, count);
  return out;
}

/// The server's word: how many groups there are; how many members one has.
std::size_t ask(const char* key, const char* group = nullptr) {
  char* keys[] = {const_cast<char*>(key), nullptr};
  Infos qualifiers;
  if (group != nullptr) qualifiers.text(PMIX_GROUP_ID, group);
  pmix_query_t query{keys, qualifiers.data(), qualifiers.size()};
  pmix_info_t* results = nullptr;
  std::size_t count = 0;
  check_status(PMIx_Query_info(&query, 1, &results, &count), PMIX_SUCCESS);
  const auto& value = results[0].value;
  const auto out = value.type == PMIX_SIZE ? value.data.size : value.data.darray->size;
  PMIX_INFO_FREE(results, count);
  return out;
}

Procs backwards(const Client& client) {
  Procs out;
  for (auto rank = client.size; rank-- != 0;) out.push_back(client.peer(rank));
  return out;
}
bool is_same(const Procs& a, const Procs& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const pmix_proc_t& one, const pmix_proc_t& other) { return PMIx_Check_procid(&one, &other); });
}

/// Group after group, more of them alive than a ledger has places; each is in the server's table as soon as
/// the call is back.
int makes_many_at_a_board(const Words&) {
  Client client;
  const auto members = backwards(client);
  for (int round = 0; round < 300; ++round) {
    const auto name = "round " + std::to_string(round % 7);
    check(is_same(made_of(name, members), members), "the members");
    if (round % 10 == 0) {
      check_equal(ask(PMIX_QUERY_NUM_GROUPS), 1);
      check_equal(ask(PMIX_QUERY_GROUP_MEMBERSHIP, name.c_str()), client.size);
      check_status(fence({proc_of(name, PMIX_RANK_WILDCARD)}), PMIX_SUCCESS);
    }
    end(name);
    if (round % 10 == 0) {
      check_status(fence(), PMIX_SUCCESS);  // another member may be in its next construct already
      check_equal(ask(PMIX_QUERY_NUM_GROUPS), 0);
      check_status(fence(), PMIX_SUCCESS);
    }
  }
  constexpr std::size_t alive = 200;
  for (std::size_t i = 0; i < alive; ++i) make("alive " + std::to_string(i), members);
  check_equal(ask(PMIX_QUERY_NUM_GROUPS), alive);
  check_status(fence(), PMIX_SUCCESS);
  for (std::size_t i = alive; i-- != 0;) end("alive " + std::to_string(i));
  check_status(fence(), PMIX_SUCCESS);
  check_equal(ask(PMIX_QUERY_NUM_GROUPS), 0);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// A call that only the server can serve comes in between, of one member or of all.
int mixes_boards_and_messages(const Words&) {
  Client client;
  const Procs all{client.job};
  Infos with_context, with_data;
  with_context.flag(PMIX_GROUP_ASSIGN_CONTEXT_ID);
  for (int round = 0; round < 60; ++round) {
    const auto chooser = static_cast<pmix_rank_t>(round) % client.size;
    const bool is_mine = client.me.rank == chooser;
    make("plain", all);
    check_status(construct("plain", all), PMIX_ERR_EXISTS);
    // One member wants a context: all get it.
    check_status(is_mine ? construct("told", all, with_context) : construct("told", all), PMIX_SUCCESS);
    check(get(proc_of("told", PMIX_RANK_WILDCARD), PMIX_GROUP_CONTEXT_ID).value().data.size != 0,
          "no context");
    end("plain");
    make("plain again", all);
    Waiter later;
    if (is_mine) {
      check_status(PMIx_Group_destruct_nb("told", nullptr, 0, Waiter::on_status, &later), PMIX_SUCCESS);
      check_status(later.wait(), PMIX_SUCCESS);
    } else {
      end("told");
    }
    end("plain again");
    check_status(destruct("plain"), PMIX_ERR_NOT_FOUND);
  }
  check_status(fence(), PMIX_SUCCESS);
  check_equal(ask(PMIX_QUERY_NUM_GROUPS), 0);
  client.finalize();
  return 0;
}

/// Rank 0 comes to two groups by two threads, the others to one after the other, which rank 0 begins in
/// another order: no member waits for one that waits at another place.
int comes_in_another_order(const Words&) {
  Client client;
  const Procs all{client.job};
  make("first", all);
  for (int round = 0; round < 50; ++round) {
    const auto both = [&](const char* name) {
      make(name, all);
      end(name);
    };
    if (client.me.rank == 0) {
      std::thread other([&] { both("a"); });
      both("b");
      other.join();
    } else {
      both("b");
      both("a");
    }
    make("plain", all);
    end("plain");
  }
  end("first");
  client.finalize();
  return 0;
}

/// Sets that share members, and a name that goes from one to the next: it is free again when its group has
/// ended, and not before.
int shares_a_name_among_sets(const Words&) {
  Client client;
  const auto members_from = [&](pmix_rank_t first) {
    return Procs{client.peer(first), client.peer(first + 1)};
  };
  const auto is_in = [&](pmix_rank_t first) {
    return client.me.rank == first || client.me.rank == first + 1;
  };
  for (int round = 0; round < 40; ++round) {
    for (pmix_rank_t first = 0; first + 1 < client.size; ++first) {
      if (is_in(first)) make("shared", members_from(first));
      check_status(fence(), PMIX_SUCCESS);
      check_equal(ask(PMIX_QUERY_NUM_GROUPS), 1);
      check_status(fence(), PMIX_SUCCESS);
      // The first member of the next set has a group of that name, the other does not know.
      if (is_in(first + 1) && first + 2 < client.size)
        check_status(construct("shared", members_from(first + 1)), PMIX_ERR_EXISTS);
      check_status(fence(), PMIX_SUCCESS);
      if (is_in(first)) end("shared");
      check_status(fence(), PMIX_SUCCESS);
    }
    check_equal(ask(PMIX_QUERY_NUM_GROUPS), 0);
    check_status(fence(), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// The last two ranks have a board; the last comes to the end of their group when the test says so. Word:
/// what the other waits with.
int is_late_at_a_board(const Words& words) {
  Client client;
  const auto last = client.size - 1;
  const Procs both{client.peer(last - 1), client.peer(last)};
  if (client.me.rank < last - 1) return client.finalize(), 0;
  make("first", both);
  make("late", both);
  if (client.me.rank == last) await("come");
  if (words.at(0) == "plain") {
    end("late");
  } else if (client.me.rank != last) {
    check_status(destruct("late", std::move(Infos().integer(PMIX_TIMEOUT, 1))), PMIX_ERR_TIMEOUT);
    say("timed out");
  }
  client.finalize();
  return 0;
}

/// The last rank is killed while the others wait for it at the board.
int dies_at_a_board(const Words&) {
  Client client;
  const Procs all{client.job};
  make("first", all);
  for (int round = 0; round < 20; ++round) {
    make("more", all);
    end("more");
  }
  if (client.me.rank + 1 == client.size) {
    say("waiting");
    await("never");
  }
  check_status(destruct("first"), PMIX_ERR_PROC_ABORTED);
  Procs others;
  for (pmix_rank_t rank = 0; rank + 1 < client.size; ++rank) others.push_back(client.peer(rank));
  for (int round = 0; round < 20; ++round) {
    make("without it", others);
    end("without it");
  }
  PMIx_Finalize(nullptr, 0);
  return 0;
}

/// Members on several nodes: what some give up, and what fails because a member dies, ends the same for
/// members that are at a board, where the other nodes are awaited, as for those that have sent messages. The
/// next construct goes well.
int fails_at_boards_of_nodes(const Words&) {
  Client client;
  const Procs all{client.job};
  const bool is_last = client.me.rank + 1 == client.size;
  const auto make_some = [](const Procs& members) {
    for (int round = 0; round < 20; ++round) {
      make("some", members);
      end("some");
    }
  };
  make("first", all);
  for (int round = 0; round < 2; ++round) {
    make_some(all);
    make("late", all);
    if (!is_last)
      check_status(destruct("late", std::move(Infos().integer(PMIX_TIMEOUT, 1))), PMIX_ERR_TIMEOUT);
    check_status(fence(), PMIX_SUCCESS);
    end("late");
  }
  make_some(all);
  check_status(fence(), PMIX_SUCCESS);
  if (is_last) {
    ::signal(SIGUSR1, SIG_DFL);
    ::kill(::getpid(), SIGUSR1);
  }
  check_status(destruct("first"), PMIX_ERR_PROC_ABORTED);
  Procs others;
  for (pmix_rank_t rank = 0; rank + 1 < client.size; ++rank) others.push_back(client.peer(rank));
  make_some(others);
  PMIx_Finalize(nullptr, 0);
  return 0;
}

}  // namespace

void add_group_board_programs(Programs& programs) {
  programs.add("makes_many_at_a_board", makes_many_at_a_board);
  programs.add("mixes_boards_and_messages", mixes_boards_and_messages);
  programs.add("comes_in_another_order", comes_in_another_order);
  programs.add("shares_a_name_among_sets", shares_a_name_among_sets);
  programs.add("is_late_at_a_board", is_late_at_a_board);
  programs.add("dies_at_a_board", dies_at_a_board);
  programs.add("fails_at_boards_of_nodes", fails_at_boards_of_nodes);
}

}  // namespace weft::test
