// SPDX-License-Identifier: BSD-3-Clause
//
// Types, constants and callback signatures of PMIx: what clients, servers and tools share.
//
// Values and layouts are those of 4.2.2 and may never change: programs have them compiled in. Names that
// later releases added are marked "after 4.2.2" and change no size or offset. Facts are checked by
// tests/abi/layout.c.
#ifndef PMIX_COMMON_H
#define PMIX_COMMON_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "pmix_version.h"

#if defined(__GNUC__)
#define PMIX_HAVE_VISIBILITY 1
#define PMIX_EXPORT          __attribute__((visibility("default")))
#else
#define PMIX_HAVE_VISIBILITY 0
#define PMIX_EXPORT
#endif

#if defined(__cplusplus)
extern "C" {
#endif

/* ---- Names and ranks ---- */

// Characters, without the terminating NUL.
#define PMIX_MAX_NSLEN  255
#define PMIX_MAX_KEYLEN 511

typedef char pmix_nspace_t[PMIX_MAX_NSLEN + 1];
typedef char pmix_key_t[PMIX_MAX_KEYLEN + 1];

// Ranks count from 0 within a namespace and stay below PMIX_RANK_VALID.
typedef uint32_t pmix_rank_t;
#define PMIX_RANK_UNDEF       UINT32_MAX        // not known
#define PMIX_RANK_WILDCARD    (UINT32_MAX - 1)  // every rank; the job itself
#define PMIX_RANK_LOCAL_NODE  (UINT32_MAX - 2)  // every rank on the caller's node
#define PMIX_RANK_INVALID     (UINT32_MAX - 3)  // no rank at all
#define PMIX_RANK_LOCAL_PEERS (UINT32_MAX - 4)  // the ranks of the caller's own job on its node
#define PMIX_RANK_VALID       (UINT32_MAX - 50)

#define PMIX_APP_WILDCARD UINT32_MAX

typedef struct pmix_proc {
  pmix_nspace_t nspace;
  pmix_rank_t rank;
} pmix_proc_t;
#define PMIX_PROC_STATIC_INIT \
  { {0}, PMIX_RANK_UNDEF }

/* ---- States of processes and jobs ---- */

// Below UNTERMINATED the process lives, up to ERROR it has ended well, from ERROR on it has not.
typedef uint8_t pmix_proc_state_t;
#define PMIX_PROC_STATE_UNDEF                 0
#define PMIX_PROC_STATE_PREPPED               1
#define PMIX_PROC_STATE_LAUNCH_UNDERWAY       2
#define PMIX_PROC_STATE_RESTART               3
#define PMIX_PROC_STATE_TERMINATE             4
#define PMIX_PROC_STATE_RUNNING               5
#define PMIX_PROC_STATE_CONNECTED             6
#define PMIX_PROC_STATE_UNTERMINATED          15
#define PMIX_PROC_STATE_TERMINATED            20
#define PMIX_PROC_STATE_ERROR                 50
#define PMIX_PROC_STATE_KILLED_BY_CMD         51
#define PMIX_PROC_STATE_ABORTED               52
#define PMIX_PROC_STATE_FAILED_TO_START       53
#define PMIX_PROC_STATE_ABORTED_BY_SIG        54
#define PMIX_PROC_STATE_TERM_WO_SYNC          55
#define PMIX_PROC_STATE_COMM_FAILED           56
#define PMIX_PROC_STATE_SENSOR_BOUND_EXCEEDED 57
#define PMIX_PROC_STATE_CALLED_ABORT          58
#define PMIX_PROC_STATE_HEARTBEAT_FAILED      59
#define PMIX_PROC_STATE_MIGRATING             60
#define PMIX_PROC_STATE_CANNOT_RESTART        61
#define PMIX_PROC_STATE_TERM_NON_ZERO         62
#define PMIX_PROC_STATE_FAILED_TO_LAUNCH      63

typedef uint8_t pmix_job_state_t;
#define PMIX_JOB_STATE_UNDEF                 0
#define PMIX_JOB_STATE_AWAITING_ALLOC        1
#define PMIX_JOB_STATE_LAUNCH_UNDERWAY       2
#define PMIX_JOB_STATE_RUNNING               3
#define PMIX_JOB_STATE_SUSPENDED             4
#define PMIX_JOB_STATE_CONNECTED             5
#define PMIX_JOB_STATE_UNTERMINATED          15
#define PMIX_JOB_STATE_TERMINATED            20
#define PMIX_JOB_STATE_TERMINATED_WITH_ERROR 50

/* ---- Status codes ----
 * 0 or, for two outcomes that are no error, negative numbers; errors; events, which handlers register for.
 * Everything down to PMIX_EXTERNAL_ERR_BASE is reserved; below it programs may define their own.
 */
typedef int pmix_status_t;

#define PMIX_SUCCESS               0
#define PMIX_OPERATION_IN_PROGRESS (-156)  // going on; no error
#define PMIX_OPERATION_SUCCEEDED   (-157)  // done already; no callback will come

// Errors of calls
#define PMIX_ERROR                              (-1)    // no better word for it
#define PMIX_ERR_INIT                           (-31)   // not initialized, or initialization failed
#define PMIX_ERR_BAD_PARAM                      (-27)   // an argument is wrong
#define PMIX_ERR_NOT_SUPPORTED                  (-47)   // this library or host cannot do it
#define PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED      (-59)   // the attribute is known, its value is not
#define PMIX_ERR_INVALID_OPERATION              (-158)  // cannot be done now or by this caller
#define PMIX_ERR_NOT_FOUND                      (-46)   // no such key, process, namespace, ...
#define PMIX_ERR_EXISTS                         (-11)   // is there already
#define PMIX_ERR_EXISTS_OUTSIDE_SCOPE           (-62)   // the key exists, but not in the scope asked for
#define PMIX_ERR_EMPTY                          (-60)   // nothing in it
#define PMIX_ERR_DUPLICATE_KEY                  (-53)   // the key was given before
#define PMIX_ERR_PARTIAL_SUCCESS                (-52)   // some of it was done
#define PMIX_ERR_TIMEOUT                        (-24)   // the caller's time was up
#define PMIX_ERR_WOULD_BLOCK                    (-15)   // a callback is needed here
#define PMIX_ERR_RESOURCE_BUSY                  (-28)   // in use by others
#define PMIX_ERR_OUT_OF_RESOURCE                (-29)   // a limit is reached
#define PMIX_ERR_NOMEM                          (-32)   // no memory left
#define PMIX_ERR_NO_PERMISSIONS                 (-23)   // the caller may not
#define PMIX_ERR_INVALID_CRED                   (-12)   // the credential is not good
#define PMIX_ERR_UNREACH                        (-25)   // no server, or no way to the process
#define PMIX_ERR_COMM_FAILURE                   (-49)   // communication failed
#define PMIX_ERR_LOST_CONNECTION                (-61)   // the other side went away
#define PMIX_ERR_EVENT_REGISTRATION             (-144)  // the handler could not be registered
#define PMIX_ERR_REPEAT_ATTR_REGISTRATION       (-171)  // attributes of that function are registered already
#define PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES (-51)   // clean-up requests contradict each other
#define PMIX_ERR_NOT_A_MEMBER                   (-66)   // not in that group; after 4.2.2

// Errors of data
#define PMIX_ERR_UNKNOWN_DATA_TYPE              (-16)   // no such type
#define PMIX_ERR_TYPE_MISMATCH                  (-18)   // another type than expected
#define PMIX_ERR_PACK_FAILURE                   (-21)   // the object could not be packed
#define PMIX_ERR_UNPACK_FAILURE                 (-20)   // the bytes make no such object
#define PMIX_ERR_UNPACK_INADEQUATE_SPACE        (-19)   // more objects than there is room for
#define PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER (-50)   // the buffer ends before the object does
#define PMIX_ERR_LOST_PRECISION                 (-202)  // the number does not fit the type; after 4.2.2
#define PMIX_ERR_CHANGE_SIGN                    (-203)  // a negative number for an unsigned type; after 4.2.2

// Forwarding of input and output
#define PMIX_ERR_IOF_FAILURE  (-172)  // bytes could not be delivered
#define PMIX_ERR_IOF_COMPLETE (-173)  // the stream has ended
#define PMIX_ERR_IOF_XOFF     (-405)  // the receiver wants a pause; after 4.2.2

// A job failed
#define PMIX_ERR_JOB_APP_NOT_EXECUTABLE     (-177)
#define PMIX_ERR_JOB_NO_EXE_SPECIFIED       (-178)
#define PMIX_ERR_JOB_EXE_NOT_FOUND          (-190)
#define PMIX_ERR_JOB_WDIR_NOT_FOUND         (-233)
#define PMIX_ERR_JOB_FAILED_TO_MAP          (-179)  // no places for its processes
#define PMIX_ERR_JOB_FAILED_TO_LAUNCH       (-181)
#define PMIX_ERR_JOB_INSUFFICIENT_RESOURCES (-234)
#define PMIX_ERR_JOB_ALLOC_FAILED           (-188)
#define PMIX_ERR_JOB_SYS_OP_FAILED          (-235)  // a system call failed
#define PMIX_ERR_JOB_CANCELED               (-180)
#define PMIX_ERR_JOB_ABORTED                (-182)  // a process called PMIx_Abort
#define PMIX_ERR_JOB_KILLED_BY_CMD          (-183)  // a command ended it
#define PMIX_ERR_JOB_ABORTED_BY_SIG         (-184)  // a process died of a signal
#define PMIX_ERR_JOB_ABORTED_BY_SYS_EVENT   (-189)
#define PMIX_ERR_JOB_TERM_WO_SYNC           (-185)  // a process left without PMIx_Finalize
#define PMIX_ERR_JOB_NON_ZERO_TERM          (-187)  // a process ended with another status than 0
#define PMIX_ERR_JOB_SENSOR_BOUND_EXCEEDED  (-186)

// A process failed
#define PMIX_ERR_PROC_RESTART               (-4)
#define PMIX_ERR_PROC_CHECKPOINT            (-5)
#define PMIX_ERR_PROC_MIGRATE               (-6)
#define PMIX_ERR_PROC_REQUESTED_ABORT       (-8)
#define PMIX_ERR_PROC_FAILED_TO_START       (-401)
#define PMIX_ERR_PROC_KILLED_BY_CMD         (-400)
#define PMIX_ERR_PROC_ABORTED_BY_SIG        (-402)
#define PMIX_ERR_PROC_TERM_WO_SYNC          (-200)
#define PMIX_ERR_PROC_SENSOR_BOUND_EXCEEDED (-403)
#define PMIX_ERR_EXIT_NONZERO_TERM          (-404)
#define PMIX_ERR_DVM_MOD                    (-196)  // the set of daemons could not be changed; after 4.2.2

// Events of jobs, processes and process sets
#define PMIX_LAUNCHER_READY        (-155)
#define PMIX_LAUNCH_COMPLETE       (-174)
#define PMIX_EVENT_JOB_START       (-191)
#define PMIX_EVENT_JOB_END         (-145)
#define PMIX_EVENT_SESSION_START   (-192)
#define PMIX_EVENT_SESSION_END     (-193)
#define PMIX_EVENT_PROC_TERMINATED (-201)
#define PMIX_PROC_TERMINATED       (-111)  // the older name, with a code of its own
#define PMIX_PROCESS_SET_DEFINE    (-55)
#define PMIX_PROCESS_SET_DELETE    (-56)
#define PMIX_ALLOC_TIMEOUT_WARNING (-194)  // the allocation is about to run out; after 4.2.2
#define PMIX_DVM_IS_READY          (-195)  // the daemons are up; after 4.2.2

// Events of debuggers, job control and monitoring
#define PMIX_DEBUGGER_RELEASE          (-3)    // the debugger lets the process go on
#define PMIX_READY_FOR_DEBUG           (-58)   // the process waits for its debugger
#define PMIX_QUERY_PARTIAL_SUCCESS     (-104)  // some of the keys were found
#define PMIX_JCTRL_CHECKPOINT          (-106)
#define PMIX_JCTRL_CHECKPOINT_COMPLETE (-107)
#define PMIX_JCTRL_PREEMPT_ALERT       (-108)  // the job is about to be preempted
#define PMIX_MONITOR_HEARTBEAT_ALERT   (-109)  // a heartbeat did not come
#define PMIX_MONITOR_FILE_ALERT        (-110)  // a file did not change in time
#define PMIX_MONITOR_RESUSAGE_UPDATE   (-114)  // after 4.2.2

// Events of programming models
#define PMIX_MODEL_DECLARED          (-147)
#define PMIX_MODEL_RESOURCES         (-151)
#define PMIX_OPENMP_PARALLEL_ENTERED (-152)
#define PMIX_OPENMP_PARALLEL_EXITED  (-153)

// Events of groups
#define PMIX_GROUP_INVITED             (-159)
#define PMIX_GROUP_INVITE_ACCEPTED     (-161)
#define PMIX_GROUP_INVITE_DECLINED     (-162)
#define PMIX_GROUP_INVITE_FAILED       (-163)
#define PMIX_GROUP_CONSTRUCT_ABORT     (-165)
#define PMIX_GROUP_CONSTRUCT_COMPLETE  (-166)
#define PMIX_GROUP_MEMBERSHIP_UPDATE   (-164)
#define PMIX_GROUP_LEADER_SELECTED     (-167)
#define PMIX_GROUP_LEADER_FAILED       (-168)
#define PMIX_GROUP_MEMBER_FAILED       (-170)
#define PMIX_GROUP_CONTEXT_ID_ASSIGNED (-169)
#define PMIX_GROUP_LEFT                (-160)

// Events of fabrics
#define PMIX_FABRIC_UPDATED          (-175)
#define PMIX_FABRIC_UPDATE_PENDING   (-176)
#define PMIX_FABRIC_UPDATE_ENDPOINTS (-113)

// Events of the system; see PMIX_SYSTEM_EVENT
#define PMIX_EVENT_SYS_BASE     (-230)
#define PMIX_EVENT_NODE_DOWN    (-231)
#define PMIX_EVENT_NODE_OFFLINE (-232)
#define PMIX_EVENT_SYS_OTHER    (-330)

// The actions that an event handler may say it took
#define PMIX_EVENT_NO_ACTION_TAKEN      (-331)
#define PMIX_EVENT_PARTIAL_ACTION_TAKEN (-332)
#define PMIX_EVENT_ACTION_DEFERRED      (-333)
#define PMIX_EVENT_ACTION_COMPLETE      (-334)  // handled; no further handler runs

// The first status that programs may define is one less
#define PMIX_EXTERNAL_ERR_BASE (-3000)

/* ---- Data types ---- */

typedef uint16_t pmix_data_type_t;
#define PMIX_UNDEF                  0  // no value
#define PMIX_BOOL                   1  // bool
#define PMIX_BYTE                   2  // uint8_t
#define PMIX_STRING                 3  // char*
#define PMIX_SIZE                   4  // size_t
#define PMIX_PID                    5  // pid_t
#define PMIX_INT                    6  // int
#define PMIX_INT8                   7
#define PMIX_INT16                  8
#define PMIX_INT32                  9
#define PMIX_INT64                  10
#define PMIX_UINT                   11  // unsigned int
#define PMIX_UINT8                  12
#define PMIX_UINT16                 13
#define PMIX_UINT32                 14
#define PMIX_UINT64                 15
#define PMIX_FLOAT                  16   // float
#define PMIX_DOUBLE                 17   // double
#define PMIX_TIMEVAL                18   // struct timeval
#define PMIX_TIME                   19   // time_t
#define PMIX_STATUS                 20   // pmix_status_t
#define PMIX_VALUE                  21   // pmix_value_t
#define PMIX_PROC                   22   // pmix_proc_t
#define PMIX_APP                    23   // pmix_app_t
#define PMIX_INFO                   24   // pmix_info_t
#define PMIX_PDATA                  25   // pmix_pdata_t
#define PMIX_BYTE_OBJECT            27   // pmix_byte_object_t
#define PMIX_KVAL                   28   // a library's own type
#define PMIX_PERSIST                30   // pmix_persistence_t
#define PMIX_POINTER                31   // void*
#define PMIX_SCOPE                  32   // pmix_scope_t
#define PMIX_DATA_RANGE             33   // pmix_data_range_t
#define PMIX_COMMAND                34   // a library's own type
#define PMIX_INFO_DIRECTIVES        35   // pmix_info_directives_t
#define PMIX_DATA_TYPE              36   // pmix_data_type_t
#define PMIX_PROC_STATE             37   // pmix_proc_state_t
#define PMIX_PROC_INFO              38   // pmix_proc_info_t
#define PMIX_DATA_ARRAY             39   // pmix_data_array_t
#define PMIX_PROC_RANK              40   // pmix_rank_t
#define PMIX_QUERY                  41   // pmix_query_t
#define PMIX_COMPRESSED_STRING      42   // pmix_byte_object_t
#define PMIX_ALLOC_DIRECTIVE        43   // pmix_alloc_directive_t
#define PMIX_IOF_CHANNEL            45   // pmix_iof_channel_t
#define PMIX_ENVAR                  46   // pmix_envar_t
#define PMIX_COORD                  47   // pmix_coord_t
#define PMIX_REGATTR                48   // pmix_regattr_t
#define PMIX_REGEX                  49   // pmix_byte_object_t
#define PMIX_JOB_STATE              50   // pmix_job_state_t
#define PMIX_LINK_STATE             51   // pmix_link_state_t
#define PMIX_PROC_CPUSET            52   // pmix_cpuset_t
#define PMIX_GEOMETRY               53   // pmix_geometry_t
#define PMIX_DEVICE_DIST            54   // pmix_device_distance_t
#define PMIX_ENDPOINT               55   // pmix_endpoint_t
#define PMIX_TOPO                   56   // pmix_topology_t
#define PMIX_DEVTYPE                57   // pmix_device_type_t
#define PMIX_LOCTYPE                58   // pmix_locality_t
#define PMIX_COMPRESSED_BYTE_OBJECT 59   // pmix_byte_object_t
#define PMIX_PROC_NSPACE            60   // pmix_nspace_t
#define PMIX_PROC_STATS             61   // pmix_proc_stats_t
#define PMIX_DISK_STATS             62   // pmix_disk_stats_t
#define PMIX_NET_STATS              63   // pmix_net_stats_t
#define PMIX_NODE_STATS             64   // pmix_node_stats_t
#define PMIX_DATA_BUFFER            65   // pmix_data_buffer_t
#define PMIX_STOR_MEDIUM            66   // pmix_storage_medium_t
#define PMIX_STOR_ACCESS            67   // pmix_storage_accessibility_t
#define PMIX_STOR_PERSIST           68   // pmix_storage_persistence_t
#define PMIX_STOR_ACCESS_TYPE       69   // pmix_storage_access_type_t
#define PMIX_DEVICE                 70   // pmix_device_t; after 4.2.2
#define PMIX_RESBLOCK_DIRECTIVE     71   // pmix_resource_block_directive_t; after 4.2.2
#define PMIX_RESOURCE_UNIT          72   // pmix_resource_unit_t; after 4.2.2
#define PMIX_NODE_PID               73   // pmix_node_pid_t; after 4.2.2
#define PMIX_REGEX2                 74   // pmix_regex2_t; after 4.2.2
#define PMIX_ALLOC_INHERIT          75   // pmix_alloc_inheritance_t; after 4.2.2
#define PMIX_DATA_TYPE_MAX          500  // types of a program's own start here

/* ---- Small enumerations, by size of the type ---- */

// The processes that see what PMIx_Put stores. PMIX_INTERNAL stays inside the process; the DEL_ forms delete.
typedef uint8_t pmix_scope_t;
#define PMIX_SCOPE_UNDEF  0
#define PMIX_LOCAL        1
#define PMIX_REMOTE       2
#define PMIX_GLOBAL       3
#define PMIX_INTERNAL     4
#define PMIX_DEL_LOCAL    5  // after 4.2.2
#define PMIX_DEL_REMOTE   6  // after 4.2.2
#define PMIX_DEL_GLOBAL   7  // after 4.2.2
#define PMIX_DEL_INTERNAL 8  // after 4.2.2

// The processes that may see what is published or notified.
typedef uint8_t pmix_data_range_t;
#define PMIX_RANGE_UNDEF      0
#define PMIX_RANGE_RM         1
#define PMIX_RANGE_LOCAL      2
#define PMIX_RANGE_NAMESPACE  3
#define PMIX_RANGE_SESSION    4
#define PMIX_RANGE_GLOBAL     5
#define PMIX_RANGE_CUSTOM     6
#define PMIX_RANGE_PROC_LOCAL 7
#define PMIX_RANGE_INVALID    255

// How long published data stays.
typedef uint8_t pmix_persistence_t;
#define PMIX_PERSIST_INDEF      0
#define PMIX_PERSIST_FIRST_READ 1
#define PMIX_PERSIST_PROC       2
#define PMIX_PERSIST_APP        3
#define PMIX_PERSIST_SESSION    4
#define PMIX_PERSIST_INVALID    255

typedef uint8_t pmix_alloc_directive_t;
#define PMIX_ALLOC_NEW        1
#define PMIX_ALLOC_EXTEND     2
#define PMIX_ALLOC_RELEASE    3
#define PMIX_ALLOC_REAQUIRE   4
#define PMIX_ALLOC_EXTERNAL   128
#define PMIX_ALLOC_REQ_CANCEL 5  // after 4.2.2

// The fate of an allocation when its owner ends. After 4.2.2.
typedef uint8_t pmix_alloc_inheritance_t;
#define PMIX_ALLOC_INHERIT_NONE          1  // after 4.2.2
#define PMIX_ALLOC_INHERIT_CHILD         2  // after 4.2.2
#define PMIX_ALLOC_INHERIT_DEFAULT       3  // after 4.2.2
#define PMIX_ALLOC_INHERIT_CHILD_DEFAULT 4  // after 4.2.2

// The actions on a named block of resources. After 4.2.2.
typedef uint8_t pmix_resource_block_directive_t;
#define PMIX_RESOURCE_BLOCK_DEFINE   1    // after 4.2.2
#define PMIX_RESOURCE_BLOCK_EXTEND   2    // after 4.2.2
#define PMIX_RESOURCE_BLOCK_REMOVE   3    // after 4.2.2
#define PMIX_RESOURCE_BLOCK_DELETE   4    // after 4.2.2
#define PMIX_RESOURCE_BLOCK_EXTERNAL 128  // after 4.2.2

typedef uint8_t pmix_coord_view_t;
#define PMIX_COORD_VIEW_UNDEF    0
#define PMIX_COORD_LOGICAL_VIEW  1
#define PMIX_COORD_PHYSICAL_VIEW 2

typedef uint8_t pmix_link_state_t;
#define PMIX_LINK_STATE_UNKNOWN 0
#define PMIX_LINK_DOWN          1
#define PMIX_LINK_UP            2

// Whose binding PMIx_Get_cpuset reports.
typedef uint8_t pmix_bind_envelope_t;
#define PMIX_CPUBIND_PROCESS 0
#define PMIX_CPUBIND_THREAD  1

/* ---- Bit masks ---- */

// The upper half belongs to the library's own use.
typedef uint32_t pmix_info_directives_t;
#define PMIX_INFO_REQD           0x0001
#define PMIX_INFO_ARRAY_END      0x0002
#define PMIX_INFO_REQD_PROCESSED 0x0004
#define PMIX_INFO_QUALIFIER      0x0008
#define PMIX_INFO_PERSISTENT     0x0010
#define PMIX_INFO_DIR_RESERVED   0xffff0000u

typedef uint16_t pmix_iof_channel_t;
#define PMIX_FWD_NO_CHANNELS     0x0000
#define PMIX_FWD_STDIN_CHANNEL   0x0001
#define PMIX_FWD_STDOUT_CHANNEL  0x0002
#define PMIX_FWD_STDERR_CHANNEL  0x0004
#define PMIX_FWD_STDDIAG_CHANNEL 0x0008
#define PMIX_FWD_ALL_CHANNELS    0x00ff

// The levels of the machine that two processes share.
typedef uint16_t pmix_locality_t;
#define PMIX_LOCALITY_UNKNOWN        0x0000
#define PMIX_LOCALITY_NONLOCAL       0x8000
#define PMIX_LOCALITY_SHARE_HWTHREAD 0x0001
#define PMIX_LOCALITY_SHARE_CORE     0x0002
#define PMIX_LOCALITY_SHARE_L1CACHE  0x0004
#define PMIX_LOCALITY_SHARE_L2CACHE  0x0008
#define PMIX_LOCALITY_SHARE_L3CACHE  0x0010
#define PMIX_LOCALITY_SHARE_PACKAGE  0x0020
#define PMIX_LOCALITY_SHARE_NUMA     0x0040
#define PMIX_LOCALITY_SHARE_NODE     0x4000

typedef uint64_t pmix_device_type_t;
#define PMIX_DEVTYPE_UNKNOWN     0x0000
#define PMIX_DEVTYPE_BLOCK       0x0001
#define PMIX_DEVTYPE_GPU         0x0002
#define PMIX_DEVTYPE_NETWORK     0x0004
#define PMIX_DEVTYPE_OPENFABRICS 0x0008
#define PMIX_DEVTYPE_DMA         0x0010
#define PMIX_DEVTYPE_COPROC      0x0020
#define PMIX_DEVTYPE_MEMORY      0x0040  // after 4.2.2
#define PMIX_DEVTYPE_CORE        0x0080  // after 4.2.2
#define PMIX_DEVTYPE_HWT         0x0100  // after 4.2.2
#define PMIX_DEVTYPE_CPU         0x0200  // after 4.2.2
#define PMIX_DEVTYPE_NODE        0x0400  // after 4.2.2

typedef uint64_t pmix_storage_medium_t;
#define PMIX_STORAGE_MEDIUM_UNKNOWN 0x0001
#define PMIX_STORAGE_MEDIUM_TAPE    0x0002
#define PMIX_STORAGE_MEDIUM_HDD     0x0004
#define PMIX_STORAGE_MEDIUM_SSD     0x0008
#define PMIX_STORAGE_MEDIUM_NVME    0x0010
#define PMIX_STORAGE_MEDIUM_PMEM    0x0020
#define PMIX_STORAGE_MEDIUM_RAM     0x0040

typedef uint64_t pmix_storage_accessibility_t;
#define PMIX_STORAGE_ACCESSIBILITY_NODE    0x0001
#define PMIX_STORAGE_ACCESSIBILITY_SESSION 0x0002
#define PMIX_STORAGE_ACCESSIBILITY_JOB     0x0004
#define PMIX_STORAGE_ACCESSIBILITY_RACK    0x0008
#define PMIX_STORAGE_ACCESSIBILITY_CLUSTER 0x0010
#define PMIX_STORAGE_ACCESSIBILITY_REMOTE  0x0020

typedef uint64_t pmix_storage_persistence_t;
#define PMIX_STORAGE_PERSISTENCE_TEMPORARY 0x0001
#define PMIX_STORAGE_PERSISTENCE_NODE      0x0002
#define PMIX_STORAGE_PERSISTENCE_SESSION   0x0004
#define PMIX_STORAGE_PERSISTENCE_JOB       0x0008
#define PMIX_STORAGE_PERSISTENCE_SCRATCH   0x0010
#define PMIX_STORAGE_PERSISTENCE_PROJECT   0x0020
#define PMIX_STORAGE_PERSISTENCE_ARCHIVE   0x0040

typedef uint16_t pmix_storage_access_type_t;
#define PMIX_STORAGE_ACCESS_RD   0x0001
#define PMIX_STORAGE_ACCESS_WR   0x0002
#define PMIX_STORAGE_ACCESS_RDWR 0x0003

/* ---- Enumerations ---- */

// The results of PMIx_Value_compare.
typedef enum {
  PMIX_EQUAL,
  PMIX_VALUE1_GREATER,
  PMIX_VALUE2_GREATER,
  PMIX_VALUE_TYPE_DIFFERENT,
  PMIX_VALUE_INCOMPATIBLE_OBJECTS,
  PMIX_VALUE_COMPARISON_NOT_AVAIL
} pmix_value_cmp_t;

// How a value reads as a truth. Mind the order: true is 0.
typedef enum { PMIX_BOOL_TRUE, PMIX_BOOL_FALSE, PMIX_NON_BOOL } pmix_boolean_t;

typedef enum { PMIX_GROUP_DECLINE, PMIX_GROUP_ACCEPT } pmix_group_opt_t;

// The last two came after 4.2.2.
typedef enum {
  PMIX_GROUP_CONSTRUCT,
  PMIX_GROUP_DESTRUCT,
  PMIX_GROUP_NONE,
  PMIX_GROUP_CANCEL
} pmix_group_operation_t;

typedef enum { PMIX_FABRIC_REQUEST_INFO, PMIX_FABRIC_UPDATE_INFO } pmix_fabric_operation_t;

/* ---- Structures ----
 * Pointers own what they point at, allocated with malloc, unless a function says otherwise.
 */

typedef struct pmix_byte_object {
  char* bytes;
  size_t size;
} pmix_byte_object_t;
#define PMIX_BYTE_OBJECT_STATIC_INIT \
  { NULL, 0 }

/// An environment variable; the separator joins a new part to the value that is there.
typedef struct {
  char* envar;
  char* value;
  char separator;
} pmix_envar_t;
#define PMIX_ENVAR_STATIC_INIT \
  { NULL, NULL, '\0' }

/// An array of `size` elements of that type, not of bytes.
typedef struct pmix_data_array {
  pmix_data_type_t type;
  size_t size;
  void* array;
} pmix_data_array_t;
#define PMIX_DATA_ARRAY_STATIC_INIT \
  { PMIX_UNDEF, 0, NULL }

/// A buffer that PMIx_Data_pack fills from pack_ptr on and PMIx_Data_unpack reads from unpack_ptr on.
typedef struct pmix_data_buffer {
  char* base_ptr;
  char* pack_ptr;
  char* unpack_ptr;
  size_t bytes_allocated;
  size_t bytes_used;
} pmix_data_buffer_t;
#define PMIX_DATA_BUFFER_STATIC_INIT \
  { NULL, NULL, NULL, 0, 0 }

/// A point in a fabric's topology: `dims` numbers.
typedef struct pmix_coord {
  pmix_coord_view_t view;
  uint32_t* coord;
  size_t dims;
} pmix_coord_t;
#define PMIX_COORD_STATIC_INIT \
  { PMIX_COORD_VIEW_UNDEF, NULL, 0 }

/// A device's place in the fabric with that index.
typedef struct pmix_geometry {
  size_t fabric;
  char* uuid;
  char* osname;
  pmix_coord_t* coordinates;
  size_t ncoords;
} pmix_geometry_t;
#define PMIX_GEOMETRY_STATIC_INIT \
  { 0, NULL, NULL, NULL, 0 }

/// A set of processing units in the form of the named source ("hwloc").
typedef struct {
  char* source;
  void* bitmap;
} pmix_cpuset_t;
#define PMIX_CPUSET_STATIC_INIT \
  { NULL, NULL }

/// A node's hardware in the form of the named source ("hwloc").
typedef struct {
  char* source;
  void* topology;
} pmix_topology_t;
#define PMIX_TOPOLOGY_STATIC_INIT \
  { NULL, NULL }

/// Least and greatest distance from the processing units of a cpuset to a device; UINT16_MAX = unknown.
typedef struct pmix_device_distance {
  char* uuid;
  char* osname;
  pmix_device_type_t type;
  uint16_t mindist;
  uint16_t maxdist;
} pmix_device_distance_t;
#define PMIX_DEVICE_DIST_STATIC_INIT \
  { NULL, NULL, PMIX_DEVTYPE_UNKNOWN, 0, 0 }

/// A fabric endpoint that belongs to a device.
typedef struct pmix_endpoint {
  char* uuid;
  char* osname;
  pmix_byte_object_t endpt;
} pmix_endpoint_t;
#define PMIX_ENDPOINT_STATIC_INIT \
  { NULL, NULL, PMIX_BYTE_OBJECT_STATIC_INIT }

typedef struct pmix_proc_info {
  pmix_proc_t proc;
  char* hostname;
  char* executable_name;
  pid_t pid;
  int exit_code;
  pmix_proc_state_t state;
} pmix_proc_info_t;
#define PMIX_PROC_INFO_STATIC_INIT \
  { PMIX_PROC_STATIC_INIT, NULL, NULL, 0, 0, PMIX_PROC_STATE_UNDEF }

/// Resource usage of a process; memory in MiB. Gone from releases after 6.0.
typedef struct pmix_proc_stats {
  char* node;
  pmix_proc_t proc;
  pid_t pid;
  char* cmd;
  char state;
  struct timeval time;
  float percent_cpu;
  int32_t priority;
  uint16_t num_threads;
  float pss;
  float vsize;
  float rss;
  float peak_vsize;
  uint16_t processor;
  struct timeval sample_time;
} pmix_proc_stats_t;
#define PMIX_PROC_STATS_STATIC_INIT                                                      \
  {                                                                                      \
    NULL, PMIX_PROC_STATIC_INIT, 0, NULL, '\0', {0, 0}, 0, 0, 0, 0, 0, 0, 0, 0, { 0, 0 } \
  }

/// Counters of a disk since boot. Gone from releases after 6.0.
typedef struct {
  char* disk;
  uint64_t num_reads_completed;
  uint64_t num_reads_merged;
  uint64_t num_sectors_read;
  uint64_t milliseconds_reading;
  uint64_t num_writes_completed;
  uint64_t num_writes_merged;
  uint64_t num_sectors_written;
  uint64_t milliseconds_writing;
  uint64_t num_ios_in_progress;
  uint64_t milliseconds_io;
  uint64_t weighted_milliseconds_io;
} pmix_disk_stats_t;
#define PMIX_DISK_STATS_STATIC_INIT \
  { NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/// Counters of a network interface since boot. Gone from releases after 6.0.
typedef struct {
  char* net_interface;
  uint64_t num_bytes_recvd;
  uint64_t num_packets_recvd;
  uint64_t num_recv_errs;
  uint64_t num_bytes_sent;
  uint64_t num_packets_sent;
  uint64_t num_send_errs;
} pmix_net_stats_t;
#define PMIX_NET_STATS_STATIC_INIT \
  { NULL, 0, 0, 0, 0, 0, 0 }

/// Load and memory (MiB) of a node. Gone from releases after 6.0.
typedef struct {
  char* node;
  float la;
  float la5;
  float la15;
  float total_mem;
  float free_mem;
  float buffers;
  float cached;
  float swap_cached;
  float swap_total;
  float swap_free;
  float mapped;
  struct timeval sample_time;
  pmix_disk_stats_t* diskstats;
  size_t ndiskstats;
  pmix_net_stats_t* netstats;
  size_t nnetstats;
} pmix_node_stats_t;
#define PMIX_NODE_STATS_STATIC_INIT \
  { NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0, 0}, NULL, 0, NULL, 0 }

/// A device. After 4.2.2.
typedef struct pmix_device {
  char* uuid;
  char* osname;
  pmix_device_type_t type;
} pmix_device_t;
#define PMIX_DEVICE_STATIC_INIT \
  { NULL, NULL, PMIX_DEVTYPE_UNKNOWN }

/// A number of resources of one kind. After 4.2.2.
typedef struct pmix_resource_unit {
  pmix_device_type_t type;
  size_t count;
} pmix_resource_unit_t;
#define PMIX_RESOURCE_UNIT_STATIC_INIT \
  { PMIX_DEVTYPE_UNKNOWN, 0 }

/// A process by node and process id. After 4.2.2.
typedef struct pmix_node_pid {
  char* hostname;
  uint32_t nodeid;
  pid_t pid;
} pmix_node_pid_t;
#define PMIX_NODE_PID_STATIC_INIT \
  { NULL, UINT32_MAX, 0 }

/// A compressed list; `type` names the generator. After 4.2.2.
typedef struct pmix_regex2 {
  char* type;
  uint8_t* bytes;
  size_t len;
} pmix_regex2_t;
#define PMIX_REGEX2_STATIC_INIT \
  { NULL, NULL, 0 }

/// Any value. `type` says which member of the union holds it; comments where the name does not tell.
typedef struct pmix_value {
  pmix_data_type_t type;
  union {
    bool flag;  // PMIX_BOOL
    uint8_t byte;
    char* string;
    size_t size;
    pid_t pid;
    int integer;  // PMIX_INT
    int8_t int8;
    int16_t int16;
    int32_t int32;
    int64_t int64;
    unsigned int uint;
    uint8_t uint8;
    uint16_t uint16;
    uint32_t uint32;
    uint64_t uint64;
    float fval;
    double dval;
    struct timeval tv;  // PMIX_TIMEVAL
    time_t time;
    pmix_status_t status;
    pmix_rank_t rank;       // PMIX_PROC_RANK
    pmix_nspace_t* nspace;  // PMIX_PROC_NSPACE
    pmix_proc_t* proc;
    pmix_byte_object_t bo;  // PMIX_BYTE_OBJECT, PMIX_REGEX and the compressed types
    pmix_persistence_t persist;
    pmix_scope_t scope;
    pmix_data_range_t range;
    pmix_proc_state_t state;
    pmix_proc_info_t* pinfo;
    pmix_data_array_t* darray;
    void* ptr;                    // PMIX_POINTER
    pmix_alloc_directive_t adir;  // PMIX_ALLOC_DIRECTIVE
    pmix_envar_t envar;
    pmix_coord_t* coord;
    pmix_link_state_t linkstate;
    pmix_job_state_t jstate;
    pmix_topology_t* topo;
    pmix_cpuset_t* cpuset;     // PMIX_PROC_CPUSET
    pmix_locality_t locality;  // PMIX_LOCTYPE
    pmix_geometry_t* geometry;
    pmix_device_type_t devtype;
    pmix_device_distance_t* devdist;
    pmix_endpoint_t* endpoint;
    pmix_data_buffer_t* dbuf;
    pmix_proc_stats_t* pstats;
    pmix_disk_stats_t* dkstats;
    pmix_net_stats_t* netstats;
    pmix_node_stats_t* ndstats;
    // After 4.2.2
    pmix_resource_block_directive_t rbdir;
    pmix_alloc_inheritance_t inheritance;
    pmix_device_t* device;
    pmix_resource_unit_t* resunit;
    pmix_node_pid_t* nodepid;
    pmix_regex2_t* regex2;
  } data;
} pmix_value_t;
#define PMIX_VALUE_STATIC_INIT \
  {                            \
    PMIX_UNDEF, { 0 }          \
  }

/// A key with its value and directives (PMIX_INFO_REQD, ...).
typedef struct pmix_info {
  pmix_key_t key;
  pmix_info_directives_t flags;
  pmix_value_t value;
} pmix_info_t;
#define PMIX_INFO_STATIC_INIT \
  { {0}, 0, PMIX_VALUE_STATIC_INIT }

/// A key, its value and the process that published it.
typedef struct pmix_pdata {
  pmix_proc_t proc;
  pmix_key_t key;
  pmix_value_t value;
} pmix_pdata_t;
#define PMIX_LOOKUP_STATIC_INIT \
  { PMIX_PROC_STATIC_INIT, {0}, PMIX_VALUE_STATIC_INIT }

/// One application of a job to spawn. argv and env end with NULL; env holds additions.
typedef struct pmix_app {
  char* cmd;
  char** argv;
  char** env;
  char* cwd;
  int maxprocs;
  pmix_info_t* info;
  size_t ninfo;
} pmix_app_t;
#define PMIX_APP_STATIC_INIT \
  { NULL, NULL, NULL, NULL, 0, NULL, 0 }

/// Keys to ask for (NULL-terminated) under common qualifiers.
typedef struct pmix_query {
  char** keys;
  pmix_info_t* qualifiers;
  size_t nqual;
} pmix_query_t;
#define PMIX_QUERY_STATIC_INIT \
  { NULL, NULL, 0 }

/// An attribute that a host supports: macro name, key, value type, lines of text (NULL-terminated).
typedef struct pmix_regattr_t {
  char* name;
  pmix_key_t string;
  pmix_data_type_t type;
  char** description;
} pmix_regattr_t;
#define PMIX_REGATTR_STATIC_INIT \
  { NULL, {0}, PMIX_UNDEF, NULL }

/// A registered fabric; `module` is the library's.
typedef struct pmix_fabric_s {
  char* name;
  size_t index;
  pmix_info_t* info;
  size_t ninfo;
  void* module;
} pmix_fabric_t;
#define PMIX_FABRIC_STATIC_INIT \
  { NULL, 0, NULL, 0, NULL }

/* ---- Callbacks ----
 * They run on a thread of the library, which must not be blocked. Arrays passed in are the library's and
 * valid until the callback returns or, where a release function is passed along, until that has been called.
 */

/// Gives back what another callback received.
typedef void (*pmix_release_cbfunc_t)(void* cbdata);

/// An operation without result has ended.
typedef void (*pmix_op_cbfunc_t)(pmix_status_t status, void* cbdata);

/// A collected blob of `ndata` bytes.
typedef void (*pmix_modex_cbfunc_t)(pmix_status_t status, const char* data, size_t ndata, void* cbdata,
                                    pmix_release_cbfunc_t release, void* release_cbdata);

/// The namespace of a new job.
typedef void (*pmix_spawn_cbfunc_t)(pmix_status_t status, char* nspace, void* cbdata);

/// Published data that a lookup found.
typedef void (*pmix_lookup_cbfunc_t)(pmix_status_t status, pmix_pdata_t* data, size_t ndata, void* cbdata);

/// The value that PMIx_Get_nb asked for.
typedef void (*pmix_value_cbfunc_t)(pmix_status_t status, pmix_value_t* val, void* cbdata);

/// Results as an array of infos.
typedef void (*pmix_info_cbfunc_t)(pmix_status_t status, pmix_info_t* info, size_t ninfo, void* cbdata,
                                   pmix_release_cbfunc_t release, void* release_cbdata);

/// A new credential; the outcome of checking one.
typedef void (*pmix_credential_cbfunc_t)(pmix_status_t status, pmix_byte_object_t* credential,
                                         pmix_info_t* info, size_t ninfo, void* cbdata);
typedef void (*pmix_validation_cbfunc_t)(pmix_status_t status, pmix_info_t* info, size_t ninfo, void* cbdata);

/// Distances from a cpuset to devices.
typedef void (*pmix_device_dist_cbfunc_t)(pmix_status_t status, pmix_device_distance_t* distances,
                                          size_t ndistances, void* cbdata, pmix_release_cbfunc_t release,
                                          void* release_cbdata);

/// The function that an event handler calls when it is done, so that the next handler of the chain runs.
typedef void (*pmix_event_notification_cbfunc_fn_t)(pmix_status_t status, pmix_info_t* results,
                                                    size_t nresults, pmix_op_cbfunc_t cbfunc,
                                                    void* this_cbdata, void* notification_cbdata);

/// An event handler. `results` come from the handlers that ran before; it must call `cbfunc` once.
typedef void (*pmix_notification_fn_t)(size_t handler_id, pmix_status_t status, const pmix_proc_t* source,
                                       pmix_info_t* info, size_t ninfo, pmix_info_t* results, size_t nresults,
                                       pmix_event_notification_cbfunc_fn_t cbfunc, void* cbdata);

/// The identifier of a handler that has been registered.
typedef void (*pmix_hdlr_reg_cbfunc_t)(pmix_status_t status, size_t handler_id, void* cbdata);
typedef void (*pmix_evhdlr_reg_cbfunc_t)(pmix_status_t status, size_t handler_id, void* cbdata);

#if defined(__cplusplus)
}
#endif

#include "pmix_attributes.h"
#include "pmix_deprecated.h"
#include "pmix_macros.h"
#include "pmix_utilities.h"

#endif
