// SPDX-License-Identifier: BSD-3-Clause
// A rank that makes each call which a host may have to serve, and prints "CALL STATUS".
#include <pmix.h>
#include <pmix_tool.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static pmix_proc_t me;

static void say(const char* call, pmix_status_t status) {
  printf("%s %s\n", call, PMIx_Error_string(status));
  fflush(stdout);
}

static void on_output(size_t id, pmix_iof_channel_t channel, pmix_proc_t* source, pmix_byte_object_t* payload,
                      pmix_info_t info[], size_t ninfo) {
  (void)id, (void)channel, (void)source, (void)payload, (void)info, (void)ninfo;
}

static void publish_and_spawn(void) {
  pmix_info_t card;
  PMIX_INFO_LOAD(&card, "a.key", "a value", PMIX_STRING);
  say("PMIx_Publish", PMIx_Publish(&card, 1));
  pmix_pdata_t found;
  PMIX_PDATA_CONSTRUCT(&found);
  PMIX_LOAD_KEY(found.key, "a.key");
  say("PMIx_Lookup", PMIx_Lookup(&found, 1, NULL, 0));
  PMIX_PDATA_DESTRUCT(&found);
  char key[] = "a.key";
  char* keys[] = {key, NULL};
  say("PMIx_Unpublish", PMIx_Unpublish(keys, NULL, 0));
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = strdup("true");
  app.maxprocs = 1;
  pmix_nspace_t spawned;
  say("PMIx_Spawn", PMIx_Spawn(NULL, 0, &app, 1, spawned));
  PMIX_APP_DESTRUCT(&app);
  PMIX_INFO_DESTRUCT(&card);
}

static void control_and_watch(void) {
  pmix_info_t* results = NULL;
  size_t count = 0;
  pmix_info_t info;
  uint64_t nodes = 1;
  PMIX_INFO_LOAD(&info, PMIX_ALLOC_NUM_NODES, &nodes, PMIX_UINT64);
  say("PMIx_Allocation_request", PMIx_Allocation_request(PMIX_ALLOC_NEW, &info, 1, &results, &count));
  int number = SIGURG;
  PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
  say("PMIx_Job_control", PMIx_Job_control(NULL, 0, &info, 1, &results, &count));
  PMIX_INFO_LOAD(&info, PMIX_MONITOR_HEARTBEAT, NULL, PMIX_POINTER);
  say("PMIx_Process_monitor", PMIx_Process_monitor(&info, PMIX_ERR_TIMEOUT, NULL, 0, &results, &count));
  char letters[] = "ab";
  pmix_byte_object_t credential = {letters, 2}, made = {NULL, 0};
  say("PMIx_Get_credential", PMIx_Get_credential(NULL, 0, &made));
  say("PMIx_Validate_credential", PMIx_Validate_credential(&made, NULL, 0, &results, &count));
  say("PMIx_IOF_pull", PMIx_IOF_pull(&me, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL, on_output, NULL, NULL));
  say("PMIx_IOF_push", PMIx_IOF_push(&me, 1, &credential, NULL, 0, NULL, NULL));
  pmix_fabric_t fabric;
  PMIX_FABRIC_CONSTRUCT(&fabric);
  say("PMIx_Fabric_register", PMIx_Fabric_register(&fabric, NULL, 0));
}

static void what_servers_do_themselves(void) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_LOG_STDERR, "a line\n", PMIX_STRING);
  say("PMIx_Log", PMIx_Log(&info, 1, NULL, 0));
  PMIX_INFO_DESTRUCT(&info);
  char key[] = PMIX_QUERY_NAMESPACES;
  char* keys[] = {key, NULL};
  pmix_query_t query;
  PMIX_QUERY_CONSTRUCT(&query);
  query.keys = keys;
  pmix_info_t* results = NULL;
  size_t count = 0;
  say("PMIx_Query_info", PMIx_Query_info(&query, 1, &results, &count));
  PMIX_INFO_FREE(results, count);
  say("PMIx_Fence", PMIx_Fence(NULL, 0, NULL, 0));
  say("PMIx_Connect", PMIx_Connect(&me, 1, NULL, 0));
  say("PMIx_Disconnect", PMIx_Disconnect(&me, 1, NULL, 0));
  say("PMIx_Group_construct", PMIx_Group_construct("a group", &me, 1, NULL, 0, &results, &count));
  PMIX_INFO_FREE(results, count);
  say("PMIx_Group_destruct", PMIx_Group_destruct("a group", NULL, 0));
}

int main(void) {
  if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) return 1;
  publish_and_spawn();
  control_and_watch();
  what_servers_do_themselves();
  return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
