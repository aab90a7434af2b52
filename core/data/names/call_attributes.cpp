// SPDX-License-Identifier: BSD-3-Clause
// The texts lie inside the rows, not behind pointers: nothing needs relocating when the library is loaded.
#include "core/data/names/call_attributes.hpp"

#include <algorithm>

#include "core/data/names/names.hpp"
#include "core/data/types/value.hpp"

namespace weft::data {
namespace {

// sorted by name; scripts/make_api_md reads the rows, too
constexpr CallAttributes calls[] = {
    {"PMIx_Allocation_request", in_client | in_tool, true, {}},
    {"PMIx_Compute_distances", in_all, false, {PMIX_DEVICE_TYPE, PMIX_DEVICE_ID}},
    {"PMIx_Connect", in_client, true, {"weft.grp.op"}},
    {"PMIx_Disconnect", in_client, true, {"weft.grp.op"}},
    {"PMIx_Fabric_register", in_client | in_tool, true, {}},
    {"PMIx_Fence",
     in_client,
     true,
     {PMIX_COLLECT_DATA, PMIX_COLLECT_GENERATED_JOB_INFO, PMIX_TIMEOUT, PMIX_GROUP_FT_COLLECTIVE,
      "weft.grp.op"}},
    {"PMIx_Finalize", in_client, false, {PMIX_EMBED_BARRIER}},
    {"PMIx_Forward_envars", in_server, false, {"weft.fwd.excl"}},
    {"PMIx_Get",
     in_all,
     false,
     {PMIX_OPTIONAL, PMIX_IMMEDIATE, PMIX_TIMEOUT, PMIX_DATA_SCOPE, PMIX_GET_REFRESH_CACHE,
      PMIX_GET_STATIC_VALUES, PMIX_GET_POINTER_VALUES, PMIX_SESSION_INFO, PMIX_JOB_INFO, PMIX_APP_INFO,
      PMIX_NODE_INFO, PMIX_SESSION_ID, PMIX_APPNUM, PMIX_NODEID, PMIX_HOSTNAME, "weft.get.wait",
      "weft.grp.op"}},
    {"PMIx_Get_credential", in_client | in_tool, true, {PMIX_CRED_TYPE, PMIX_TIMEOUT}},
    {"PMIx_Group_construct",
     in_client,
     true,
     {PMIX_TIMEOUT, PMIX_GROUP_OPTIONAL, PMIX_GROUP_NOTIFY_TERMINATION, PMIX_GROUP_ASSIGN_CONTEXT_ID,
      PMIX_GROUP_INFO, PMIX_GROUP_LOCAL_CID, PMIX_GROUP_ENDPT_DATA, PMIX_GROUP_LOCAL_ONLY, PMIX_GROUP_LEADER,
      PMIX_GROUP_FT_COLLECTIVE, PMIX_GROUP_BOOTSTRAP, PMIX_GROUP_ADD_MEMBERS, "weft.grp.each", "weft.grp.req",
      "weft.grp.depart", "weft.grp.op"}},
    {"PMIx_Group_destruct", in_client, true, {PMIX_TIMEOUT}},
    {"PMIx_Group_invite",
     in_client,
     false,
     {PMIX_TIMEOUT, PMIX_GROUP_OPTIONAL, PMIX_GROUP_NOTIFY_TERMINATION, PMIX_GROUP_ASSIGN_CONTEXT_ID,
      PMIX_GROUP_FT_COLLECTIVE, PMIX_GROUP_INFO, PMIX_GROUP_LOCAL_CID, PMIX_GROUP_ENDPT_DATA, "weft.grp.each",
      "weft.grp.depart", "weft.grp.op"}},
    {"PMIx_Group_join",
     in_client,
     false,
     {PMIX_TIMEOUT, PMIX_GROUP_INFO, PMIX_GROUP_LOCAL_CID, PMIX_GROUP_ENDPT_DATA}},
    {"PMIx_IOF_deregister", in_client | in_tool, true, {}},
    {"PMIx_IOF_pull",
     in_client | in_tool,
     true,
     {PMIX_IOF_CACHE_SIZE, PMIX_IOF_DROP_OLDEST, PMIX_IOF_DROP_NEWEST, PMIX_IOF_TAG_OUTPUT,
      PMIX_IOF_TAG_DETAILED_OUTPUT, PMIX_IOF_TAG_FULLNAME_OUTPUT, PMIX_IOF_RANK_OUTPUT,
      PMIX_IOF_TIMESTAMP_OUTPUT, PMIX_IOF_XML_OUTPUT, PMIX_IOF_MERGE_STDERR_STDOUT, PMIX_IOF_OUTPUT_TO_FILE,
      PMIX_IOF_FILE_PATTERN, PMIX_IOF_OUTPUT_TO_DIRECTORY, PMIX_IOF_FILE_ONLY, PMIX_IOF_BUFFERING_SIZE,
      PMIX_IOF_BUFFERING_TIME}},
    {"PMIx_IOF_push", in_client | in_tool, true, {PMIX_IOF_COMPLETE, PMIX_IOF_PUSH_STDIN}},
    {"PMIx_Init",
     in_client,
     false,
     {PMIX_PROGRAMMING_MODEL, PMIX_MODEL_LIBRARY_NAME, PMIX_MODEL_LIBRARY_VERSION, PMIX_THREADING_MODEL,
      PMIX_MODEL_NUM_THREADS, PMIX_MODEL_NUM_CPUS, PMIX_MODEL_CPU_TYPE, PMIX_MODEL_PHASE_NAME,
      PMIX_MODEL_PHASE_TYPE, PMIX_MODEL_AFFINITY_POLICY, PMIX_EXTERNAL_PROGRESS, PMIX_DEBUG_STOP_IN_INIT}},
    {"PMIx_Job_control",
     in_client | in_tool,
     true,
     {PMIX_REGISTER_CLEANUP, PMIX_REGISTER_CLEANUP_DIR, PMIX_CLEANUP_RECURSIVE, PMIX_CLEANUP_EMPTY,
      PMIX_CLEANUP_IGNORE, PMIX_CLEANUP_LEAVE_TOPDIR}},
    {"PMIx_Log",
     in_client | in_tool,
     true,
     {PMIX_LOG_STDERR, PMIX_LOG_STDOUT, PMIX_LOG_ONCE, PMIX_LOG_TAG_OUTPUT, PMIX_LOG_TIMESTAMP,
      PMIX_LOG_TIMESTAMP_OUTPUT, PMIX_LOG_GENERATE_TIMESTAMP, PMIX_LOG_XML_OUTPUT, PMIX_LOG_SYSLOG,
      PMIX_LOG_LOCAL_SYSLOG, PMIX_LOG_GLOBAL_SYSLOG, PMIX_LOG_SYSLOG_PRI}},
    {"PMIx_Lookup",
     in_client | in_tool,
     true,
     {PMIX_RANGE, PMIX_EVENT_CUSTOM_RANGE, PMIX_WAIT, PMIX_TIMEOUT}},
    {"PMIx_Notify_event",
     in_all,
     false,
     {PMIX_EVENT_NON_DEFAULT, PMIX_EVENT_CUSTOM_RANGE, PMIX_EVENT_AFFECTED_PROC, PMIX_EVENT_AFFECTED_PROCS,
      PMIX_EVENT_DO_NOT_CACHE, PMIX_EVENT_TIMESTAMP, "weft.grp.op"}},
    {"PMIx_Process_monitor",
     in_client | in_tool,
     true,
     {PMIX_MONITOR_HEARTBEAT, PMIX_MONITOR_HEARTBEAT_TIME, PMIX_MONITOR_HEARTBEAT_DROPS, PMIX_SEND_HEARTBEAT,
      PMIX_MONITOR_FILE, PMIX_MONITOR_FILE_SIZE, PMIX_MONITOR_FILE_ACCESS, PMIX_MONITOR_FILE_MODIFY,
      PMIX_MONITOR_FILE_CHECK_TIME, PMIX_MONITOR_FILE_DROPS, PMIX_MONITOR_ID, PMIX_MONITOR_CANCEL,
      PMIX_MONITOR_APP_CONTROL, PMIX_RANGE}},
    {"PMIx_Publish",
     in_client | in_tool,
     true,
     {PMIX_RANGE, PMIX_EVENT_CUSTOM_RANGE, PMIX_PERSISTENCE, PMIX_ACCESS_PERMISSIONS, PMIX_ACCESS_USERIDS,
      PMIX_ACCESS_GRPIDS, PMIX_TIMEOUT}},
    {"PMIx_Query_info",
     in_all,
     true,
     {PMIX_NSPACE,
      PMIX_RANK,
      PMIX_PROCID,
      PMIX_GROUP_ID,
      PMIX_PSET_NAME,
      PMIX_QUERY_LOCAL_ONLY,
      PMIX_QUERY_SUPPORTED_QUALIFIERS,
      PMIX_SESSION_INFO,
      PMIX_JOB_INFO,
      PMIX_APP_INFO,
      PMIX_NODE_INFO,
      PMIX_SESSION_ID,
      PMIX_APPNUM,
      PMIX_NODEID,
      PMIX_HOSTNAME,
      PMIX_CLIENT_FUNCTIONS,
      PMIX_SERVER_FUNCTIONS,
      PMIX_TOOL_FUNCTIONS,
      PMIX_HOST_FUNCTIONS,
      PMIX_CLIENT_ATTRIBUTES,
      PMIX_SERVER_ATTRIBUTES,
      PMIX_TOOL_ATTRIBUTES,
      PMIX_HOST_ATTRIBUTES}},
    {"PMIx_Register_event_handler",
     in_all,
     false,
     {PMIX_EVENT_HDLR_NAME, PMIX_EVENT_HDLR_FIRST, PMIX_EVENT_HDLR_LAST, PMIX_EVENT_HDLR_FIRST_IN_CATEGORY,
      PMIX_EVENT_HDLR_LAST_IN_CATEGORY, PMIX_EVENT_HDLR_BEFORE, PMIX_EVENT_HDLR_AFTER,
      PMIX_EVENT_HDLR_PREPEND, PMIX_EVENT_HDLR_APPEND, PMIX_EVENT_CUSTOM_RANGE, PMIX_EVENT_AFFECTED_PROC,
      PMIX_EVENT_AFFECTED_PROCS, PMIX_EVENT_RETURN_OBJECT, PMIX_EVENT_ONESHOT, PMIX_RANGE}},
    {"PMIx_Spawn", in_client | in_tool, true, {}},
    {"PMIx_Unpublish", in_client | in_tool, true, {PMIX_RANGE, PMIX_EVENT_CUSTOM_RANGE, PMIX_TIMEOUT}},
    {"PMIx_Validate_credential", in_client | in_tool, true, {PMIX_TIMEOUT}},
    {"PMIx_server_init",
     in_server,
     false,
     {PMIX_SERVER_NSPACE, PMIX_SERVER_RANK, PMIX_HOSTNAME, PMIX_NUM_NODES, PMIX_SERVER_TMPDIR,
      PMIX_SYSTEM_TMPDIR, PMIX_SERVER_TOOL_SUPPORT, PMIX_SERVER_SYSTEM_SUPPORT, PMIX_LAUNCHER_RENDEZVOUS_FILE,
      PMIX_EXTERNAL_PROGRESS, "weft.key", "weft.transport", "weft.contact", "weft.one_host",
      "weft.tells_ends", "weft.first_nodes", "weft.names_keeper"}},
    {"PMIx_server_setup_application",
     in_server,
     false,
     {PMIX_SETUP_APP_ENVARS, PMIX_SETUP_APP_NONENVARS, PMIX_SETUP_APP_ALL, PMIX_NODE_MAP, PMIX_PROC_MAP,
      PMIX_SET_ENVAR, PMIX_UNSET_ENVAR, PMIX_ADD_ENVAR, PMIX_PREPEND_ENVAR, PMIX_APPEND_ENVAR,
      PMIX_FIRST_ENVAR, PMIX_APP_INFO_ARRAY, PMIX_PARENT_ID}},
    {"PMIx_server_setup_local_support",
     in_server,
     false,
     {PMIX_SET_ENVAR, PMIX_UNSET_ENVAR, PMIX_ADD_ENVAR, PMIX_PREPEND_ENVAR, PMIX_APPEND_ENVAR,
      PMIX_FIRST_ENVAR, PMIX_APP_INFO_ARRAY, PMIX_NODEID, PMIX_TIMEOUT}},
    {"PMIx_tool_attach_to_server",
     in_tool,
     false,
     {PMIX_TOOL_ATTACHMENT_FILE, PMIX_SERVER_URI, PMIX_SERVER_PIDINFO, PMIX_SERVER_NSPACE,
      PMIX_CONNECT_TO_SYSTEM, PMIX_CONNECT_SYSTEM_FIRST, PMIX_CONNECT_MAX_RETRIES, PMIX_CONNECT_RETRY_DELAY,
      PMIX_PRIMARY_SERVER, PMIX_TIMEOUT, "weft.names_of"}},
    {"PMIx_tool_connect_to_server",
     in_tool,
     false,
     {PMIX_TOOL_ATTACHMENT_FILE, PMIX_SERVER_URI, PMIX_SERVER_PIDINFO, PMIX_SERVER_NSPACE,
      PMIX_CONNECT_TO_SYSTEM, PMIX_CONNECT_SYSTEM_FIRST, PMIX_CONNECT_MAX_RETRIES, PMIX_CONNECT_RETRY_DELAY,
      PMIX_PRIMARY_SERVER, PMIX_TIMEOUT}},
    {"PMIx_tool_init",
     in_tool,
     false,
     {PMIX_TOOL_ATTACHMENT_FILE, PMIX_SERVER_URI, PMIX_SERVER_PIDINFO, PMIX_SERVER_NSPACE,
      PMIX_CONNECT_TO_SYSTEM, PMIX_CONNECT_SYSTEM_FIRST, PMIX_CONNECT_MAX_RETRIES, PMIX_CONNECT_RETRY_DELAY,
      PMIX_TIMEOUT, PMIX_TOOL_NSPACE, PMIX_TOOL_RANK, PMIX_TOOL_DO_NOT_CONNECT, PMIX_TOOL_CONNECT_OPTIONAL,
      PMIX_EXTERNAL_PROGRESS, PMIX_LAUNCHER}},
    {"PMIx_tool_set_server", in_tool, false, {PMIX_WAIT_FOR_CONNECTION, PMIX_TIMEOUT}},
};

}  // namespace

std::size_t CallAttributes::size() const noexcept {
  const auto is_end = [](const auto& text) { return text[0] == '\0'; };
  return static_cast<std::size_t>(std::find_if(std::begin(attributes), std::end(attributes), is_end) -
                                  std::begin(attributes));
}

bool CallAttributes::understands(std::string_view attribute) const noexcept {
  return std::any_of(attributes, attributes + size(),
                     [&](const auto& known) { return std::string_view(known) == attribute; });
}

std::span<const CallAttributes> calls_with_attributes() noexcept {
  return calls;
}

const CallAttributes* attributes_of(std::string_view call) noexcept {
  if (call.ends_with("_nb")) call.remove_suffix(3);
  const auto* found = std::lower_bound(
      std::begin(calls), std::end(calls), call,
      [](const CallAttributes& row, std::string_view name) { return std::string_view(row.call) < name; });
  return found != std::end(calls) && found->call == call ? found : nullptr;
}

pmix_regattr_t description_of(const char* attribute) noexcept {
  const char* const of_name = attribute_key(attribute);
  const char* const key = of_name != nullptr ? of_name : attribute;
  pmix_regattr_t out{};
  out.name = const_cast<char*>(attribute_name(key));
  if (out.name == nullptr) out.name = const_cast<char*>(attribute);
  load_fixed(out.string, sizeof out.string, key);
  out.type = attribute_type(key);
  return out;
}

const pmix_info_t* first_not_understood(std::string_view call, const pmix_info_t* infos,
                                        std::size_t count) noexcept {
  const auto* known = attributes_of(call);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& info = infos[i];
    if ((info.flags & PMIX_INFO_REQD) == 0 || (info.flags & PMIX_INFO_QUALIFIER) != 0) continue;
    if (known == nullptr || !known->understands(key_of(info))) return &info;
  }
  return nullptr;
}

}  // namespace weft::data
