// SPDX-License-Identifier: BSD-3-Clause
//
// A client that uses what programs use most and checks what comes back:   skew_client N
// N is the number of ranks it expects; rank 0 prints "ok skew_client N on LIBRARY" when all are through the
// last fence. N processes that are not one job fail at the first check. Compiled once with each set of
// headers and run on each library (skew.sh).
#define PROGRAM_NAME "skew_client"
#include "skew.h"

static pmix_proc_t me;

static answer_t handler_answer = ANSWER_INIT;
static size_t handler;

static void registered(pmix_status_t status, size_t handler_id, void* cbdata) {
  handler = handler_id;
  op_done(status, cbdata);
}

static void ignore_event(size_t handler_id, pmix_status_t status, const pmix_proc_t* source,
                         pmix_info_t* info, size_t ninfo, pmix_info_t* results, size_t nresults,
                         pmix_event_notification_cbfunc_fn_t cbfunc, void* cbdata) {
  (void)handler_id, (void)status, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
  if (NULL != cbfunc) {
    cbfunc(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, cbdata);
  }
}

static uint32_t job_number(const char* key) {
  pmix_proc_t job;
  pmix_value_t* value = NULL;
  PMIX_PROC_LOAD(&job, me.nspace, PMIX_RANK_WILDCARD);
  EXPECT_SUCCESS(PMIx_Get(&job, key, NULL, 0, &value));
  EXPECT(PMIX_UINT32 == value->type);
  const uint32_t number = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return number;
}

static void fill_card(char* card, pmix_rank_t rank) {
  for (int i = 0; i < card_bytes; ++i) {
    card[i] = (char)(i * 7 + (int)rank);
  }
}

static void put_all(void) {
  char text[64], card[card_bytes];
  pmix_value_t value;

  snprintf(text, sizeof(text), "rank %u", (unsigned)me.rank);
  PMIX_VALUE_LOAD(&value, text, PMIX_STRING);
  EXPECT_SUCCESS(PMIx_Put(PMIX_GLOBAL, "skew.text", &value));
  PMIX_VALUE_DESTRUCT(&value);

  const uint32_t number = 1000 + me.rank;
  PMIX_VALUE_LOAD(&value, &number, PMIX_UINT32);
  EXPECT_SUCCESS(PMIx_Put(PMIX_GLOBAL, "skew.number", &value));
  PMIX_VALUE_DESTRUCT(&value);

  fill_card(card, me.rank);
  pmix_byte_object_t bytes = {card, sizeof(card)};
  PMIX_VALUE_LOAD(&value, &bytes, PMIX_BYTE_OBJECT);
  EXPECT_SUCCESS(PMIx_Put(PMIX_GLOBAL, "skew.card", &value));
  PMIX_VALUE_DESTRUCT(&value);
  EXPECT_SUCCESS(PMIx_Commit());
}

static void check_rank(pmix_rank_t rank) {
  char text[64], card[card_bytes];
  pmix_value_t* value = NULL;
  pmix_proc_t peer;
  PMIX_LOAD_PROCID(&peer, me.nspace, rank);
  EXPECT(!PMIX_PROCID_INVALID(&peer));

  snprintf(text, sizeof(text), "rank %u", (unsigned)rank);
  EXPECT_SUCCESS(PMIx_Get(&peer, "skew.text", NULL, 0, &value));
  EXPECT(PMIX_STRING == value->type && 0 == strcmp(text, value->data.string));
  PMIX_VALUE_RELEASE(value);

  EXPECT_SUCCESS(PMIx_Get(&peer, "skew.number", NULL, 0, &value));
  EXPECT(PMIX_UINT32 == value->type && 1000 + rank == value->data.uint32);
  PMIX_VALUE_RELEASE(value);

  fill_card(card, rank);
  EXPECT_SUCCESS(PMIx_Get(&peer, "skew.card", NULL, 0, &value));
  EXPECT(PMIX_BYTE_OBJECT == value->type && sizeof(card) == value->data.bo.size);
  EXPECT(0 == memcmp(card, value->data.bo.bytes, sizeof(card)));
  PMIX_VALUE_RELEASE(value);
  EXPECT(NULL == value);
}

static void fence(bool collect) {
  pmix_info_t* info = NULL;
  PMIX_INFO_CREATE(info, 1);
  EXPECT(NULL != info && PMIX_INFO_IS_END(&info[0]));
  PMIX_INFO_LOAD(&info[0], PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  PMIX_INFO_REQUIRED(&info[0]);
  EXPECT_SUCCESS(PMIx_Fence(NULL, 0, info, 1));
  PMIX_INFO_FREE(info, 1);
}

static void check_missing(void) {
  pmix_info_t optional;
  pmix_value_t* value = NULL;
  PMIX_INFO_CONSTRUCT(&optional);
  PMIX_INFO_LOAD(&optional, PMIX_OPTIONAL, NULL, PMIX_BOOL);  // no data: the flag is set
  EXPECT(PMIX_INFO_TRUE(&optional));
  EXPECT(PMIX_ERR_NOT_FOUND == PMIx_Get(&me, "skew.missing", &optional, 1, &value));
  PMIX_INFO_DESTRUCT(&optional);
}

static void check_local_peers(uint32_t expected) {
  pmix_proc_t job;
  pmix_value_t* value = NULL;
  char** ranks = NULL;
  PMIX_PROC_LOAD(&job, me.nspace, PMIX_RANK_WILDCARD);
  EXPECT_SUCCESS(PMIx_Get(&job, PMIX_LOCAL_PEERS, NULL, 0, &value));
  EXPECT(PMIX_STRING == value->type);
  PMIX_ARGV_SPLIT(ranks, value->data.string, ',');
  int count = 0;
  PMIX_ARGV_COUNT(count, ranks);
  EXPECT((uint32_t)count == expected);
  PMIX_ARGV_FREE(ranks);
  PMIX_VALUE_RELEASE(value);
}

int main(int argc, char** argv) {
  EXPECT(2 == argc);
  const uint32_t expected = (uint32_t)strtoul(argv[1], NULL, 10);
  alarm(watchdog_seconds);

  EXPECT_SUCCESS(PMIx_Init(&me, NULL, 0));
  EXPECT(PMIx_Initialized());
  EXPECT(expected == job_number(PMIX_JOB_SIZE) && me.rank < expected);

  // Open MPI waits for the callback, whatever is returned.
  (void)PMIx_Register_event_handler(NULL, 0, NULL, 0, ignore_event, registered, &handler_answer);
  EXPECT_SUCCESS(wait_for(PMIX_SUCCESS, &handler_answer));

  put_all();
  fence(true);
  for (pmix_rank_t rank = 0; rank < expected; ++rank) {
    check_rank(rank);
  }
  check_missing();
  check_local_peers(expected);
  fence(false);

  answer_t removed = ANSWER_INIT;
  EXPECT_SUCCESS(wait_for(PMIx_Deregister_event_handler(handler, op_done, &removed), &removed));
  EXPECT_SUCCESS(PMIx_Finalize(NULL, 0));
  EXPECT(!PMIx_Initialized());
  if (0 == me.rank) {
    printf("ok skew_client %u on %s\n", (unsigned)expected, library_path());
  }
  return 0;
}
