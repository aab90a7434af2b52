// SPDX-License-Identifier: BSD-3-Clause
// A group by invitation (RFC 0033), in the plain PMIx C API. Rank 0 invites all ranks but the last, which is
// its reserve; rank 1 declines, and rank 0 invites the reserve in its place. The members then have a name for
// themselves: a fence of the group, and what a member has put by its group rank.
//
//   cc -O2 group_invite.c -lpmix -pthread -o group_invite && weftrun -n 4 ./group_invite
//
// Each rank prints its own lines in one order; ranks print side by side.
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pmix.h>

#define GROUP "crew"
#define CARD_KEY "example.card"

static pmix_proc_t me;
static uint32_t size;

// The notes of the handlers. A handler runs in a thread of the library, which must not wait for the library:
// it only takes notes, and the main thread acts on them.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_invited, is_complete;
static pmix_proc_t inviter, decliner;

// A failure ends the whole job: the other members would wait for this process for ever.
static void check(pmix_status_t status, const char* what) {
  if (status == PMIX_SUCCESS) return;
  fprintf(stderr, "group_invite: rank %" PRIu32 ": %s: %s\n", me.rank, what, PMIx_Error_string(status));
  PMIx_Abort(1, what, NULL, 0);
  _exit(1);
}

static pmix_proc_t process(const char* nspace, pmix_rank_t rank) {
  pmix_proc_t proc;
  PMIX_PROC_CONSTRUCT(&proc);
  PMIX_LOAD_PROCID(&proc, nspace, rank);
  return proc;
}

// ---- what handlers do ----

static void note(bool* what) {
  pthread_mutex_lock(&lock);
  *what = true;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static void wait_for(const bool* what) {
  pthread_mutex_lock(&lock);
  while (!*what) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

static bool is_about_group(const pmix_info_t infos[], size_t ninfo) {
  for (size_t i = 0; i < ninfo; ++i) {
    if (PMIX_CHECK_KEY(&infos[i], PMIX_GROUP_ID)) return strcmp(infos[i].value.data.string, GROUP) == 0;
  }
  return false;
}

// An invitation, or the news that the group is made.
static void on_news(size_t handler, pmix_status_t code, const pmix_proc_t* source, pmix_info_t infos[],
                    size_t ninfo, pmix_info_t* results, size_t nresults,
                    pmix_event_notification_cbfunc_fn_t done, void* token) {
  (void)handler, (void)results, (void)nresults;
  if (is_about_group(infos, ninfo)) {
    if (code == PMIX_GROUP_INVITED) inviter = *source;  // before the note: the main thread reads it after
    note(code == PMIX_GROUP_INVITED ? &is_invited : &is_complete);
  }
  done(PMIX_SUCCESS, NULL, 0, NULL, NULL, token);
}

// The library is done with what on_decline has given it.
static void free_reply(pmix_status_t status, void* reply) {
  (void)status;
  pmix_info_t* info = reply;
  PMIX_INFO_FREE(info, 1);
}

// Rank 0's: what the handler returns is the decision. The reserve gets the group rank of the process that has
// declined.
static void on_decline(size_t handler, pmix_status_t code, const pmix_proc_t* source, pmix_info_t infos[],
                       size_t ninfo, pmix_info_t* results, size_t nresults,
                       pmix_event_notification_cbfunc_fn_t done, void* token) {
  (void)handler, (void)code, (void)source, (void)results, (void)nresults;
  for (size_t i = 0; i < ninfo; ++i) {
    if (PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_AFFECTED_PROC)) decliner = *infos[i].value.data.proc;
  }
  pmix_proc_t reserve = process(me.nspace, size - 1);
  pmix_data_array_t replacements = {.type = PMIX_PROC, .size = 1, .array = &reserve};
  pmix_info_t* reply = NULL;
  PMIX_INFO_CREATE(reply, 1);
  PMIX_INFO_LOAD(reply, PMIX_GROUP_ADD_MEMBERS, &replacements, PMIX_DATA_ARRAY);  // copies
  done(PMIX_SUCCESS, reply, 1, free_reply, reply, token);
}

static void listen_for(pmix_status_t code, pmix_notification_fn_t handler) {
  const pmix_status_t reference = PMIx_Register_event_handler(&code, 1, NULL, 0, handler, NULL, NULL);
  if (reference < 0) check(reference, "PMIx_Register_event_handler");
}

// ---- the job ----

static uint32_t job_size(void) {
  const pmix_proc_t job = process(me.nspace, PMIX_RANK_WILDCARD);
  pmix_value_t* value = NULL;
  check(PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value), "PMIx_Get of the job size");
  const uint32_t out = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return out;
}

static void invite(pmix_info_t** results, size_t* nresults) {
  pmix_proc_t* invited = calloc(size - 2, sizeof *invited);
  if (invited == NULL) check(PMIX_ERR_NOMEM, "calloc");
  for (pmix_rank_t rank = 1; rank <= size - 2; ++rank) invited[rank - 1] = process(me.nspace, rank);
  check(PMIx_Group_invite(GROUP, invited, size - 2, NULL, 0, results, nresults), "PMIx_Group_invite");
  free(invited);
  printf("rank 0: rank %" PRIu32 " has declined, and rank %" PRIu32 " has come in its place\n", decliner.rank,
         size - 1);
}

// ---- the group ----

// Prints the members, whose places in the array are their group ranks; returns how many there are.
static size_t show_members(const pmix_info_t* results, size_t nresults) {
  size_t count = 0;
  for (size_t i = 0; i < nresults; ++i) {
    if (!PMIX_CHECK_KEY(&results[i], PMIX_GROUP_MEMBERSHIP)) continue;
    const pmix_data_array_t* array = results[i].value.data.darray;
    const pmix_proc_t* members = array->array;
    count = array->size;
    printf("rank %" PRIu32 ": members by group rank:", me.rank);
    for (size_t j = 0; j < count; ++j) printf(" %" PRIu32, members[j].rank);
    printf("\n");
  }
  return count;
}

// The group's name stands where a namespace may, with a group rank where a rank may.
static void use_group(size_t members) {
  char card[64];
  snprintf(card, sizeof card, "card-of-rank-%" PRIu32, me.rank);
  pmix_value_t put = {.type = PMIX_STRING, .data.string = card};
  check(PMIx_Put(PMIX_GLOBAL, CARD_KEY, &put), "PMIx_Put");
  check(PMIx_Commit(), "PMIx_Commit");
  const pmix_proc_t all = process(GROUP, PMIX_RANK_WILDCARD);
  const bool collect = true;
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  check(PMIx_Fence(&all, 1, &info, 1), "PMIx_Fence of the group");

  printf("rank %" PRIu32 ": cards by group rank:", me.rank);
  for (size_t rank = 0; rank < members; ++rank) {
    const pmix_proc_t member = process(GROUP, (pmix_rank_t)rank);
    pmix_value_t* value = NULL;
    check(PMIx_Get(&member, CARD_KEY, NULL, 0, &value), "PMIx_Get by group rank");
    printf(" %s", value->data.string);
    PMIX_VALUE_RELEASE(value);
  }
  printf("\n");
}

static void be_member(void) {
  pmix_info_t* results = NULL;
  size_t nresults = 0;
  if (me.rank == 0) {
    invite(&results, &nresults);
  } else {
    wait_for(&is_invited);
    check(PMIx_Group_join(GROUP, &inviter, PMIX_GROUP_ACCEPT, NULL, 0, &results, &nresults),
          "PMIx_Group_join");
    printf("rank %" PRIu32 ": accepted rank %" PRIu32 "'s invitation\n", me.rank, inviter.rank);
  }
  const size_t members = show_members(results, nresults);
  PMIX_INFO_FREE(results, nresults);
  wait_for(&is_complete);  // the group may be used from then on
  use_group(members);
  check(PMIx_Group_destruct(GROUP, NULL, 0), "PMIx_Group_destruct");
  printf("rank %" PRIu32 ": the group is over\n", me.rank);
}

static void decline(void) {
  wait_for(&is_invited);
  check(PMIx_Group_join(GROUP, &inviter, PMIX_GROUP_DECLINE, NULL, 0, NULL, NULL), "PMIx_Group_join");
  printf("rank %" PRIu32 ": declined rank %" PRIu32 "'s invitation\n", me.rank, inviter.rank);
}

int main(void) {
  const pmix_status_t status = PMIx_Init(&me, NULL, 0);
  if (status != PMIX_SUCCESS) {
    fprintf(stderr, "group_invite: PMIx_Init: %s (was this started by weftrun?)\n",
            PMIx_Error_string(status));
    return 1;
  }
  size = job_size();
  if (size < 3) check(PMIX_ERR_BAD_PARAM, "a leader, a rank that declines and a reserve are 3 ranks");
  listen_for(PMIX_GROUP_INVITED, on_news);
  listen_for(PMIX_GROUP_CONSTRUCT_COMPLETE, on_news);
  if (me.rank == 0) listen_for(PMIX_GROUP_INVITE_DECLINED, on_decline);
  // An invitation is an event: all ranks have their handlers before the first is sent.
  check(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");

  if (me.rank == 1)
    decline();
  else
    be_member();
  check(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
