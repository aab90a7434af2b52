// SPDX-License-Identifier: BSD-3-Clause
// A group whose leader ends before the group is made (RFC 0033), in the plain PMIx C API. Rank 0 invites all
// ranks, and exits when the first has accepted. The other ranks hear of it, rank 1 declares itself the
// leader, the last rank, which has not answered so far, accepts now, and the group of the survivors is made
// and used.
//
//   cc -O2 group_leader.c -lpmix -pthread -o group_leader
//   weftrun --on-failure continue -n 4 ./group_leader
//
// The job must outlive its rank 0, whose exit status, 3, is then the job's. Each rank prints its own lines in
// one order; ranks print side by side.
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pmix.h>

#define GROUP "heirs"
#define CARD_KEY "example.card"

enum { status_of_leader = 3 };

static pmix_proc_t me;
static uint32_t size;

// The notes of the handlers. A handler runs in a thread of the library, which must not wait for the library:
// it only takes notes, and the main thread acts on them.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
struct news {
  bool is_heard;
  pmix_proc_t source, about;  // about: PMIX_EVENT_AFFECTED_PROC
  bool has_leader;            // PMIX_GROUP_LEADER
};
static struct news invited, accepted, failed, selected, complete;

// A failure ends the whole job: the other members would wait for this process for ever.
static void check(pmix_status_t status, const char* what) {
  if (status == PMIX_SUCCESS) return;
  fprintf(stderr, "group_leader: rank %" PRIu32 ": %s: %s\n", me.rank, what, PMIx_Error_string(status));
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

static struct news* news_of(pmix_status_t code) {
  switch (code) {
    case PMIX_GROUP_INVITED:
      return &invited;
    case PMIX_GROUP_INVITE_ACCEPTED:
      return &accepted;
    case PMIX_GROUP_LEADER_FAILED:
      return &failed;
    case PMIX_GROUP_LEADER_SELECTED:
      return &selected;
    default:
      return &complete;
  }
}

// The first event of a code is the one that counts: ranks accept one after the other.
static void note(pmix_status_t code, const pmix_proc_t* source, const pmix_info_t infos[], size_t ninfo) {
  struct news heard = {.is_heard = true, .source = *source};
  for (size_t i = 0; i < ninfo; ++i) {
    const pmix_value_t* value = &infos[i].value;
    if (PMIX_CHECK_KEY(&infos[i], PMIX_GROUP_ID) && strcmp(value->data.string, GROUP) != 0) return;
    if (PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_AFFECTED_PROC)) heard.about = *value->data.proc;
    if (PMIX_CHECK_KEY(&infos[i], PMIX_GROUP_LEADER)) heard.has_leader = value->data.flag;
  }
  pthread_mutex_lock(&lock);
  struct news* news = news_of(code);
  if (!news->is_heard) *news = heard;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static struct news wait_for(const struct news* news) {
  pthread_mutex_lock(&lock);
  while (!news->is_heard) pthread_cond_wait(&changed, &lock);
  const struct news out = *news;
  pthread_mutex_unlock(&lock);
  return out;
}

// The library is done with what on_event has given it.
static void free_reply(pmix_status_t status, void* reply) {
  (void)status;
  pmix_info_t* info = reply;
  PMIX_INFO_FREE(info, 1);
}

// Rank 1's answer to the leader's failure is that it leads from now on.
static void on_event(size_t handler, pmix_status_t code, const pmix_proc_t* source, pmix_info_t infos[],
                     size_t ninfo, pmix_info_t* results, size_t nresults,
                     pmix_event_notification_cbfunc_fn_t done, void* token) {
  (void)handler, (void)results, (void)nresults;
  note(code, source, infos, ninfo);
  if (code != PMIX_GROUP_LEADER_FAILED || me.rank != 1) {
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, token);
    return;
  }
  const bool leads = true;
  pmix_info_t* reply = NULL;
  PMIX_INFO_CREATE(reply, 1);
  PMIX_INFO_LOAD(reply, PMIX_GROUP_LEADER, &leads, PMIX_BOOL);
  done(PMIX_SUCCESS, reply, 1, free_reply, reply, token);
}

static void listen_for(pmix_status_t code) {
  const pmix_status_t reference = PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL);
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

static void on_end_of_invite(pmix_status_t status, pmix_info_t* results, size_t nresults, void* unused,
                             pmix_release_cbfunc_t release, void* held) {
  (void)status, (void)results, (void)nresults, (void)unused;
  if (release != NULL) release(held);
}

// The group cannot be made while this process lives: the last rank does not answer before it has another
// leader.
static void lead_and_end(void) {
  const pmix_proc_t job = process(me.nspace, PMIX_RANK_WILDCARD);  // the leader among them, unasked
  check(PMIx_Group_invite_nb(GROUP, &job, 1, NULL, 0, on_end_of_invite, NULL), "PMIx_Group_invite_nb");
  wait_for(&accepted);
  printf("rank 0: has invited all, and ends\n");
  fflush(stdout);
  _exit(status_of_leader);
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
  const pmix_proc_t inviter = wait_for(&invited).source;  // the invitation stays rank 0's
  if (me.rank == size - 1 && !wait_for(&selected).has_leader)
    check(PMIX_GROUP_LEADER_FAILED, "the choice of a new leader");
  pmix_info_t* results = NULL;
  size_t nresults = 0;
  check(PMIx_Group_join(GROUP, &inviter, PMIX_GROUP_ACCEPT, NULL, 0, &results, &nresults), "PMIx_Group_join");
  printf("rank %" PRIu32 ": the leader, rank %" PRIu32 ", has failed\n", me.rank,
         wait_for(&failed).about.rank);
  printf("rank %" PRIu32 ": the leader is rank %" PRIu32 "\n", me.rank, wait_for(&selected).about.rank);
  const size_t members = show_members(results, nresults);
  PMIX_INFO_FREE(results, nresults);
  wait_for(&complete);  // the group may be used from then on
  use_group(members);
  check(PMIx_Group_destruct(GROUP, NULL, 0), "PMIx_Group_destruct");
  printf("rank %" PRIu32 ": the group is over\n", me.rank);
}

int main(void) {
  const pmix_status_t status = PMIx_Init(&me, NULL, 0);
  if (status != PMIX_SUCCESS) {
    fprintf(stderr, "group_leader: PMIx_Init: %s (was this started by weftrun?)\n",
            PMIx_Error_string(status));
    return 1;
  }
  size = job_size();
  if (size < 3) check(PMIX_ERR_BAD_PARAM, "a leader, its heir and a late rank are 3 ranks");
  listen_for(PMIX_GROUP_INVITED);
  listen_for(PMIX_GROUP_INVITE_ACCEPTED);
  listen_for(PMIX_GROUP_LEADER_FAILED);
  listen_for(PMIX_GROUP_LEADER_SELECTED);
  listen_for(PMIX_GROUP_CONSTRUCT_COMPLETE);
  // An invitation is an event: all ranks have their handlers before the first is sent.
  check(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");

  if (me.rank == 0)
    lead_and_end();
  else
    be_member();
  check(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
