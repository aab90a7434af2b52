# SPDX-License-Identifier: BSD-3-Clause
# Tests of weftrun and weftd as programs.

add_executable(weftrun_client ${CMAKE_CURRENT_LIST_DIR}/harness/weftrun_client.c)
target_link_libraries(weftrun_client PRIVATE weft_flags pmix)
add_executable(weftrun_tool ${CMAKE_CURRENT_LIST_DIR}/harness/weftrun_tool.c)
target_link_libraries(weftrun_tool PRIVATE weft_flags pmix)

set(transports shm)  # what servers of several nodes can use here
if(TARGET transport_ofi)
  string(APPEND transports ",ofi")
endif()
if(TARGET transport_ucx)
  string(APPEND transports ",ucx")
endif()

set(modules PYTHONPATH=${CMAKE_CURRENT_LIST_DIR}/harness)  # what the tests share

foreach(test attack/forged attack/key job/descriptors job/ends job/folders job/input job/job job/nodes job/output job/signals job/stuck job/tools
    launch/account/account launch/trace/trace launch/command_line launch/settings)
  get_filename_component(part ${test} NAME)
  add_test(NAME multiproc.weftrun.${part} COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/${test}_test.py)
  set_tests_properties(multiproc.weftrun.${part} PROPERTIES LABELS multiproc TIMEOUT 600
    ENVIRONMENT
      "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;WEFTRUN_CLIENT=$<TARGET_FILE:weftrun_client>;WEFTRUN_TOOL=$<TARGET_FILE:weftrun_tool>;WEFTD=$<TARGET_FILE:weftd>;WEFT_NET=lo;WEFT_TEST_SANITIZE=${WEFT_SANITIZE};TRANSPORTS=${transports}")
endforeach()

add_executable(spawn_client ${CMAKE_CURRENT_LIST_DIR}/harness/spawn_client.c)
target_link_libraries(spawn_client PRIVATE weft_flags pmix)
foreach(part spawn service)
  add_test(NAME multiproc.weftrun.${part} COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/job/${part}_test.py)
  set_tests_properties(multiproc.weftrun.${part} PROPERTIES LABELS multiproc TIMEOUT 600
    ENVIRONMENT
      "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;SPAWN_CLIENT=$<TARGET_FILE:spawn_client>;WEFTINFO=$<TARGET_FILE:weftinfo>;WEFT_NET=lo;WEFT_TEST_SANITIZE=${WEFT_SANITIZE}")
endforeach()

add_executable(debug_client ${CMAKE_CURRENT_LIST_DIR}/harness/debug_client.c)
target_link_libraries(debug_client PRIVATE weft_flags pmix)
add_test(NAME multiproc.weftrun.debug COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/job/debug_test.py)
set_tests_properties(multiproc.weftrun.debug PROPERTIES LABELS multiproc TIMEOUT 600
  ENVIRONMENT
    "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;DEBUG_CLIENT=$<TARGET_FILE:debug_client>;WEFT_NET=lo;WEFT_TEST_SANITIZE=${WEFT_SANITIZE}")

add_executable(example_debugger ${PROJECT_SOURCE_DIR}/examples/debugger.c)
target_link_libraries(example_debugger PRIVATE weft_flags pmix)
add_test(NAME multiproc.examples.debugger COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/job/debugger_example_test.py)
set_tests_properties(multiproc.examples.debugger PROPERTIES LABELS multiproc TIMEOUT 600
  ENVIRONMENT
    "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;DEBUG_CLIENT=$<TARGET_FILE:debug_client>;EXAMPLE_DEBUGGER=$<TARGET_FILE:example_debugger>;WEFT_NET=lo;WEFT_TEST_SANITIZE=${WEFT_SANITIZE}")

add_executable(knowledge_client ${CMAKE_CURRENT_LIST_DIR}/harness/knowledge_client.c)
target_link_libraries(knowledge_client PRIVATE weft_flags pmix)
foreach(part credentials monitors records queries)
  add_test(NAME multiproc.weftrun.${part} COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/job/${part}_test.py)
  set_tests_properties(multiproc.weftrun.${part} PROPERTIES LABELS multiproc TIMEOUT 600
    ENVIRONMENT
      "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;KNOWLEDGE_CLIENT=$<TARGET_FILE:knowledge_client>;WEFT_NET=lo;WEFT_TEST_SANITIZE=${WEFT_SANITIZE}")
endforeach()

add_executable(names_client ${CMAKE_CURRENT_LIST_DIR}/harness/names_client.c)
target_link_libraries(names_client PRIVATE weft_flags pmix)
add_test(NAME multiproc.weftrun.names_of COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/job/names_of_test.py)
set_tests_properties(multiproc.weftrun.names_of PROPERTIES LABELS multiproc TIMEOUT 600
  ENVIRONMENT
    "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;NAMES_CLIENT=$<TARGET_FILE:names_client>;WEFT_NET=lo;WEFT_TEST_SANITIZE=${WEFT_SANITIZE}")

add_executable(iof_client ${CMAKE_CURRENT_LIST_DIR}/harness/iof_client.c)
target_link_libraries(iof_client PRIVATE weft_flags pmix)
add_test(NAME multiproc.weftrun.iof COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/job/iof_test.py)
set_tests_properties(multiproc.weftrun.iof PROPERTIES LABELS multiproc TIMEOUT 600
  ENVIRONMENT
    "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;IOF_CLIENT=$<TARGET_FILE:iof_client>;WEFT_NET=lo;WEFT_TEST_SANITIZE=${WEFT_SANITIZE}")

foreach(part absentees progress habits saved_machines)
  add_test(NAME multiproc.weftrun.${part} COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/launch/${part}_test.py)
  set_tests_properties(multiproc.weftrun.${part} PROPERTIES LABELS multiproc TIMEOUT 600
    ENVIRONMENT
      "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;WEFTRUN_CLIENT=$<TARGET_FILE:weftrun_client>;WEFT_NET=lo;TRANSPORTS=${transports}")
endforeach()

add_executable(under_weftrun ${CMAKE_CURRENT_LIST_DIR}/launch/under_weftrun.c)
target_link_libraries(under_weftrun PRIVATE weft_flags pmix)
add_test(NAME multiproc.weftrun.calls COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/launch/under_weftrun_test.py)
set_tests_properties(multiproc.weftrun.calls PROPERTIES LABELS multiproc TIMEOUT 600
  ENVIRONMENT "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;UNDER_WEFTRUN=$<TARGET_FILE:under_weftrun>;WEFT_NET=lo;WEFT_TEST_SANITIZE=${WEFT_SANITIZE}")

add_executable(instant_on_client ${CMAKE_CURRENT_LIST_DIR}/launch/instant_on_client.c)
target_link_libraries(instant_on_client PRIVATE weft_flags pmix)
add_test(NAME multiproc.weftrun.instant_on COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/launch/instant_on_test.py)
set_tests_properties(multiproc.weftrun.instant_on PROPERTIES LABELS multiproc TIMEOUT 600
  ENVIRONMENT "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;INSTANT_ON_CLIENT=$<TARGET_FILE:instant_on_client>;WEFT_NET=lo")

add_test(NAME multiproc.weftrun.hosts COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/launch/hosts_test.py)
set_tests_properties(multiproc.weftrun.hosts PROPERTIES LABELS "multiproc;hosts" TIMEOUT 600 SKIP_RETURN_CODE 77
  ENVIRONMENT "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;WEFTRUN_CLIENT=$<TARGET_FILE:weftrun_client>;SPAWN_CLIENT=$<TARGET_FILE:spawn_client>;INSTANT_ON_CLIENT=$<TARGET_FILE:instant_on_client>")

add_test(NAME multiproc.weftrun.outbound COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/launch/outbound_test.py)
set_tests_properties(multiproc.weftrun.outbound PROPERTIES LABELS "multiproc;hosts" TIMEOUT 600 SKIP_RETURN_CODE 77
  ENVIRONMENT "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;WEFTRUN_CLIENT=$<TARGET_FILE:weftrun_client>")

add_test(NAME multiproc.weftrun.ssh COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/launch/ssh_test.py)
set_tests_properties(multiproc.weftrun.ssh PROPERTIES LABELS "multiproc;hosts" TIMEOUT 600 SKIP_RETURN_CODE 77
  ENVIRONMENT "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;WEFTRUN_CLIENT=$<TARGET_FILE:weftrun_client>;WEFTD=$<TARGET_FILE:weftd>")

add_test(NAME multiproc.weftd.start COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/launch/weftd_test.py)
set_tests_properties(multiproc.weftd.start PROPERTIES LABELS multiproc TIMEOUT 120
  ENVIRONMENT "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;WEFTD=$<TARGET_FILE:weftd>;WEFT_NET=lo")

add_test(NAME multiproc.second_user COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/attack/second_user_test.py)
set_tests_properties(multiproc.second_user PROPERTIES LABELS multiproc TIMEOUT 600 SKIP_RETURN_CODE 77
  ENVIRONMENT "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;WEFTRUN_CLIENT=$<TARGET_FILE:weftrun_client>;WEFTINFO=$<TARGET_FILE:weftinfo>;WEFT_NET=lo")

add_test(NAME multiproc.network_stranger COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/attack/network_stranger_test.py)
set_tests_properties(multiproc.network_stranger PROPERTIES LABELS multiproc TIMEOUT 600
  ENVIRONMENT "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;WEFTRUN_CLIENT=$<TARGET_FILE:weftrun_client>;WEFT_NET=lo;WEFT_TEST_SANITIZE=${WEFT_SANITIZE};TRANSPORTS=${transports}")

add_test(NAME multiproc.weftrun.network_namespace COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/launch/network_namespace_test.py)
set_tests_properties(multiproc.weftrun.network_namespace PROPERTIES LABELS "multiproc;hosts" TIMEOUT 600 SKIP_RETURN_CODE 77
  ENVIRONMENT "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;WEFTRUN_CLIENT=$<TARGET_FILE:weftrun_client>;WEFTD=$<TARGET_FILE:weftd>;WEFT_NET=lo;WEFT_TEST_SANITIZE=${WEFT_SANITIZE}")

add_test(NAME multiproc.attack.frames COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/attack/frames_test.py)
set_tests_properties(multiproc.attack.frames PROPERTIES LABELS multiproc TIMEOUT 600
  ENVIRONMENT "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;WEFTRUN_CLIENT=$<TARGET_FILE:weftrun_client>;WEFT_TEST_SANITIZE=${WEFT_SANITIZE}")

add_test(NAME multiproc.weftrun.plan COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/launch/plan_test.py)
set_tests_properties(multiproc.weftrun.plan PROPERTIES LABELS multiproc TIMEOUT 600 ENVIRONMENT "${modules};WEFTRUN=$<TARGET_FILE:weftrun>")

# What the segment costs a process beside its own memory.
add_executable(memory_client ${CMAKE_CURRENT_LIST_DIR}/memory/memory_client.c)
target_link_libraries(memory_client PRIVATE weft_flags pmix)
foreach(part core_files large_cards locked_memory)
  add_test(NAME multiproc.memory.${part} COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/memory/${part}_test.py)
  set_tests_properties(multiproc.memory.${part} PROPERTIES LABELS multiproc TIMEOUT 600
    ENVIRONMENT
      "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;MEMORY_CLIENT=$<TARGET_FILE:memory_client>;WEFT_NET=lo;WEFT_TEST_SANITIZE=${WEFT_SANITIZE};TRANSPORTS=${transports}")
endforeach()

# What faults at every moment come to (docs/faults.md).
foreach(group killed limits stopped)
  add_test(NAME multiproc.weftrun.faults.${group}
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/faults/weftrun_faults_test.py ${group})
endforeach()
add_test(NAME multiproc.weftrun.faults.table
  COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/faults/weftrun_faults_table.py --check)
add_test(NAME multiproc.weftrun.faults.network
  COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/faults/weftrun_faults_network_test.py)
set(random_jobs 50)
if(WEFT_SANITIZE)
  set(random_jobs 20)  # each takes seconds there
endif()
add_test(NAME multiproc.weftrun.faults.random COMMAND ${PROJECT_SOURCE_DIR}/scripts/load/random_faults ${random_jobs})
foreach(name killed limits stopped table network random)
  set_tests_properties(multiproc.weftrun.faults.${name} PROPERTIES LABELS multiproc TIMEOUT 600
    ENVIRONMENT
      "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;WEFTRUN_CLIENT=$<TARGET_FILE:weftrun_client>;WEFT_TEST_SANITIZE=${WEFT_SANITIZE}")
endforeach()
set_tests_properties(multiproc.weftrun.faults.network PROPERTIES LABELS "multiproc;hosts" SKIP_RETURN_CODE 77)

# The longest first, so that the others run beside them.
foreach(name nodes hosts ssh signals faults.stopped)
  set_tests_properties(multiproc.weftrun.${name} PROPERTIES COST 60)
endforeach()
foreach(name weftrun.ends weftrun.command_line weftrun.descriptors weftrun.faults.killed weftrun.faults.limits weftrun.faults.random
    memory.large_cards network_stranger second_user)
  set_tests_properties(multiproc.${name} PROPERTIES COST 20)
endforeach()

add_test(NAME multiproc.weftinfo.metrics COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/tool/metrics_test.py)
set_tests_properties(multiproc.weftinfo.metrics PROPERTIES LABELS multiproc TIMEOUT 600
  ENVIRONMENT
    "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;WEFTRUN_CLIENT=$<TARGET_FILE:weftrun_client>;WEFTINFO=$<TARGET_FILE:weftinfo>;WEFT_NET=lo;WEFT_TEST_SANITIZE=${WEFT_SANITIZE}")

add_test(NAME multiproc.weftrun.info COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/tool/weftinfo_test.py)
set_tests_properties(multiproc.weftrun.info PROPERTIES LABELS multiproc TIMEOUT 600
  ENVIRONMENT
    "${modules};WEFTRUN=$<TARGET_FILE:weftrun>;WEFTRUN_CLIENT=$<TARGET_FILE:weftrun_client>;SPAWN_CLIENT=$<TARGET_FILE:spawn_client>;WEFTINFO=$<TARGET_FILE:weftinfo>;WEFT_NET=lo;WEFT_TEST_SANITIZE=${WEFT_SANITIZE}")
