// SPDX-License-Identifier: BSD-3-Clause
// A process or tool that pulls and pushes, for the tests of standard IO: iof_client WORD...; each word is one
// step. Lines go to the file of "log:", so that what the process prints is what was pulled.
//   init finalize            the calls of a client
//   tool:PID tool_finalize   of a tool, at the server of that process, when it is there
//   log:FILE                 where the lines below go; default: standard output
//   job:NAME                 the job that is meant: its namespace, or .N of the own one, or own
//   ranks:R,R,* clear        of that job, for the next calls; without: all
//   channels:out|err|both|in|none|N
//   flag:KEY number:KEY=N text:KEY=V   a directive of the next call
//   pull pull_printing       with a handler: lines "begin HANDLE" or "pull STATUS", then those of the
//   handler;
//                            without one
//   stop                     the last handle that was given: "stop STATUS"
//   stop:HANDLE
//   push:TEXT push_file:FILE push_end push_stdin   "push STATUS" of each that fails, of push_end, push_stdin
//   ends:N                   waits until N streams have ended; each prints "end RANK STREAM BYTES SUM"
//   got:N                    waits until N bytes have come in all
//   text                     prints "text RANK STREAM TEXT" of each stream that has come so far
//   counts                   the handler keeps no bytes: streams have a size and no text
//   deaf                     the handler does not come back from here on
//   fails                    waits for PMIX_ERR_IOF_FAILURE: "failed"
//   only:R all               the rest is for rank R; other ranks skip to the word "all"
//   program:CMD arg:WORD count:N spawn   PMIx_Spawn with the directives so far; its job is meant from then on
//   out:TEXT err:TEXT        writes it, \n for a new line; lines:N writes so many lines on both streams
//   fill:N                   writes N bytes without an end to the pattern
//   say:TEXT until:FILE touch:FILE sleep wait exit:N
#include <fcntl.h>
#include <pmix.h>
#include <pmix_tool.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most = 64, most_streams = 256 };

struct stream {
  pmix_proc_t source;
  pmix_iof_channel_t channel;
  size_t bytes, capacity;
  char* text;
  int has_ended;
};

static pmix_proc_t me, targets[most];
static size_t target_count;
static char nspace[PMIX_MAX_NSLEN + 1];
static pmix_iof_channel_t channels = PMIX_FWD_STDOUT_CHANNEL;
static pmix_info_t infos[most];
static size_t info_count, last_handle;
static FILE* lines;
static pmix_app_t app;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct stream streams[most_streams];
static size_t stream_count, ended_count, all_bytes;
static int is_deaf, has_failed, counts_only;

static void die(const char* what) {
  fprintf(stderr, "iof_client: %s\n", what);
  exit(99);
}

static void say(const char* what, pmix_status_t status) {
  fprintf(lines, "%s %s\n", what, PMIx_Error_string(status));
  fflush(lines);
}

static const char* name_of(pmix_iof_channel_t channel) {
  return channel == PMIX_FWD_STDOUT_CHANNEL ? "out" : channel == PMIX_FWD_STDERR_CHANNEL ? "err" : "?";
}

static struct stream* stream_of(const pmix_proc_t* source, pmix_iof_channel_t channel) {
  for (size_t i = 0; i < stream_count; ++i)
    if (streams[i].channel == channel && strcmp(streams[i].source.nspace, source->nspace) == 0 &&
        streams[i].source.rank == source->rank)
      return &streams[i];
  if (stream_count == most_streams) die("too many streams");
  struct stream* const stream = &streams[stream_count++];
  stream->source = *source;
  stream->channel = channel;
  return stream;
}

static unsigned long sum_of(const struct stream* stream) {
  unsigned long sum = 5381;
  for (size_t i = 0; i < stream->bytes && stream->text != NULL; ++i)
    sum = (sum * 33 + (unsigned char)stream->text[i]) & 0xffffffff;
  return sum;
}

static void on_output(size_t handle, pmix_iof_channel_t channel, pmix_proc_t* source,
                      pmix_byte_object_t* payload, pmix_info_t* given, size_t count) {
  (void)handle, (void)given, (void)count;
  pthread_mutex_lock(&lock);
  while (is_deaf) pthread_cond_wait(&changed, &lock);
  struct stream* const stream = stream_of(source, channel);
  const size_t size = payload == NULL ? 0 : payload->size;
  // Some programs take the bytes for a string.
  if (payload == NULL || payload->bytes == NULL || payload->bytes[size] != '\0') die("bytes without an end");
  if (stream->has_ended) {
    fprintf(lines, "after its end: %u %s %zu\n", source->rank, name_of(channel), size);
  } else if (size == 0) {
    stream->has_ended = 1;
    ++ended_count;
    fprintf(lines, "end %u %s %zu %lu\n", source->rank, name_of(channel), stream->bytes, sum_of(stream));
  } else if (counts_only) {
    stream->bytes += size;
    all_bytes += size;
  } else {
    if (stream->bytes + size + 1 > stream->capacity) {
      stream->capacity = 2 * (stream->bytes + size + 1);
      stream->text = realloc(stream->text, stream->capacity);
    }
    memcpy(stream->text + stream->bytes, payload->bytes, size);
    stream->bytes += size;
    stream->text[stream->bytes] = '\0';
    all_bytes += size;
  }
  fflush(lines);
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static void on_failure(size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t* given,
                       size_t count, pmix_info_t* results, size_t nresults,
                       pmix_event_notification_cbfunc_fn_t done, void* open) {
  (void)id, (void)code, (void)source, (void)given, (void)count, (void)results, (void)nresults;
  pthread_mutex_lock(&lock);
  has_failed = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, open);
}

static void await(size_t* counter, size_t value) {
  pthread_mutex_lock(&lock);
  while (*counter < value) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

static void hear_failures(void) {
  pmix_status_t code = PMIX_ERR_IOF_FAILURE;
  if (PMIx_Register_event_handler(&code, 1, NULL, 0, on_failure, NULL, NULL) < 0) die("no handler");
}

static void tool_init(const char* pid_text) {
  pid_t pid = (pid_t)atoi(pid_text);
  pmix_info_t server;
  PMIX_INFO_LOAD(&server, PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
  pmix_status_t status = PMIX_SUCCESS;
  // The server may be about to start.
  for (int tries = 0; tries < 3000 && (status = PMIx_tool_init(&me, &server, 1)) != PMIX_SUCCESS; ++tries)
    usleep(20000);
  if (status != PMIX_SUCCESS) die(PMIx_Error_string(status));
  hear_failures();
}

static void mean(const char* name) {
  if (strcmp(name, "own") == 0)
    PMIX_LOAD_NSPACE(nspace, me.nspace);
  else if (name[0] == '.')
    snprintf(nspace, sizeof nspace, "%s%s", me.nspace, name);
  else
    PMIX_LOAD_NSPACE(nspace, name);
  target_count = 0;
}

static void add_target(pmix_rank_t rank) {
  PMIX_LOAD_PROCID(&targets[target_count], nspace, rank);
  ++target_count;
}

static void add_ranks(char* list) {
  for (char* word = strtok(list, ","); word != NULL; word = strtok(NULL, ",")) {
    const pmix_rank_t rank =
        strcmp(word, "*") == 0 ? PMIX_RANK_WILDCARD : (pmix_rank_t)strtoul(word, NULL, 10);
    add_target(rank);
  }
}

static void need_targets(void) {
  if (target_count == 0) add_target(PMIX_RANK_WILDCARD);
}

static pmix_iof_channel_t channels_of(const char* word) {
  if (strcmp(word, "out") == 0) return PMIX_FWD_STDOUT_CHANNEL;
  if (strcmp(word, "err") == 0) return PMIX_FWD_STDERR_CHANNEL;
  if (strcmp(word, "both") == 0) return PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL;
  if (strcmp(word, "in") == 0) return PMIX_FWD_STDIN_CHANNEL;
  return (pmix_iof_channel_t)strtoul(word, NULL, 0);
}

static void add_info(const char* pair, pmix_data_type_t type) {
  char key[PMIX_MAX_KEYLEN + 1];
  const char* const equals = strchr(pair, '=');
  snprintf(key, sizeof key, "%.*s", equals == NULL ? (int)strlen(pair) : (int)(equals - pair), pair);
  const bool yes = true;
  const uint32_t number = equals == NULL ? 0 : (uint32_t)strtoul(equals + 1, NULL, 10);
  const void* const value = type == PMIX_STRING ? (const void*)(equals + 1)
                            : type == PMIX_BOOL ? (const void*)&yes
                                                : (const void*)&number;
  PMIX_INFO_LOAD(&infos[info_count], key, value, type);
  ++info_count;
}

static const pmix_info_t* directives(void) {
  return info_count == 0 ? NULL : infos;
}

static void pull(pmix_iof_cbfunc_t handler) {
  need_targets();
  const pmix_status_t status =
      PMIx_IOF_pull(targets, target_count, directives(), info_count, channels, handler, NULL, NULL);
  info_count = 0;
  if (status < 0) return say("pull", status);
  last_handle = (size_t)status;
  fprintf(lines, "begin %zu\n", last_handle);
  fflush(lines);
}

static void stop(size_t handle) {
  say("stop", PMIx_IOF_deregister(handle, directives(), info_count, NULL, NULL));
  info_count = 0;
}

static void push(const char* bytes, size_t size, int says) {
  need_targets();
  pmix_byte_object_t object = {(char*)bytes, size};
  const pmix_status_t status = PMIx_IOF_push(targets, target_count, bytes == NULL ? NULL : &object,
                                             directives(), info_count, NULL, NULL);
  info_count = 0;
  if (says || (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED))
    say("push", status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status);
}

static void push_file(const char* path) {
  static char bytes[40000];
  const int file = open(path, O_RDONLY);
  ssize_t n = 0;
  while ((n = read(file, bytes, sizeof bytes)) > 0) push(bytes, (size_t)n, 0);
  close(file);
}

static void spawn(void) {
  char child[PMIX_MAX_NSLEN + 1] = {0};
  const pmix_status_t status = PMIx_Spawn(directives(), info_count, &app, 1, child);
  info_count = 0;
  if (status != PMIX_SUCCESS) return say("spawn", status);
  mean(child);
}

static void add_word(const char* word) {
  size_t count = 0;
  while (app.argv != NULL && app.argv[count] != NULL) ++count;
  app.argv = realloc(app.argv, (count + 2) * sizeof *app.argv);
  app.argv[count] = strdup(word);
  app.argv[count + 1] = NULL;
}

static void print(int fd, const char* text) {
  char out[4096];
  size_t size = 0;
  for (; *text != '\0' && size < sizeof out; ++text) {
    const int is_break = text[0] == '\\' && text[1] == 'n';
    out[size++] = is_break ? '\n' : *text;
    text += is_break;
  }
  for (size_t at = 0; at < size;) {
    const ssize_t n = write(fd, out + at, size - at);
    if (n <= 0) die("cannot write");
    at += (size_t)n;
  }
}

static void print_lines(unsigned long count) {
  for (unsigned long i = 0; i < count; ++i)
    for (int fd = 1; fd <= 2; ++fd)
      dprintf(fd, "%s line %lu of rank %u\n", fd == 1 ? "out" : "err", i, me.rank);
}

static void fill(unsigned long count) {
  static char block[65536];
  for (size_t i = 0; i < sizeof block; ++i) block[i] = (char)('a' + i % 23);
  while (count > 0) {
    const ssize_t n = write(1, block, count < sizeof block ? count : sizeof block);
    if (n <= 0) die("cannot write");
    count -= (unsigned long)n;
  }
}

static void print_text(void) {
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < stream_count; ++i)
    fprintf(lines, "text %u %s %s\n", streams[i].source.rank, name_of(streams[i].channel),
            streams[i].text == NULL ? "" : streams[i].text);
  fflush(lines);
  pthread_mutex_unlock(&lock);
}

static const char* value_of(const char* word, const char* name) {
  const size_t length = strlen(name);
  return strncmp(word, name, length) == 0 && word[length] == ':' ? word + length + 1 : NULL;
}

static int step_of_io(char* word) {
  const char* value = NULL;
  if ((value = value_of(word, "job"))) return mean(value), 1;
  if ((value = value_of(word, "ranks"))) return add_ranks((char*)value), 1;
  if (strcmp(word, "clear") == 0) return target_count = 0, 1;
  if ((value = value_of(word, "channels"))) return channels = channels_of(value), 1;
  if ((value = value_of(word, "flag"))) return add_info(value, PMIX_BOOL), 1;
  if ((value = value_of(word, "number"))) return add_info(value, PMIX_UINT32), 1;
  if ((value = value_of(word, "text"))) return add_info(value, PMIX_STRING), 1;
  if (strcmp(word, "pull") == 0) return pull(on_output), 1;
  if (strcmp(word, "pull_printing") == 0) return pull(NULL), 1;
  if (strcmp(word, "stop") == 0) return stop(last_handle), 1;
  if ((value = value_of(word, "stop"))) return stop(strtoul(value, NULL, 10)), 1;
  if ((value = value_of(word, "push"))) return push(value, strlen(value), 0), 1;
  if ((value = value_of(word, "push_file"))) return push_file(value), 1;
  if (strcmp(word, "push_end") == 0) return push(NULL, 0, 1), 1;
  if (strcmp(word, "push_stdin") == 0) return add_info(PMIX_IOF_PUSH_STDIN, PMIX_BOOL), push(NULL, 0, 1), 1;
  if ((value = value_of(word, "ends"))) return await(&ended_count, strtoul(value, NULL, 10)), 1;
  if ((value = value_of(word, "got"))) return await(&all_bytes, strtoul(value, NULL, 10)), 1;
  if (strcmp(word, "text") == 0) return print_text(), 1;
  return 0;
}

static int step_of_others(char* word) {
  const char* value = NULL;
  if ((value = value_of(word, "program"))) return add_word(value), app.cmd = strdup(value), 1;
  if ((value = value_of(word, "arg"))) return add_word(value), 1;
  if ((value = value_of(word, "count"))) return app.maxprocs = atoi(value), 1;
  if (strcmp(word, "spawn") == 0) return spawn(), 1;
  if ((value = value_of(word, "out"))) return print(1, value), 1;
  if ((value = value_of(word, "err"))) return print(2, value), 1;
  if ((value = value_of(word, "lines"))) return print_lines(strtoul(value, NULL, 10)), 1;
  if ((value = value_of(word, "fill"))) return fill(strtoul(value, NULL, 10)), 1;
  if ((value = value_of(word, "say"))) return fprintf(lines, "%s\n", value), fflush(lines), 1;
  if ((value = value_of(word, "log"))) {
    lines = fopen(value, "a");
    return lines == NULL ? (die("no file"), 1) : 1;
  }
  if ((value = value_of(word, "until"))) {
    while (access(value, F_OK) != 0) usleep(2000);
    return 1;
  }
  if ((value = value_of(word, "touch"))) return close(open(value, O_WRONLY | O_CREAT, 0600)), 1;
  if (strcmp(word, "wait") == 0)
    while (1) pause();
  if ((value = value_of(word, "exit"))) exit(atoi(value));
  return 0;
}

static int step_of_life(char* word) {
  const char* value = NULL;
  if (strcmp(word, "init") == 0) {
    const pmix_status_t status = PMIx_Init(&me, NULL, 0);
    if (status != PMIX_SUCCESS) die(PMIx_Error_string(status));
    return hear_failures(), mean("own"), 1;
  }
  if ((value = value_of(word, "tool"))) return tool_init(value), 1;
  if (strcmp(word, "finalize") == 0) return PMIx_Finalize(NULL, 0), 1;
  if (strcmp(word, "tool_finalize") == 0) return PMIx_tool_finalize(), 1;
  if (strcmp(word, "counts") == 0) return counts_only = 1, 1;
  if (strcmp(word, "deaf") == 0) return is_deaf = 1, 1;
  if (strcmp(word, "hears") == 0) {
    pthread_mutex_lock(&lock);
    is_deaf = 0;
    pthread_cond_broadcast(&changed);
    return pthread_mutex_unlock(&lock), 1;
  }
  if (strcmp(word, "fails") != 0) return 0;
  pthread_mutex_lock(&lock);
  while (!has_failed) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  return fprintf(lines, "failed\n"), fflush(lines), 1;
}

int main(int argc, char** argv) {
  lines = stdout;
  PMIX_APP_CONSTRUCT(&app);
  app.maxprocs = 1;
  int skips = 0;
  for (int i = 1; i < argc; ++i) {
    char* const word = argv[i];
    const char* const rank = value_of(word, "only");
    if (rank != NULL) {
      skips = me.rank != (pmix_rank_t)strtoul(rank, NULL, 10);
    } else if (strcmp(word, "all") == 0) {
      skips = 0;
    } else if (!skips && !step_of_life(word) && !step_of_io(word) && !step_of_others(word)) {
      die(word);
    }
  }
  return 0;
}
