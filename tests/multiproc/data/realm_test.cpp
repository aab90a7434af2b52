// SPDX-License-Identifier: BSD-3-Clause
// The Standard's own examples of data realms (PMIx 5.0, chapter "Reserved Keys",
// "Accessing information: examples"), asked of a host that registers two applications on two nodes and two
// sessions, in the spelling of OpenPMIx.
#include <cstring>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

/// NULL as the Standard writes it.
Got get_own(const char* key, const Infos& infos) {
  pmix_value_t* value = nullptr;
  const auto status = PMIx_Get(nullptr, key, infos.data(), infos.size(), &value);
  return {status, status == PMIX_SUCCESS ? value : nullptr};
}

Infos flag(const char* key) {
  return std::move(Infos().flag(key));
}

/// An info in a PMIX_DATA_ARRAY.
const pmix_info_t* find_in(const Got& got, std::string_view key) {
  check_status(got.status, PMIX_SUCCESS);
  check(got.value().type == PMIX_DATA_ARRAY && got.value().data.darray->type == PMIX_INFO,
        "no array of infos");
  const auto* infos = static_cast<const pmix_info_t*>(got.value().data.darray->array);
  for (std::size_t i = 0; i < got.value().data.darray->size; ++i)
    if (key == infos[i].key) return &infos[i];
  return nullptr;
}

void check_number_in(const Got& got, const char* key, std::uint32_t wanted) {
  const auto* info = find_in(got, key);
  check(info != nullptr && info->value.type == PMIX_UINT32, std::string(key) + " is not in the array");
  check_equal(info->value.data.uint32, wanted);
}

/// The eleven of the Standard.
void ask_as_the_standard(const Client& client) {
  check_equal(get(client.job, PMIX_UNIV_SIZE).u32(), 16);
  check_equal(get(client.job, PMIX_NUM_NODES, flag(PMIX_SESSION_INFO)).u32(), 3);
  check_equal(
      get_own(PMIX_NUM_NODES, std::move(Infos().flag(PMIX_SESSION_INFO).number(PMIX_SESSION_ID, 12345)))
          .u32(),
      5);
  check_equal(get(client.job, PMIX_JOB_NUM_APPS).u32(), 2);
  check_equal(get(client.job, PMIX_NUM_NODES, flag(PMIX_JOB_INFO)).u32(), 2);
  check_equal(get(client.me, PMIX_APP_SIZE).u32(), client.me.rank < 2 ? 2 : 3);
  check_equal(get(client.peer(2), PMIX_NUM_NODES, flag(PMIX_APP_INFO)).u32(), 2);
  check_equal(get_own(PMIX_NUM_NODES, std::move(Infos().flag(PMIX_APP_INFO).number(PMIX_APPNUM, 1))).u32(),
              2);
  check_equal(get(client.me, PMIX_NODE_SIZE).u32(), 3);
  const Infos second = std::move(Infos().flag(PMIX_NODE_INFO).text(PMIX_HOSTNAME, "second"));
  check_equal(get_own(PMIX_MAX_PROCS, second).u32(), 4);
  check_equal(get_own(PMIX_NODE_SIZE, second).u32(), 2);
}

/// Asks for the same keys of each realm, however the realm is named.
void ask_every_realm(const Client& client) {
  check_equal(get(client.job, PMIX_MAX_PROCS).u32(), 6);
  check_equal(get(client.job, PMIX_MAX_PROCS, flag(PMIX_SESSION_INFO)).u32(), 16);
  check_equal(
      get(client.job, PMIX_MAX_PROCS, std::move(Infos().flag(PMIX_SESSION_INFO).number(PMIX_SESSION_ID, 7)))
          .u32(),
      16);
  check_equal(get(client.peer(4), PMIX_MAX_PROCS, flag(PMIX_APP_INFO)).u32(), 3);
  check_equal(get(client.me, PMIX_MAX_PROCS, flag(PMIX_NODE_INFO)).u32(), 8);
  check_equal(get(client.peer(4), PMIX_MAX_PROCS, flag(PMIX_NODE_INFO)).u32(), 4);
  check_equal(get_own(PMIX_MAX_PROCS, std::move(Infos().flag(PMIX_NODE_INFO).number(PMIX_NODEID, 1))).u32(),
              4);
  check_equal(get(client.peer(4), PMIX_HOSTNAME).text(), "second");
  check_status(get(client.job, PMIX_HOSTNAME, flag(PMIX_JOB_INFO)).status, PMIX_ERR_NOT_FOUND);
  check_status(
      get(client.job, PMIX_NUM_NODES, std::move(Infos().flag(PMIX_SESSION_INFO).number(PMIX_SESSION_ID, 99)))
          .status,
      PMIX_ERR_NOT_FOUND);
  check_equal(get(client.job, PMIX_APP_SIZE, std::move(Infos().number(PMIX_APPNUM, 1))).u32(), 3);
  check_equal(get(client.peer(4), PMIX_APPNUM).u32(), 1);
  check_equal(get(client.peer(4), PMIX_APP_RANK).rank(), 2);
  check_equal(get(client.job, PMIX_RM_NAME).text(), "a host");
  check_equal(get(client.job, PMIX_SESSION_ID).u32(), 7);
  check_equal(
      get(client.job, PMIX_SERVER_URI).text().substr(0, get(client.job, PMIX_SERVER_NSPACE).text().size()),
      get(client.job, PMIX_SERVER_NSPACE).text());
  check_status(get(client.job, PMIX_SERVER_RANK).status, PMIX_SUCCESS);
  const auto here = get(client.me, PMIX_LOCAL_PROCS);
  check_status(here.status, PMIX_SUCCESS);
  check(here.value().type == PMIX_DATA_ARRAY && here.value().data.darray->type == PMIX_PROC, "LOCAL_PROCS");
  check_equal(here.value().data.darray->size, 3);
}

void ask_for_arrays(const Client& client) {
  check_number_in(get(client.job, PMIX_SESSION_INFO_ARRAY), PMIX_UNIV_SIZE, 16);
  check_number_in(get(client.job, PMIX_JOB_INFO_ARRAY), PMIX_JOB_SIZE, 5);
  check_number_in(get(client.peer(4), PMIX_APP_INFO_ARRAY), PMIX_APP_SIZE, 3);
  check_number_in(get(client.job, PMIX_APP_INFO_ARRAY, std::move(Infos().number(PMIX_APPNUM, 0))),
                  PMIX_APP_SIZE, 2);
  check_number_in(get(client.me, PMIX_NODE_INFO_ARRAY), PMIX_MAX_PROCS, 8);
  check_number_in(get(client.job, PMIX_NODE_INFO_ARRAY, std::move(Infos().text(PMIX_HOSTNAME, "second"))),
                  PMIX_MAX_PROCS, 4);
  check_number_in(get(client.peer(4), PMIX_PROC_INFO_ARRAY), PMIX_APPNUM, 1);
  check_status(get(client.job, PMIX_PROC_INFO_ARRAY).status, PMIX_ERR_NOT_FOUND);
}

int ask_realms(const Words&) {
  Client client;
  ask_as_the_standard(client);
  ask_every_realm(client);
  ask_for_arrays(client);
  client.finalize();
  return 0;
}

/// Keys of a network that the host gave at registration: known without a question to another node
/// (PMIX_OPTIONAL) and before any fence, also those of ranks that have no server, and so none that could be
/// asked; and this process's own, before and after it puts a key itself.
int read_cards_of_the_host(const Words&) {
  Client client;
  const auto optional = [] { return flag(PMIX_OPTIONAL); };
  const auto of_node = [] { return std::move(Infos().flag(PMIX_OPTIONAL).flag(PMIX_NODE_INFO)); };
  const auto neighbour = client.peer((client.me.rank + 1) % 3);
  check_equal(get(client.peer(3), "net.card", optional()).text(), "second:7003");
  check_equal(get(client.peer(4), "net.card", optional()).text(), "second:7004");
  check_equal(get(neighbour, "net.card", optional()).text(),
              "first:" + std::to_string(7000 + neighbour.rank));
  check_equal(get(client.peer(4), "net.address", of_node()).text(), "10.0.0.2");
  check_equal(get(neighbour, "net.address", of_node()).text(), "10.0.0.1");
  check_status(get(client.peer(3), "net.other", optional()).status, PMIX_ERR_NOT_FOUND);
  const auto card = "first:" + std::to_string(7000 + client.me.rank);
  for (const bool has_put : {false, true}) {
    if (has_put) {
      check_status(put("net.name", "a name"), PMIX_SUCCESS);
      check_status(PMIx_Commit(), PMIX_SUCCESS);
    }
    check_equal(get(client.me, "net.card", optional()).text(), card);
    check_equal(get(client.me, "net.card").text(), card);
    check_equal(get(client.me, "net.address", of_node()).text(), "10.0.0.1");
    check_status(get(client.me, "net.other", optional()).status, PMIX_ERR_NOT_FOUND);
    check_status(get(client.me, "net.other").status, PMIX_ERR_NOT_FOUND);
  }
  client.finalize();
  return 0;
}

/// Ranks 0 to 2 on this node, 3 and 4 on the other; applications 0 (ranks 0 and 1) and 1.
Infos two_applications() {
  Infos infos, session;
  infos.number(PMIX_JOB_SIZE, 5)
      .number(PMIX_NODEID, 0)
      .number(PMIX_JOB_NUM_APPS, 2)
      .number(PMIX_MAX_PROCS, 6);
  infos.text(PMIX_NODE_MAP, "pmix[first,second]").text(PMIX_PROC_MAP, "pmix[0-2;3-4]");
  infos.text(PMIX_RM_NAME, "a host");
  session.number(PMIX_SESSION_ID, 7).number(PMIX_UNIV_SIZE, 16).text(PMIX_NODE_LIST, "first,second,third");
  infos.array(PMIX_SESSION_INFO_ARRAY, std::move(session));
  for (std::uint32_t app = 0; app < 2; ++app)
    infos.array(PMIX_APP_INFO_ARRAY, std::move(Infos()
                                                   .number(PMIX_APPNUM, app)
                                                   .number(PMIX_APP_SIZE, app == 0 ? 2 : 3)
                                                   .rank(PMIX_APPLDR, app == 0 ? 0 : 2)));
  infos.array(PMIX_NODE_INFO_ARRAY,
              std::move(Infos().text(PMIX_HOSTNAME, "first").number(PMIX_MAX_PROCS, 8)));
  infos.array(PMIX_NODE_INFO_ARRAY,
              std::move(Infos().text(PMIX_HOSTNAME, "second").number(PMIX_MAX_PROCS, 4)));
  return infos;
}

/// A session of another job, without processes here.
Infos another_session() {
  Infos infos, session;
  infos.number(PMIX_JOB_SIZE, 1).text(PMIX_NODE_MAP, "far").text(PMIX_PROC_MAP, "0");
  session.number(PMIX_SESSION_ID, 12345).text(PMIX_NODE_MAP, "pmix[far[1:1-5]]").number(PMIX_UNIV_SIZE, 500);
  infos.array(PMIX_SESSION_INFO_ARRAY, std::move(session));
  return infos;
}

}  // namespace

void add_realm_programs(Programs& programs) {
  programs.add("ask_realms", ask_realms);
  programs.add("read_cards_of_the_host", read_cards_of_the_host);
}

// ---- tests

class RealmTest : public Multiproc, public ::testing::WithParamInterface<Segment> {};

INSTANTIATE_TEST_SUITE_P(Segment, RealmTest, ::testing::ValuesIn(ways({Segment::mapped, Segment::refused})),
                         [](const auto& way) { return name_of(way.param); });

TEST_P(RealmTest, as_the_standard_has_them) {
  Host host;
  auto other = another_session();
  host.add_job("other", 0, other);
  auto infos = two_applications();
  host.add_job("job", 3, infos);
  for (pmix_rank_t rank = 0; rank < 3; ++rank) host.add_client(proc_of("job", rank));
  auto children = start_all(host, GetParam(), "job", 3, "ask_realms");
  expect_success(children);
}

TEST_P(RealmTest, a_card_that_the_host_gives_is_there_without_an_exchange) {
  Host host;
  auto infos = two_applications();
  for (const auto& [node, address] : {std::pair{"first", "10.0.0.1"}, std::pair{"second", "10.0.0.2"}})
    infos.array(PMIX_NODE_INFO_ARRAY,
                std::move(Infos().text(PMIX_HOSTNAME, node).text("net.address", address)));
  for (pmix_rank_t rank = 0; rank < 5; ++rank) {
    const auto card = std::string(rank < 3 ? "first" : "second") + ":" + std::to_string(7000 + rank);
    infos.array(PMIX_PROC_INFO_ARRAY, std::move(Infos().rank(PMIX_RANK, rank).text("net.card", card)));
  }
  host.add_job("job", 3, infos);
  for (pmix_rank_t rank = 0; rank < 3; ++rank) host.add_client(proc_of("job", rank));
  auto children = start_all(host, GetParam(), "job", 3, "read_cards_of_the_host");
  expect_success(children);
}

class RegistrationTest : public Multiproc {
 protected:
  static pmix_status_t add(const char* nspace, int local, const Infos& infos) {
    return PMIx_server_register_nspace(nspace, local, const_cast<pmix_info_t*>(infos.data()), infos.size(),
                                       nullptr, nullptr);
  }
};

TEST_F(RegistrationTest, of_what_makes_no_sense_leaves_nothing) {
  Host host;
  Infos wrong =
      std::move(Infos().number(PMIX_JOB_SIZE, 3).text(PMIX_NODE_MAP, "here").text(PMIX_PROC_MAP, "0-2"));
  EXPECT_EQ(add("job", 1, wrong), PMIX_ERR_BAD_PARAM);  // three ranks here, of which the host starts one
  EXPECT_EQ(add("job", 3, std::move(Infos().text(PMIX_JOB_SIZE, "three"))), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(get(proc_of("job", PMIX_RANK_WILDCARD), PMIX_JOB_SIZE).status, PMIX_ERR_NOT_FOUND);
  // The same namespace, said right, is as if it had not been said before.
  EXPECT_EQ(add("job", 3, wrong), PMIX_OPERATION_SUCCEEDED);
  EXPECT_EQ(get(proc_of("job", PMIX_RANK_WILDCARD), PMIX_JOB_SIZE).u32(), 3u);
}

}  // namespace weft::test
