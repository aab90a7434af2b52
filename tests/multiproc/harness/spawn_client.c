// SPDX-License-Identifier: BSD-3-Clause
// A process that asks for jobs, for the tests of PMIx_Spawn: spawn_client WORD...; each word is one step.
//   init finalize            the calls
//   alone                    PMIx_Init of a process that no launcher has started
//   tool:PID                 in place of init: a tool of that process's server; its last job is the other
//   program:CMD arg:WORD     the program of the next spawn, and its next argument; me: this program
//   ranks:N wdir:DIR env:V   of that program: its processes, its folder, a variable NAME=VALUE
//   more                     what follows is about another program of the same spawn
//   text:KEY=V flag:KEY number:KEY=V    an attribute of the job
//   app_text:KEY=V           of the program
//   required                 the last attribute of the job is required
//   spawn                    prints "spawn STATUS", and " SUFFIX" of the namespace where there is one
//   spawn_nb                 the same by PMIx_Spawn_nb
//   times:N                  the next spawn is made so often, each after the end of the job before; one line
//   only:R all               the rest is for rank R; other ranks skip to the word "all"
//   child:N                  the N-th job that has been asked for, by its name alone; all ranks can say so
//   connect disconnect       the whole own job with that of child:N, or of a child with that of its parent
//   get:R                    prints "got BYTES" of the key "card" of rank R of the other job, after connect
//   put:BYTES                that key, and a commit
//   fence                    of both jobs
//   meet                     a fence of the own job
//   group:NAME               a group of both jobs, constructed with PMIX_GROUP_NOTIFY_TERMINATION
//   hears:R                  waits for PMIX_GROUP_MEMBER_FAILED of rank R of the other job
//   names:N finds:N          publishes N names; looks them up without waiting, prints "finds N"
//   peers                    prints "peers N" on this node, of all namespaces
//   parent                   prints "parent SUFFIX RANK SPAWNED"
//   value:NAME               prints "NAME=VALUE" of the environment
//   where, host              prints "where FOLDER", "host NAME"
//   job:KEY                  prints "KEY VALUE" of the own job, a number
//   ends                     listens to PMIX_EVENT_JOB_END and PMIX_LAUNCH_COMPLETE
//   ended launched           waits for it, prints "ended SUFFIX STATUS", "launched SUFFIX"
//   to:KEY to:KEY:N          PMIx_Job_control of the other job with that directive, true or the number N;
//                            prints "control STATUS"
//   target:R                 rank R alone is meant by the next of these; own: the own job
//   handle:N                 prints "signal N" when that signal comes
//   say:TEXT pid             prints TEXT; "pid PID"
//   exit:N abort:N signal:N wait until:FILE
#include <fcntl.h>
#include <pmix_tool.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most = 64 };

static pmix_proc_t me;
static int is_tool;
static const char* own_path;
static pmix_app_t apps[most];
static pmix_info_t infos[most], app_infos[most][most];
static size_t app_count, info_count;
static int repeats = 1;
static char other[2 * PMIX_MAX_NSLEN];  // the other job

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t heard = PTHREAD_COND_INITIALIZER;
static char ended[256], launched[256];
static pmix_rank_t failed[most];
static size_t failed_count;

static void say(const char* text) {
  printf("%s\n", text);
  fflush(stdout);
}

static void require(const char* what, pmix_status_t status) {
  if (status == PMIX_SUCCESS) return;
  fprintf(stderr, "spawn_client: rank %u of %s: %s: %s\n", me.rank, me.nspace, what,
          PMIx_Error_string(status));
  exit(99);
}

static const char* suffix(const char* nspace) {
  const char* dot = strrchr(nspace, '.');
  return dot == NULL ? "-" : dot + 1;
}

static pmix_app_t* program(void) {
  if (app_count == 0) {
    PMIX_APP_CONSTRUCT(&apps[0]);
    apps[0].maxprocs = 1;
    app_count = 1;
  }
  return &apps[app_count - 1];
}

static void append(char*** list, const char* word) {
  size_t count = 0;
  while (*list != NULL && (*list)[count] != NULL) ++count;
  *list = realloc(*list, (count + 2) * sizeof **list);
  (*list)[count] = strdup(word);
  (*list)[count + 1] = NULL;
}

static void load(pmix_info_t* info, const char* pair, pmix_data_type_t type) {
  char key[PMIX_MAX_KEYLEN + 1];
  const char* const equals = strchr(pair, '=');
  snprintf(key, sizeof key, "%.*s", equals == NULL ? (int)strlen(pair) : (int)(equals - pair), pair);
  const bool yes = true;
  const uint32_t number = equals == NULL ? 0 : (uint32_t)strtoul(equals + 1, NULL, 10);
  PMIX_INFO_LOAD(info, key,
                 type == PMIX_STRING ? (const void*)(equals + 1)
                 : type == PMIX_BOOL ? (const void*)&yes
                                     : (const void*)&number,
                 type);
}

static pmix_status_t nb_status;
static pmix_nspace_t nb_nspace;
static int nb_done;
static void on_spawned(pmix_status_t status, pmix_nspace_t nspace, void* unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  nb_status = status;
  PMIX_LOAD_NSPACE(nb_nspace, nspace);
  nb_done = 1;
  pthread_cond_broadcast(&heard);
  pthread_mutex_unlock(&lock);
}

static pmix_status_t spawn_once(int blocks, char* nspace) {
  for (size_t i = 0; i < app_count; ++i) apps[i].info = apps[i].ninfo == 0 ? NULL : app_infos[i];
  if (blocks) return PMIx_Spawn(info_count == 0 ? NULL : infos, info_count, apps, app_count, nspace);
  nb_done = 0;
  const pmix_status_t status =
      PMIx_Spawn_nb(info_count == 0 ? NULL : infos, info_count, apps, app_count, on_spawned, NULL);
  if (status != PMIX_SUCCESS) return status;
  pthread_mutex_lock(&lock);
  while (!nb_done) pthread_cond_wait(&heard, &lock);
  pthread_mutex_unlock(&lock);
  PMIX_LOAD_NSPACE(nspace, nb_nspace);
  return nb_status;
}

static void await_end(void) {
  pthread_mutex_lock(&lock);
  while (ended[0] == '\0') pthread_cond_wait(&heard, &lock);
  ended[0] = '\0';
  pthread_mutex_unlock(&lock);
}

static void forget_request(void) {
  for (size_t i = 0; i < app_count; ++i) {
    for (size_t j = 0; j < apps[i].ninfo; ++j) PMIX_INFO_DESTRUCT(&app_infos[i][j]);
    apps[i].info = NULL;
    apps[i].ninfo = 0;
    PMIX_APP_DESTRUCT(&apps[i]);
  }
  for (size_t i = 0; i < info_count; ++i) PMIX_INFO_DESTRUCT(&infos[i]);
  app_count = info_count = 0;
}

static void spawn(int blocks) {
  char nspace[PMIX_MAX_NSLEN + 1] = {0};
  pmix_status_t status = PMIX_SUCCESS;
  for (int i = 0; i < repeats && status == PMIX_SUCCESS; ++i) {
    status = spawn_once(blocks, nspace);
    if (repeats > 1 && status == PMIX_SUCCESS) await_end();
  }
  printf("spawn %s %s\n", PMIx_Error_string(status), status == PMIX_SUCCESS ? suffix(nspace) : "");
  fflush(stdout);
  if (is_tool) snprintf(other, sizeof other, "%s", nspace);
  repeats = 1;
  forget_request();
}

static void both(pmix_proc_t procs[2]) {
  PMIX_LOAD_PROCID(&procs[0], me.nspace, PMIX_RANK_WILDCARD);
  PMIX_LOAD_PROCID(&procs[1], other, PMIX_RANK_WILDCARD);
}

static void find_parent(int prints) {
  pmix_proc_t job;
  pmix_value_t *parent = NULL, *spawned = NULL;
  PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
  if (PMIx_Get(&job, PMIX_PARENT_ID, NULL, 0, &parent) != PMIX_SUCCESS) return;
  require("spawned", PMIx_Get(&job, PMIX_SPAWNED, NULL, 0, &spawned));
  snprintf(other, sizeof other, "%s", parent->data.proc->nspace);
  if (prints)
    printf("parent %s %u %d\n", suffix(other), parent->data.proc->rank, spawned->data.flag), fflush(stdout);
  PMIX_VALUE_RELEASE(parent);
  PMIX_VALUE_RELEASE(spawned);
}

static void on_event(size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t* info,
                     size_t ninfo, pmix_info_t* results, size_t nresults,
                     pmix_event_notification_cbfunc_fn_t done, void* cookie) {
  (void)id, (void)source, (void)results, (void)nresults;
  pthread_mutex_lock(&lock);
  const char* nspace = "";
  const char* status = "";
  for (size_t i = 0; i < ninfo; ++i) {
    if (PMIX_CHECK_KEY(&info[i], PMIX_NSPACE)) nspace = info[i].value.data.string;
    if (PMIX_CHECK_KEY(&info[i], PMIX_JOB_TERM_STATUS)) status = PMIx_Error_string(info[i].value.data.status);
    if (code == PMIX_GROUP_MEMBER_FAILED && PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC) &&
        strcmp(info[i].value.data.proc->nspace, other) == 0 && failed_count < most)
      failed[failed_count++] = info[i].value.data.proc->rank;
  }
  if (code == PMIX_EVENT_JOB_END) snprintf(ended, sizeof ended, "ended %s %s", suffix(nspace), status);
  if (code == PMIX_LAUNCH_COMPLETE) snprintf(launched, sizeof launched, "launched %s", suffix(nspace));
  pthread_cond_broadcast(&heard);
  pthread_mutex_unlock(&lock);
  if (done != NULL) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cookie);
}

static void listen_to(pmix_status_t code) {
  const pmix_status_t id = PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL);
  require("PMIx_Register_event_handler", id < 0 ? id : PMIX_SUCCESS);
}

static pmix_proc_t target;
static int has_target;

static void control(const char* directive) {
  pmix_info_t info, *results = NULL;
  size_t count = 0;
  char key[PMIX_MAX_KEYLEN + 1];
  const char* const colon = strchr(directive, ':');
  snprintf(key, sizeof key, "%.*s", colon == NULL ? (int)strlen(directive) : (int)(colon - directive),
           directive);
  const bool yes = true;
  const int number = colon == NULL ? 0 : atoi(colon + 1);
  PMIX_INFO_LOAD(&info, key, colon == NULL ? (const void*)&yes : (const void*)&number,
                 colon == NULL ? PMIX_BOOL : PMIX_INT);
  if (!has_target) PMIX_LOAD_PROCID(&target, other, PMIX_RANK_WILDCARD);
  has_target = 0;
  printf("control %s\n", PMIx_Error_string(PMIx_Job_control(&target, 1, &info, 1, &results, &count)));
  fflush(stdout);
}

static void on_signal(int number) {
  char text[] = "signal 00\n";
  text[7] = (char)('0' + number / 10);
  text[8] = (char)('0' + number % 10);
  if (write(1, text, sizeof text - 1) < 0) _exit(96);
}

static void await_text(const char* text) {
  pthread_mutex_lock(&lock);
  while (text[0] == '\0') pthread_cond_wait(&heard, &lock);
  say(text);
  pthread_mutex_unlock(&lock);
}

static void hears(pmix_rank_t rank) {
  pthread_mutex_lock(&lock);
  for (;;) {
    for (size_t i = 0; i < failed_count; ++i)
      if (failed[i] == rank) {
        pthread_mutex_unlock(&lock);
        return;
      }
    pthread_cond_wait(&heard, &lock);
  }
}

static void put(size_t bytes) {
  char* text = malloc(bytes);
  memset(text, 'c', bytes);
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = text;
  value.data.bo.size = bytes;
  require("PMIx_Put", PMIx_Put(PMIX_GLOBAL, "card", &value));
  require("PMIx_Commit", PMIx_Commit());
  free(text);
}

static void get(pmix_rank_t rank) {
  pmix_proc_t whose;
  pmix_value_t* value = NULL;
  PMIX_LOAD_PROCID(&whose, other, rank);
  require("PMIx_Get", PMIx_Get(&whose, "card", NULL, 0, &value));
  printf("got %zu\n", value->data.bo.size);
  fflush(stdout);
  PMIX_VALUE_RELEASE(value);
}

static void construct(const char* name) {
  pmix_proc_t procs[2];
  pmix_info_t how, *results = NULL;
  size_t count = 0;
  const bool yes = true;
  both(procs);
  if (strcmp(procs[0].nspace, procs[1].nspace) > 0) {
    const pmix_proc_t first = procs[0];
    procs[0] = procs[1];
    procs[1] = first;
  }
  listen_to(PMIX_GROUP_MEMBER_FAILED);
  PMIX_INFO_LOAD(&how, PMIX_GROUP_NOTIFY_TERMINATION, &yes, PMIX_BOOL);
  require("PMIx_Group_construct", PMIx_Group_construct(name, procs, 2, &how, 1, &results, &count));
  if (results != NULL) PMIX_INFO_FREE(results, count);
}

static void publish_names(int count) {
  for (int i = 0; i < count; ++i) {
    pmix_info_t info;
    char key[32];
    snprintf(key, sizeof key, "name-%d", i);
    PMIX_INFO_LOAD(&info, key, &i, PMIX_INT);
    require("PMIx_Publish", PMIx_Publish(&info, 1));
  }
}

static void find_names(int count) {
  for (int i = 0; i < count; ++i) {
    pmix_pdata_t found;
    PMIX_PDATA_CONSTRUCT(&found);
    snprintf(found.key, sizeof found.key, "name-%d", i);
    require("PMIx_Lookup", PMIx_Lookup(&found, 1, NULL, 0));
    if (found.value.type != PMIX_INT || found.value.data.integer != i) exit(1);
  }
  printf("finds %d\n", count);
  fflush(stdout);
}

static void peers(void) {
  pmix_proc_t* procs = NULL;
  size_t count = 0;
  require("PMIx_Resolve_peers", PMIx_Resolve_peers(NULL, NULL, &procs, &count));
  printf("peers %zu\n", count);
  fflush(stdout);
  PMIX_PROC_FREE(procs, count);
}

static void job_number(const char* key) {
  pmix_proc_t job;
  pmix_value_t* value = NULL;
  PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
  require(key, PMIx_Get(&job, key, NULL, 0, &value));
  printf("%s %u\n", key, value->data.uint32);
  fflush(stdout);
  PMIX_VALUE_RELEASE(value);
}

// True: the word is about what the next spawn asks for.
static int prepare(const char* word, const char* rest) {
  if (strcmp(word, "program") == 0) {
    const char* const path = strcmp(rest, "me") == 0 ? own_path : rest;
    program()->cmd = strdup(path);
    append(&program()->argv, path);
  } else if (strcmp(word, "arg") == 0) {
    append(&program()->argv, rest);
  } else if (strcmp(word, "ranks") == 0) {
    program()->maxprocs = atoi(rest);
  } else if (strcmp(word, "wdir") == 0) {
    program()->cwd = strdup(rest);
  } else if (strcmp(word, "env") == 0) {
    append(&program()->env, rest);
  } else if (strcmp(word, "more") == 0) {
    PMIX_APP_CONSTRUCT(&apps[app_count]);
    apps[app_count++].maxprocs = 1;
  } else if (strcmp(word, "text") == 0) {
    load(&infos[info_count++], rest, PMIX_STRING);
  } else if (strcmp(word, "flag") == 0) {
    load(&infos[info_count++], rest, PMIX_BOOL);
  } else if (strcmp(word, "number") == 0) {
    load(&infos[info_count++], rest, PMIX_UINT32);
  } else if (strcmp(word, "app_text") == 0) {
    pmix_app_t* const app = program();
    load(&app_infos[app_count - 1][app->ninfo++], rest, PMIX_STRING);
  } else if (strcmp(word, "required") == 0) {
    PMIX_INFO_REQUIRED(&infos[info_count - 1]);
  } else {
    return 0;
  }
  return 1;
}

static int call(const char* word, const char* rest) {
  pmix_proc_t procs[2];
  if (strcmp(word, "init") == 0) {
    require("PMIx_Init", PMIx_Init(&me, NULL, 0));
    find_parent(0);
  } else if (strcmp(word, "alone") == 0) {
    if (PMIx_Init(&me, NULL, 0) != PMIX_ERR_UNREACH) exit(1);
  } else if (strcmp(word, "tool") == 0) {
    pid_t pid = (pid_t)atoi(rest);
    pmix_info_t server;
    PMIX_INFO_LOAD(&server, PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
    require("PMIx_tool_init", PMIx_tool_init(&me, &server, 1));
    is_tool = 1;
  } else if (strcmp(word, "finalize") == 0) {
    require("finalize", is_tool ? PMIx_tool_finalize() : PMIx_Finalize(NULL, 0));
  } else if (strcmp(word, "spawn") == 0) {
    spawn(1);
  } else if (strcmp(word, "spawn_nb") == 0) {
    spawn(0);
  } else if (strcmp(word, "times") == 0) {
    repeats = atoi(rest);
  } else if (strcmp(word, "child") == 0) {
    snprintf(other, sizeof other, "%s.%s", me.nspace, rest);
  } else if (strcmp(word, "connect") == 0) {
    both(procs);
    require("PMIx_Connect", PMIx_Connect(procs, 2, NULL, 0));
  } else if (strcmp(word, "disconnect") == 0) {
    both(procs);
    require("PMIx_Disconnect", PMIx_Disconnect(procs, 2, NULL, 0));
  } else if (strcmp(word, "fence") == 0) {
    both(procs);
    require("PMIx_Fence", PMIx_Fence(procs, 2, NULL, 0));
  } else if (strcmp(word, "meet") == 0) {
    require("PMIx_Fence", PMIx_Fence(NULL, 0, NULL, 0));
  } else if (strcmp(word, "put") == 0) {
    put(strtoul(rest, NULL, 10));
  } else if (strcmp(word, "get") == 0) {
    get((pmix_rank_t)atoi(rest));
  } else if (strcmp(word, "group") == 0) {
    construct(rest);
  } else if (strcmp(word, "hears") == 0) {
    hears((pmix_rank_t)atoi(rest));
  } else if (strcmp(word, "names") == 0) {
    publish_names(atoi(rest));
  } else if (strcmp(word, "finds") == 0) {
    find_names(atoi(rest));
  } else if (strcmp(word, "peers") == 0) {
    peers();
  } else if (strcmp(word, "parent") == 0) {
    find_parent(1);
  } else if (strcmp(word, "job") == 0) {
    job_number(rest);
  } else if (strcmp(word, "ends") == 0) {
    listen_to(PMIX_EVENT_JOB_END);
    listen_to(PMIX_LAUNCH_COMPLETE);
  } else if (strcmp(word, "ended") == 0) {
    await_text(ended);
  } else if (strcmp(word, "launched") == 0) {
    await_text(launched);
  } else if (strcmp(word, "to") == 0) {
    control(rest);
  } else if (strcmp(word, "target") == 0) {
    PMIX_LOAD_PROCID(&target, other, (pmix_rank_t)atoi(rest));
    has_target = 1;
  } else if (strcmp(word, "own") == 0) {
    PMIX_LOAD_PROCID(&target, me.nspace, PMIX_RANK_WILDCARD);
    has_target = 1;
  } else if (strcmp(word, "abort") == 0) {
    PMIx_Abort(atoi(rest), "on demand", NULL, 0);
  } else {
    return 0;
  }
  return 1;
}

static void act(const char* word, const char* rest) {
  char folder[1024];
  if (strcmp(word, "say") == 0) {
    say(rest);
  } else if (strcmp(word, "handle") == 0) {
    signal(atoi(rest), on_signal);
  } else if (strcmp(word, "pid") == 0) {
    printf("pid %d\n", (int)getpid());
    fflush(stdout);
  } else if (strcmp(word, "value") == 0) {
    const char* const value = getenv(rest);
    printf("%s=%s\n", rest, value == NULL ? "" : value);
    fflush(stdout);
  } else if (strcmp(word, "where") == 0) {
    printf("where %s\n", getcwd(folder, sizeof folder));
    fflush(stdout);
  } else if (strcmp(word, "host") == 0) {
    gethostname(folder, sizeof folder);
    printf("host %s\n", folder);
    fflush(stdout);
  } else if (strcmp(word, "exit") == 0) {
    exit(atoi(rest));
  } else if (strcmp(word, "signal") == 0) {
    raise(atoi(rest));
  } else if (strcmp(word, "wait") == 0) {
    for (;;) pause();
  } else if (strcmp(word, "until") == 0) {
    while (access(rest, F_OK) != 0) usleep(5000);
  } else {
    fprintf(stderr, "spawn_client: what is '%s'?\n", word);
    exit(97);
  }
}

int main(int argc, char** argv) {
  own_path = argv[0];
  int skips = 0;
  for (int i = 1; i < argc; ++i) {
    char word[64];
    const char* const colon = strchr(argv[i], ':');
    snprintf(word, sizeof word, "%.*s", colon == NULL ? (int)strlen(argv[i]) : (int)(colon - argv[i]),
             argv[i]);
    const char* const rest = colon == NULL ? "" : colon + 1;
    if (strcmp(word, "only") == 0)
      skips = me.rank != (pmix_rank_t)atoi(rest);
    else if (strcmp(word, "all") == 0)
      skips = 0;
    else if (!skips && !prepare(word, rest) && !call(word, rest))
      act(word, rest);
  }
  return 0;
}
