// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of tests about published names do.
#include <csignal>
#include <memory>
#include <optional>

#include "tests/multiproc/data/published_calls.hpp"
#include "tests/multiproc/harness/cluster.hpp"

namespace weft::test {
namespace {

std::string key_of(const char* what, pmix_rank_t rank) {
  return std::string(what) + std::to_string(rank);
}

/// Ranks 0 and 1 are on one node, whichever there are.
bool is_near(const Client& client, pmix_rank_t rank) {
  return rank / ranks_a_node == client.me.rank / ranks_a_node;
}

/// Each range, seen from each rank; the defaults of both calls meet.
int ranges(const Words&) {
  Client client;
  const auto me = client.me.rank;
  const auto next = client.peer((me + 1) % client.size);
  check_status(publish(key_of("default", me), me), PMIX_SUCCESS);
  for (const auto& [what, range] : {std::pair("global", PMIX_RANGE_GLOBAL),
                                    {"local", PMIX_RANGE_LOCAL},
                                    {"namespace", PMIX_RANGE_NAMESPACE},
                                    {"own", PMIX_RANGE_PROC_LOCAL},
                                    {"host", PMIX_RANGE_RM}})
    check_status(publish(key_of(what, me), me, in_range(static_cast<pmix_data_range_t>(range))),
                 PMIX_SUCCESS);
  check_status(publish(key_of("custom", me), me, in_range_of({next, proc_of("elsewhere", 3)})), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  const auto expect = [&](const char* what, pmix_rank_t rank, bool is_seen) {
    const auto found = look_up(key_of(what, rank));
    check_status(found.status, is_seen ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
    if (!is_seen) return;
    check_equal(found.value, rank);
    check(PMIX_CHECK_PROCID(&found.by, &static_cast<const pmix_proc_t&>(client.peer(rank))), "the publisher");
  };
  for (pmix_rank_t rank = 0; rank < client.size; ++rank) {
    for (const char* what : {"default", "global", "namespace"}) expect(what, rank, true);
    expect("local", rank, is_near(client, rank));
    expect("own", rank, rank == me);
    expect("host", rank, false);
    expect("custom", rank, (rank + 1) % client.size == me);
    // What a lookup's range says of the publisher.
    const auto status_in = [&](const Infos& infos) { return look_up(key_of("default", rank), infos).status; };
    const auto found_if = [](bool is_seen) { return is_seen ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND; };
    check_status(status_in(in_range(PMIX_RANGE_GLOBAL)), PMIX_SUCCESS);
    check_status(status_in(in_range(PMIX_RANGE_NAMESPACE)), PMIX_SUCCESS);
    check_status(status_in(in_range(PMIX_RANGE_LOCAL)), found_if(is_near(client, rank)));
    check_status(status_in(in_range(PMIX_RANGE_PROC_LOCAL)), found_if(rank == me));
    check_status(status_in(in_range_of({client.peer(0)})), found_if(rank == 0));
    check_status(status_in(in_range_of({client.job})), PMIX_SUCCESS);
    check_status(status_in(in_range(PMIX_RANGE_RM)), PMIX_ERR_NOT_FOUND);
    check_status(status_in(in_range(199)), PMIX_SUCCESS);  // no range
  }
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// One key in several spaces; twice in one of them it is refused, and nothing of that call stays.
int duplicates(const Words&) {
  Client client;
  const bool is_first = client.me.rank == 0;
  if (is_first)
    for (const auto range : {PMIX_RANGE_SESSION, PMIX_RANGE_GLOBAL, PMIX_RANGE_NAMESPACE, PMIX_RANGE_LOCAL})
      check_status(publish("one", range, in_range(static_cast<pmix_data_range_t>(range))), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  check_status(publish("one", 9, in_range(PMIX_RANGE_PROC_LOCAL)), PMIX_SUCCESS);
  check_status(publish("one", 9, in_range(PMIX_RANGE_PROC_LOCAL)), PMIX_ERR_DUPLICATE_KEY);
  for (const auto range : {PMIX_RANGE_SESSION, PMIX_RANGE_GLOBAL, PMIX_RANGE_NAMESPACE})
    check_status(publish("one", 9, in_range(static_cast<pmix_data_range_t>(range))), PMIX_ERR_DUPLICATE_KEY);
  if (is_near(client, 0)) check_status(publish("one", 9, in_range(PMIX_RANGE_LOCAL)), PMIX_ERR_DUPLICATE_KEY);
  check_status(fence(), PMIX_SUCCESS);
  // Of many keys one is taken.
  Infos many;
  for (int i = 0; i < 20; ++i) many.unsigned64(key_of("many", client.me.rank * 100 + i).c_str(), 1);
  many.unsigned64("one", 9);
  check_status(PMIx_Publish(many.data(), many.size()), PMIX_ERR_DUPLICATE_KEY);
  for (int i = 0; i < 20; ++i)
    check_status(look_up(key_of("many", client.me.rank * 100 + i)).status, PMIX_ERR_NOT_FOUND);
  Infos twice;
  twice.unsigned64("twice", 1).unsigned64("twice", 2);
  check_status(PMIx_Publish(twice.data(), twice.size()), PMIX_ERR_DUPLICATE_KEY);
  check_status(look_up("twice").status, PMIX_ERR_NOT_FOUND);
  // The narrowest is found, and once it is taken back the next.
  check_equal(look_up("one").value, 9);
  check_status(unpublish("one", in_range(PMIX_RANGE_PROC_LOCAL)), PMIX_SUCCESS);
  if (is_near(client, 0)) check_equal(look_up("one").value, PMIX_RANGE_LOCAL);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// All publish one key at once, round after round: one of them has published it.
int one_wins(const Words&) {
  Client client;
  for (int round = 0; round < 200; ++round) {
    const auto key = key_of("round", round), other = key_of("other", round);
    Infos infos;
    infos.unsigned64(key.c_str(), client.me.rank).unsigned64(other.c_str(), client.me.rank);
    const auto status = PMIx_Publish(infos.data(), infos.size());
    check(status == PMIX_SUCCESS || status == PMIX_ERR_DUPLICATE_KEY, "neither published nor refused");
    check_status(put("won", std::uint64_t{status == PMIX_SUCCESS}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence({}, collect()), PMIX_SUCCESS);
    std::uint64_t winners = 0, winner = 0;
    for (pmix_rank_t rank = 0; rank < client.size; ++rank)
      if (get(client.peer(rank), "won").u64() == 1) ++winners, winner = rank;
    check_equal(winners, 1);
    check_equal(look_up(key).value, winner);
    check_equal(look_up(other).value, winner);
    check_status(fence(), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// Some of the keys are there: what is said of them, and of the others.
int partial(const Words&) {
  Client client;
  if (client.me.rank == 0) {
    Infos infos;
    for (int i = 0; i < 8; ++i) infos.unsigned64(key_of("there", i).c_str(), static_cast<std::uint64_t>(i));
    check_status(PMIx_Publish(infos.data(), infos.size()), PMIX_SUCCESS);
  }
  check_status(fence(), PMIX_SUCCESS);
  std::vector<std::string> keys;
  for (int i = 0; i < 12; ++i) keys.push_back(key_of("there", i));
  std::vector<pmix_data_type_t> types;
  check_status(look_up(keys, types), PMIX_ERR_PARTIAL_SUCCESS);
  for (int i = 0; i < 12; ++i) check_equal(types[i], i < 8 ? PMIX_UINT64 : PMIX_UNDEF);
  check_status(look_up({keys[8], keys[9]}, types), PMIX_ERR_NOT_FOUND);
  check_status(look_up({keys[0], keys[0], keys[7]}, types), PMIX_SUCCESS);
  // A wait for so many of them, and for more than come.
  check_status(look_up(keys, types, waiting(0, 8)), PMIX_ERR_PARTIAL_SUCCESS);
  check_status(look_up(keys, types, waiting(1, 9)), PMIX_ERR_TIMEOUT);
  check_status(look_up("never", waiting(1)).status, PMIX_ERR_TIMEOUT);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Each waits for what each publishes later, in each range that it can see.
int waits(const Words&) {
  Client client;
  const auto me = client.me.rank;
  std::vector<std::unique_ptr<Lookup>> lookups;
  for (pmix_rank_t rank = 0; rank < client.size; ++rank)
    for (const char* what : {"late", "late.local"})
      if (what == std::string("late") || is_near(client, rank))
        lookups.push_back(std::make_unique<Lookup>(key_of(what, rank), waiting()));
  Lookup never("never.local", waiting(2));
  check_status(fence(), PMIX_SUCCESS);
  for (const auto& lookup : lookups) check(!lookup->over(), "found before it was published");
  check_status(fence(), PMIX_SUCCESS);
  check_status(publish(key_of("late.local", me), me, in_range(PMIX_RANGE_LOCAL)), PMIX_SUCCESS);
  check_status(publish(key_of("late", me), me), PMIX_SUCCESS);
  for (const auto& lookup : lookups) {
    const auto found = lookup->wait();
    check_status(found.status, PMIX_SUCCESS);
    check_equal(found.value, found.by.rank);
  }
  check_status(never.wait().status, PMIX_ERR_TIMEOUT);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// A name that goes with its first read is found by one of all that look for it at once, waiting or not.
int first_reads(const Words&) {
  Client client;
  for (int round = 0; round < 100; ++round) {
    const auto key = key_of("first", round);
    const auto range = round % 3 == 0 ? PMIX_RANGE_LOCAL : PMIX_RANGE_SESSION;
    std::optional<Lookup> lookup;
    if (round % 20 == 0) {
      lookup.emplace(key, waiting(1));
      check_status(fence(), PMIX_SUCCESS);
    }
    if (client.me.rank == 0)
      check_status(
          publish(key, 7, that_persists(PMIX_PERSIST_FIRST_READ, static_cast<pmix_data_range_t>(range))),
          PMIX_SUCCESS);
    if (round % 20 != 0) check_status(fence(), PMIX_SUCCESS);
    const auto found = lookup ? lookup->wait() : look_up(key);
    if (found.status == PMIX_SUCCESS) check_equal(found.value, 7);
    check_status(put("read", std::uint64_t{found.status == PMIX_SUCCESS}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence({}, collect()), PMIX_SUCCESS);
    std::uint64_t readers = 0;
    for (pmix_rank_t rank = 0; rank < client.size; ++rank) readers += get(client.peer(rank), "read").u64();
    check_equal(readers, 1);
    check_status(look_up(key).status, PMIX_ERR_NOT_FOUND);
    check_status(fence(), PMIX_SUCCESS);
    // It may be published again.
    if (client.me.rank == 1) check_status(publish(key, 8), PMIX_SUCCESS);
    check_status(fence(), PMIX_SUCCESS);
    check_equal(look_up(key).value, 8);
    check_status(fence(), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

int unpublishing(const Words&) {
  Client client;
  const auto me = client.me.rank;
  const auto key = key_of("mine", me), theirs = key_of("mine", (me + 1) % client.size);
  check_status(publish(key, 1), PMIX_SUCCESS);
  check_status(publish(key, 2, in_range(PMIX_RANGE_NAMESPACE)), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  check_status(unpublish(theirs), PMIX_ERR_NOT_FOUND);  // another process has published it
  check_status(unpublish("nobody's"), PMIX_ERR_NOT_FOUND);
  check_status(fence(), PMIX_SUCCESS);
  check_equal(look_up(theirs).value, 2);
  check_status(fence(), PMIX_SUCCESS);
  check_status(unpublish(key), PMIX_SUCCESS);  // in the default range
  check_status(publish(key, 3), PMIX_SUCCESS);
  check_status(unpublish(key, in_range(PMIX_RANGE_NAMESPACE)), PMIX_SUCCESS);
  check_equal(look_up(key).value, 3);
  check_status(publish(key, 4, in_range(PMIX_RANGE_LOCAL)), PMIX_SUCCESS);
  check_status(unpublish_all(in_range(PMIX_RANGE_GLOBAL)), PMIX_SUCCESS);
  check_equal(look_up(key).value, 4);
  check_status(unpublish_all(), PMIX_SUCCESS);
  check_status(look_up(key).status, PMIX_ERR_NOT_FOUND);
  check_status(unpublish_all(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// What makes no sense is refused; all that is a key and a value comes through.
int odd_arguments(const Words&) {
  Client client;
  check_status(PMIx_Publish(nullptr, 0), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Publish(nullptr, 2), PMIX_ERR_BAD_PARAM);
  const auto only_directives = in_range(PMIX_RANGE_SESSION);
  check_status(PMIx_Publish(only_directives.data(), only_directives.size()), PMIX_ERR_BAD_PARAM);
  check_status(publish("", 1), PMIX_ERR_BAD_PARAM);
  check_status(publish("odd", 1, in_range(99)), PMIX_ERR_BAD_PARAM);
  check_status(publish("odd", 1, in_range(PMIX_RANGE_CUSTOM)), PMIX_ERR_BAD_PARAM);  // of which processes?
  check_status(publish("odd", 1, that_persists(77)), PMIX_ERR_BAD_PARAM);
  check_status(publish("odd", 1, std::move(Infos().text(PMIX_RANGE, "wide"))), PMIX_ERR_BAD_PARAM);
  check_status(publish("odd", 1, std::move(Infos().text(PMIX_TIMEOUT, "soon"))), PMIX_ERR_BAD_PARAM);
  check_status(publish("odd", 1, std::move(Infos().number(PMIX_ACCESS_USERIDS, 3))), PMIX_ERR_BAD_PARAM);
  check_status(look_up("odd", std::move(Infos().text(PMIX_WAIT, "long"))).status, PMIX_ERR_BAD_PARAM);
  check_status(look_up("odd", in_range(200)).status, PMIX_ERR_NOT_FOUND);  // as without a range
  check_status(look_up("").status, PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Lookup(nullptr, 0, nullptr, 0), PMIX_ERR_BAD_PARAM);
  char* none[] = {nullptr};
  check_status(PMIx_Lookup_nb(none, nullptr, 0, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
  check_status(unpublish("odd", in_range(200)), PMIX_ERR_BAD_PARAM);
  check_status(look_up("odd").status, PMIX_ERR_NOT_FOUND);

  const std::string longest(PMIX_MAX_KEYLEN, static_cast<char>('a' + client.me.rank));
  check_status(publish(longest, 5), PMIX_SUCCESS);
  check_equal(look_up(longest).value, 5);
  const auto key = key_of("value", client.me.rank);
  for (const std::size_t size : {0, 1, 1000, 100'000, 3'000'000}) {
    const std::string bytes(size, 'b');
    check_status(publish_bytes(key, bytes), PMIX_SUCCESS);
    check_equal(look_up(key).bytes, bytes);
    check_status(unpublish(key), PMIX_SUCCESS);
  }
  // A range that is not set is the default one.
  check_status(publish(key, 6, in_range(PMIX_RANGE_UNDEF)), PMIX_SUCCESS);
  check_status(publish(key, 6, in_range(PMIX_RANGE_INVALID)), PMIX_ERR_DUPLICATE_KEY);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  check_status(publish("late", 1), PMIX_ERR_INIT);
  check_status(look_up("late").status, PMIX_ERR_INIT);
  check_status(unpublish_all(), PMIX_ERR_INIT);
  return 0;
}

/// Names for another user, and for other groups of users, are not found, and that is said.
int access_by_user(const Words&) {
  Client client;
  const auto numbers = [](const char* key, std::uint32_t number) {
    pmix_info_t info;
    pmix_data_array_t array{PMIX_UINT32, 1, &number};
    PMIX_INFO_LOAD(&info, key, &array, PMIX_DATA_ARRAY);
    Infos out;
    out.copy(info);
    PMIX_INFO_DESTRUCT(&info);
    return out;
  };
  const auto me = client.me.rank;
  check_status(publish(key_of("us", me), 1, numbers(PMIX_ACCESS_USERIDS, ::geteuid())), PMIX_SUCCESS);
  check_status(publish(key_of("them", me), 1, numbers(PMIX_ACCESS_USERIDS, ::geteuid() + 7)), PMIX_SUCCESS);
  check_status(publish(key_of("group", me), 1, numbers(PMIX_ACCESS_GRPIDS, ::getegid() + 7)), PMIX_SUCCESS);
  Infos nested;
  nested.array(PMIX_ACCESS_PERMISSIONS, numbers(PMIX_ACCESS_USERIDS, ::geteuid() + 7));
  check_status(publish(key_of("nested", me), 1, std::move(nested)), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  for (pmix_rank_t rank = 0; rank < client.size; ++rank) {
    check_status(look_up(key_of("us", rank)).status, PMIX_SUCCESS);
    for (const char* what : {"them", "group", "nested"})
      check_status(look_up(key_of(what, rank)).status, PMIX_ERR_NO_PERMISSIONS);
    check_status(look_up(key_of("them", rank), waiting()).status, PMIX_ERR_NO_PERMISSIONS);
    std::vector<pmix_data_type_t> types;
    check_status(look_up({key_of("us", rank), key_of("them", rank)}, types), PMIX_ERR_PARTIAL_SUCCESS);
    check_status(look_up({key_of("them", rank), "nobody's"}, types), PMIX_ERR_NOT_FOUND);
  }
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Pairs of processes give each other a thousand names, as fast as they can.
int many_pairs(const Words& words) {
  Client client;
  const auto me = client.me.rank;
  const auto pairs = std::stoul(words.at(0));
  const auto other = (me + client.size / 2) % client.size;
  for (std::size_t i = 0; i < pairs; ++i) {
    const auto mine = std::to_string(me) + "." + std::to_string(i);
    check_status(publish_bytes(mine, mine + std::string(i % 64, '.')), PMIX_SUCCESS);
    const auto theirs = std::to_string(other) + "." + std::to_string(i);
    const auto found = look_up(theirs, waiting());
    check_status(found.status, PMIX_SUCCESS);
    check_equal(found.bytes, theirs + std::string(i % 64, '.'));
    check_equal(found.by.rank, other);
  }
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Names end with what they persist for: rank 1 of each node ends when the test says so.
int names_of_the_dead(const Words&) {
  Client client;
  const auto me = client.me.rank;
  check_status(publish(key_of("process", me), 1, that_persists(PMIX_PERSIST_PROC)), PMIX_SUCCESS);
  check_status(publish(key_of("job", me), 2, that_persists(PMIX_PERSIST_APP)), PMIX_SUCCESS);
  check_status(publish(key_of("session", me), 3, that_persists(PMIX_PERSIST_SESSION)), PMIX_SUCCESS);
  check_status(publish(key_of("always", me), 4, that_persists(PMIX_PERSIST_INDEF)), PMIX_SUCCESS);
  check_status(publish(key_of("own", me), 5, in_range(PMIX_RANGE_PROC_LOCAL)), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  if (me % ranks_a_node == 1) ::raise(SIGUSR1);
  for (pmix_rank_t rank = 1; rank < client.size; rank += ranks_a_node) {
    check(eventually([&] { return look_up(key_of("process", rank)).status == PMIX_ERR_NOT_FOUND; }),
          "the name of a process that has ended");
    for (const char* what : {"job", "session", "always"})
      check_status(look_up(key_of(what, rank)).status, PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// What is left of names_of_the_dead when its job has ended.
int names_are_left(const Words&) {
  Client client;
  for (pmix_rank_t rank = 0; rank < ranks_a_node; ++rank) {
    for (const char* what : {"process", "job", "own"})
      check_status(look_up(key_of(what, rank)).status, PMIX_ERR_NOT_FOUND);
    for (const char* what : {"session", "always"})
      check_status(look_up(key_of(what, rank)).status, PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// The test kills the last node: what it has kept is there all the same, and lookups that wait go on at
/// another server.
int keeper_dies(const Words&) {
  Client client;
  const auto me = client.me.rank;
  constexpr int names = 60;
  const bool is_doomed = me / ranks_a_node == client.size / ranks_a_node - 1;
  for (int i = 0; i < names; ++i) {
    const auto key = key_of(is_doomed ? "doomed" : "kept", me * 1000 + i);
    check_status(publish(key, i, that_persists(PMIX_PERSIST_SESSION)), PMIX_SUCCESS);
  }
  std::vector<std::unique_ptr<Lookup>> lookups;
  for (int i = 0; i < names; ++i) lookups.push_back(std::make_unique<Lookup>(key_of("later", i), waiting()));
  check_status(fence(), PMIX_SUCCESS);
  if (me % ranks_a_node == ranks_a_node - 1) say("ready");
  if (is_doomed) {
    await("never");
    return 0;
  }
  check_status(fence(), PMIX_ERR_PROC_ABORTED);
  const auto left = client.size - ranks_a_node;
  for (pmix_rank_t rank = 0; rank < left; ++rank)
    for (int i = 0; i < names; ++i) {
      const auto key = key_of("kept", rank * 1000 + i);
      check_equal(look_up(key).value, static_cast<std::uint64_t>(i));
      check_status(publish(key, 9), PMIX_ERR_DUPLICATE_KEY);
    }
  for (int i = static_cast<int>(me); i < names; i += static_cast<int>(left))
    check_status(publish(key_of("later", i), static_cast<std::uint64_t>(i)), PMIX_SUCCESS);
  for (int i = 0; i < names; ++i) {
    const auto found = lookups[i]->wait();
    check_status(found.status, PMIX_SUCCESS);
    check_equal(found.value, static_cast<std::uint64_t>(i));
  }
  std::vector<pmix_proc_t> others;
  for (pmix_rank_t rank = 0; rank < left; ++rank) others.push_back(client.peer(rank));
  check_status(fence(others), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// A hundred thousand names, which are found and taken back.
int very_many(const Words& words) {
  Client client;
  const auto count = std::stoul(words.at(0));
  constexpr std::size_t at_once = 500;
  const auto key = [&](std::size_t i) { return key_of("many", client.me.rank) + "." + std::to_string(i); };
  say("ready");
  for (int round = 0; round < 2; ++round) {
    await("publish");
    for (std::size_t first = 0; first < count; first += at_once) {
      Infos infos;
      for (std::size_t i = first; i < first + at_once; ++i) infos.unsigned64(key(i).c_str(), i);
      check_status(PMIx_Publish(infos.data(), infos.size()), PMIX_SUCCESS);
    }
    for (std::size_t i = 0; i < count; i += 997) check_equal(look_up(key(i)).value, i);
    say("published");
    await("unpublish");
    check_status(unpublish_all(), PMIX_SUCCESS);
    check_status(look_up(key(0)).status, PMIX_ERR_NOT_FOUND);
    say("unpublished");
  }
  await("end");
  client.finalize();
  return 0;
}

/// All wait for a name, which the last rank publishes when the test says so.
int service_is_late(const Words&) {
  Client client;
  Lookup lookup("a service", waiting());
  if (client.me.rank == client.size - 1) {
    say("waits");
    await("publish");
    check_status(publish("a service", 2), PMIX_SUCCESS);
  }
  check_equal(lookup.wait().value, 2);
  client.finalize();
  return 0;
}

}  // namespace

void add_published_programs(Programs& programs) {
  programs.add("published_ranges", ranges);
  programs.add("published_duplicates", duplicates);
  programs.add("published_one_wins", one_wins);
  programs.add("published_partial", partial);
  programs.add("published_waits", waits);
  programs.add("published_first_reads", first_reads);
  programs.add("published_unpublishing", unpublishing);
  programs.add("published_odd_arguments", odd_arguments);
  programs.add("published_access", access_by_user);
  programs.add("published_pairs", many_pairs);
  programs.add("published_names_of_the_dead", names_of_the_dead);
  programs.add("published_names_are_left", names_are_left);
  programs.add("published_keeper_dies", keeper_dies);
  programs.add("published_very_many", very_many);
  programs.add("published_service_is_late", service_is_late);
}

}  // namespace weft::test
