// SPDX-License-Identifier: BSD-3-Clause
// Processes that stop for a debugger, and debuggers: debug_client WORD...; each word is one step.
//   init finalize tool:PID   the calls; meet: a fence of the own job
//   stop                     where the job says so (PMIX_DEBUG_STOP_IN_APP), tells that it waits at "here",
//                            and waits for PMIX_DEBUGGER_RELEASE
//   say:TEXT exit:N wait     prints TEXT; ends; waits for its end
//   flag:KEY text:KEY=V ranks:KEY=0,2 number:KEY=N    an attribute of the job that is spawned; ranks: a list
//   off:KEY app_flag:KEY app_number:KEY=N  the same, false; of its latest program
//   program:N:WORDS          this program, as N processes with these words, which commas part
//   spawn                    prints "spawn STATUS"; the job that has come is the target
//   target:NSPACE own back   that is the target; the own job; the target before the last spawn
//   at                       makes the target that of the daemons that are spawned (PMIX_DEBUG_TARGET)
//   ready                    waits for PMIX_READY_FOR_DEBUG of the target, prints "ready BREAKPOINT"
//   release[:R]              raises PMIX_DEBUGGER_RELEASE for the target, or for rank R of it
//   resume                   PMIx_Job_control of the target
//   ended                    waits for the end of the target, prints "ended STATUS"
//   aimed                    makes what this daemon is for the target
//   table local              prints "table N" of the target's processes, "local N" of those of this node
//   stopped                  prints "stopped N": the processes of the target that the kernel has stopped
//   has:KEY support          prints "KEY no", or the type of its value; "support N" attributes of debuggers
#include <pmix_tool.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most = 16 };

static pmix_proc_t me;
static int is_tool;
static const char* own_path;
static char target[PMIX_MAX_NSLEN + 1], former[PMIX_MAX_NSLEN + 1];
static pmix_app_t apps[most];
static pmix_info_t infos[most], app_infos[most][most];
static size_t app_count, info_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t heard = PTHREAD_COND_INITIALIZER;
static int is_released;
static struct { char nspace[PMIX_MAX_NSLEN + 1], text[256]; } ready[most], ended[most];
static size_t ready_count, ended_count;

static void require(const char* what, pmix_status_t status) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return;
  fprintf(stderr, "debug_client: rank %u of %s: %s: %s\n", me.rank, me.nspace, what,
          PMIx_Error_string(status));
  exit(99);
}

static void on_event(size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t* event,
                     size_t count, pmix_info_t* results, size_t nresults,
                     pmix_event_notification_cbfunc_fn_t done, void* cookie) {
  (void)id, (void)source, (void)results, (void)nresults;
  const char *nspace = "", *breakpoint = "-", *status = "";
  for (size_t i = 0; i < count; ++i) {
    if (PMIX_CHECK_KEY(&event[i], PMIX_NSPACE)) nspace = event[i].value.data.string;
    if (PMIX_CHECK_KEY(&event[i], PMIX_BREAKPOINT)) breakpoint = event[i].value.data.string;
    if (PMIX_CHECK_KEY(&event[i], PMIX_JOB_TERM_STATUS))
      status = PMIx_Error_string(event[i].value.data.status);
  }
  pthread_mutex_lock(&lock);
  if (code == PMIX_DEBUGGER_RELEASE) {
    is_released = 1;
  } else if (code == PMIX_READY_FOR_DEBUG && ready_count < most) {
    snprintf(ready[ready_count].nspace, sizeof ready->nspace, "%s", nspace);
    snprintf(ready[ready_count++].text, sizeof ready->text, "ready %s", breakpoint);
  } else if (code == PMIX_EVENT_JOB_END && ended_count < most) {
    snprintf(ended[ended_count].nspace, sizeof ended->nspace, "%s", nspace);
    snprintf(ended[ended_count++].text, sizeof ended->text, "ended %s", status);
  }
  pthread_cond_broadcast(&heard);
  pthread_mutex_unlock(&lock);
  done(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, cookie);
}

static void listen_to(pmix_status_t code) {
  const pmix_status_t id = PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL);
  require("PMIx_Register_event_handler", id < 0 ? id : PMIX_SUCCESS);
}

static void await_target(int is_end) {
  pthread_mutex_lock(&lock);
  for (;;) {
    const size_t count = is_end ? ended_count : ready_count;
    for (size_t i = 0; i < count; ++i) {
      if (strcmp(is_end ? ended[i].nspace : ready[i].nspace, target) != 0) continue;
      printf("%s\n", is_end ? ended[i].text : ready[i].text), fflush(stdout);
      if (!is_end) ready[i].nspace[0] = '\0';
      pthread_mutex_unlock(&lock);
      return;
    }
    pthread_cond_wait(&heard, &lock);
  }
}

static void start(void) {
  listen_to(PMIX_READY_FOR_DEBUG);
  listen_to(PMIX_EVENT_JOB_END);
}

static int is_to_stop(void) {
  pmix_proc_t job;
  pmix_value_t* value = NULL;
  PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
  if (PMIx_Get(&job, PMIX_DEBUG_STOP_IN_APP, NULL, 0, &value) != PMIX_SUCCESS) return 0;
  int out = value->type == PMIX_BOOL ? value->data.flag : value->data.rank == me.rank;
  if (value->type == PMIX_DATA_ARRAY) {
    out = 0;
    const pmix_rank_t* const ranks = value->data.darray->array;
    for (size_t i = 0; i < value->data.darray->size; ++i) out |= ranks[i] == me.rank;
  }
  PMIX_VALUE_RELEASE(value);
  return out;
}

static void stop(void) {
  if (!is_to_stop()) return;
  pmix_info_t where;
  PMIX_INFO_LOAD(&where, PMIX_BREAKPOINT, "here", PMIX_STRING);
  listen_to(PMIX_DEBUGGER_RELEASE);
  require("PMIx_Notify_event",
          PMIx_Notify_event(PMIX_READY_FOR_DEBUG, &me, PMIX_RANGE_RM, &where, 1, NULL, NULL));
  PMIX_INFO_DESTRUCT(&where);
  pthread_mutex_lock(&lock);
  while (!is_released) pthread_cond_wait(&heard, &lock);
  pthread_mutex_unlock(&lock);
}

static void release(pmix_rank_t rank) {
  pmix_proc_t whom;
  pmix_info_t how[2];
  const bool yes = true;
  PMIX_LOAD_PROCID(&whom, target, rank);
  PMIX_INFO_LOAD(&how[0], PMIX_EVENT_CUSTOM_RANGE, &whom, PMIX_PROC);
  PMIX_INFO_LOAD(&how[1], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
  require("PMIx_Notify_event",
          PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &me, PMIX_RANGE_CUSTOM, how, 2, NULL, NULL));
  PMIX_INFO_DESTRUCT(&how[0]);
}

static void resume(void) {
  pmix_proc_t whom;
  pmix_info_t how, *results = NULL;
  size_t count = 0;
  const bool yes = true;
  PMIX_LOAD_PROCID(&whom, target, PMIX_RANK_WILDCARD);
  PMIX_INFO_LOAD(&how, PMIX_JOB_CTRL_RESUME, &yes, PMIX_BOOL);
  require("PMIx_Job_control", PMIx_Job_control(&whom, 1, &how, 1, &results, &count));
}

static int is_stopped(pid_t pid) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE* const file = fopen(path, "r");
  if (file == NULL) return 0;
  const char* const text = fgets(line, sizeof line, file);
  const char* const state = text == NULL ? NULL : strrchr(text, ')');
  fclose(file);
  return state != NULL && state[1] == ' ' && state[2] == 'T';
}

static void table(const char* key, const char* word) {
  pmix_query_t query;
  pmix_info_t* results = NULL;
  size_t count = 0;
  PMIX_QUERY_CONSTRUCT(&query);
  PMIX_ARGV_APPEND(count, query.keys, key);
  PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
  PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_NSPACE, target, PMIX_STRING);
  count = 0;
  require(key, PMIx_Query_info(&query, 1, &results, &count));
  const pmix_data_array_t* const rows = results[0].value.data.darray;
  size_t number = rows->size;
  if (strcmp(word, "stopped") == 0) {
    number = 0;
    for (size_t i = 0; i < rows->size; ++i)
      number += is_stopped(((pmix_proc_info_t*)rows->array)[i].pid) != 0;
  }
  printf("%s %zu\n", word, number), fflush(stdout);
  PMIX_INFO_FREE(results, count);
  PMIX_QUERY_DESTRUCT(&query);
}

static void support(void) {
  pmix_query_t query;
  pmix_info_t* results = NULL;
  size_t count = 0, commas = 0;
  PMIX_QUERY_CONSTRUCT(&query);
  PMIX_ARGV_APPEND(count, query.keys, PMIX_QUERY_DEBUG_SUPPORT);
  count = 0;
  require("PMIx_Query_info", PMIx_Query_info(&query, 1, &results, &count));
  for (const char* at = results[0].value.data.string; *at != '\0'; ++at) commas += *at == ',';
  printf("support %zu\n", commas + 1), fflush(stdout);
  PMIX_INFO_FREE(results, count);
  PMIX_QUERY_DESTRUCT(&query);
}

static void has(const char* key) {
  pmix_proc_t job;
  pmix_value_t* value = NULL;
  PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
  const pmix_status_t status = PMIx_Get(&job, key, NULL, 0, &value);
  printf("%s %s\n", key, status != PMIX_SUCCESS ? "no" : PMIx_Data_type_string(value->type)), fflush(stdout);
  if (status == PMIX_SUCCESS) PMIX_VALUE_RELEASE(value);
}

static void aim(void) {
  pmix_proc_t job;
  pmix_value_t* value = NULL;
  PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
  require(PMIX_DEBUG_TARGET, PMIx_Get(&job, PMIX_DEBUG_TARGET, NULL, 0, &value));
  snprintf(target, sizeof target, "%s", value->data.proc->nspace);
  PMIX_VALUE_RELEASE(value);
}

static void append(char*** list, const char* word) {
  size_t count = 0;
  while (*list != NULL && (*list)[count] != NULL) ++count;
  *list = realloc(*list, (count + 2) * sizeof **list);
  (*list)[count] = strdup(word);
  (*list)[count + 1] = NULL;
}

static void add_program(const char* rest) {
  pmix_app_t* const app = &apps[app_count++];
  char* const words = strdup(strchr(rest, ':') + 1);
  PMIX_APP_CONSTRUCT(app);
  app->maxprocs = atoi(rest);
  app->cmd = strdup(own_path);
  append(&app->argv, own_path);
  for (char* word = strtok(words, ","); word != NULL; word = strtok(NULL, ",")) append(&app->argv, word);
  free(words);
}

static void load(pmix_info_t* info, const char* word, const char* rest) {
  char key[PMIX_MAX_KEYLEN + 1];
  const char* equals = strchr(rest, '=');
  snprintf(key, sizeof key, "%.*s", equals == NULL ? (int)strlen(rest) : (int)(equals - rest), rest);
  const bool truth = strcmp(word, "off") != 0;
  const uint16_t number = equals == NULL ? 0 : (uint16_t)atoi(equals + 1);
  if (strstr(word, "number") != NULL) {
    PMIX_INFO_LOAD(info, key, &number, PMIX_UINT16);
  } else if (strcmp(word, "text") == 0) {
    PMIX_INFO_LOAD(info, key, equals + 1, PMIX_STRING);
  } else if (strcmp(word, "ranks") == 0) {
    pmix_data_array_t array;
    pmix_rank_t ranks[most];
    size_t count = 0;
    for (; equals != NULL && count < most; equals = strchr(equals + 1, ','))
      ranks[count++] = (pmix_rank_t)atoi(equals + 1);
    array.type = PMIX_PROC_RANK;
    array.size = count;
    array.array = ranks;
    PMIX_INFO_LOAD(info, key, &array, PMIX_DATA_ARRAY);
  } else {
    PMIX_INFO_LOAD(info, key, &truth, PMIX_BOOL);
  }
}

static void spawn(void) {
  pmix_nspace_t nspace = {0};
  for (size_t i = 0; i < app_count; ++i) apps[i].info = apps[i].ninfo == 0 ? NULL : app_infos[i];
  const pmix_status_t status =
      PMIx_Spawn(info_count == 0 ? NULL : infos, info_count, apps, app_count, nspace);
  printf("spawn %s\n", PMIx_Error_string(status)), fflush(stdout);
  memcpy(former, target, sizeof former);
  if (status == PMIX_SUCCESS) snprintf(target, sizeof target, "%s", nspace);
  for (size_t i = 0; i < info_count; ++i) PMIX_INFO_DESTRUCT(&infos[i]);
  for (size_t i = 0; i < app_count; ++i) {
    for (size_t k = 0; k < apps[i].ninfo; ++k) PMIX_INFO_DESTRUCT(&app_infos[i][k]);
    apps[i].info = NULL;
    apps[i].ninfo = 0;
    PMIX_APP_DESTRUCT(&apps[i]);
  }
  app_count = info_count = 0;
}

static void act(const char* word, const char* rest) {
  if (strcmp(word, "init") == 0) {
    require("PMIx_Init", PMIx_Init(&me, NULL, 0));
    start();
  } else if (strcmp(word, "tool") == 0) {
    pid_t pid = (pid_t)atoi(rest);
    pmix_info_t server;
    PMIX_INFO_LOAD(&server, PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
    require("PMIx_tool_init", PMIx_tool_init(&me, &server, 1));
    is_tool = 1;
    start();
  } else if (strcmp(word, "finalize") == 0) {
    require("finalize", is_tool ? PMIx_tool_finalize() : PMIx_Finalize(NULL, 0));
  } else if (strcmp(word, "meet") == 0) {
    require("PMIx_Fence", PMIx_Fence(NULL, 0, NULL, 0));
  } else if (strcmp(word, "stop") == 0) {
    stop();
  } else if (strcmp(word, "say") == 0) {
    printf("%s\n", rest), fflush(stdout);
  } else if (strcmp(word, "exit") == 0) {
    exit(atoi(rest));
  } else if (strcmp(word, "wait") == 0) {
    for (;;) pause();
  } else if (strcmp(word, "flag") == 0 || strcmp(word, "text") == 0 || strcmp(word, "ranks") == 0 ||
             strcmp(word, "number") == 0) {
    load(&infos[info_count++], word, rest);
  } else if (strcmp(word, "off") == 0 || strncmp(word, "app_", 4) == 0) {
    load(&app_infos[app_count - 1][apps[app_count - 1].ninfo++], word, rest);
  } else if (strcmp(word, "program") == 0) {
    add_program(rest);
  } else if (strcmp(word, "spawn") == 0) {
    spawn();
  } else if (strcmp(word, "target") == 0) {
    snprintf(target, sizeof target, "%s", rest);
  } else if (strcmp(word, "own") == 0) {
    snprintf(target, sizeof target, "%s", me.nspace);
  } else if (strcmp(word, "back") == 0) {
    memcpy(target, former, sizeof target);
  } else if (strcmp(word, "at") == 0) {
    pmix_proc_t whom;
    PMIX_LOAD_PROCID(&whom, target, rest[0] == '\0' ? PMIX_RANK_WILDCARD : (pmix_rank_t)atoi(rest));
    PMIX_INFO_LOAD(&infos[info_count++], PMIX_DEBUG_TARGET, &whom, PMIX_PROC);
  } else if (strcmp(word, "ready") == 0 || strcmp(word, "ended") == 0) {
    await_target(word[0] == 'e');
  } else if (strcmp(word, "release") == 0) {
    release(rest[0] == '\0' ? PMIX_RANK_WILDCARD : (pmix_rank_t)atoi(rest));
  } else if (strcmp(word, "resume") == 0) {
    resume();
  } else if (strcmp(word, "aimed") == 0) {
    aim();
  } else if (strcmp(word, "table") == 0 || strcmp(word, "stopped") == 0) {
    table(PMIX_QUERY_PROC_TABLE, word);
  } else if (strcmp(word, "local") == 0) {
    table(PMIX_QUERY_LOCAL_PROC_TABLE, word);
  } else if (strcmp(word, "has") == 0) {
    has(rest);
  } else if (strcmp(word, "support") == 0) {
    support();
  } else {
    fprintf(stderr, "debug_client: what is '%s'?\n", word);
    exit(97);
  }
}

int main(int argc, char** argv) {
  own_path = argv[0];
  for (int i = 1; i < argc; ++i) {
    char word[64];
    const char* const colon = strchr(argv[i], ':');
    snprintf(word, sizeof word, "%.*s", colon == NULL ? (int)strlen(argv[i]) : (int)(colon - argv[i]),
             argv[i]);
    act(word, colon == NULL ? "" : colon + 1);
  }
  return 0;
}
