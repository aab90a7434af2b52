# SPDX-License-Identifier: BSD-3-Clause
# One program for all tests with real processes: host, clients and nodes are the same binary under other
# names. In an order in which sources that are compiled together have no local names in common.
add_executable(multiproc_test
  host/asks_host.cpp
  host/asks_programs.cpp
  host/asks_test.cpp
  host/attributes_test.cpp
  data/cluster_card_test.cpp
  fence/cluster_fence_test.cpp
  group/cluster_group_test.cpp
  fence/cluster_loss_test.cpp
  harness/cluster_node.cpp
  data/data_test.cpp
  event/event_test.cpp
  fence/fence_test.cpp
  host/foreign_host_test.cpp
  data/get_test.cpp
  harness/harness.cpp
  harness/host.cpp
  event/host_events_test.cpp
  group/construct_programs.cpp
  group/construct_test.cpp
  group/loss/agreement_test.cpp
  group/bootstrap_names_test.cpp
  group/loss/departure_test.cpp
  group/loss/uncalled_test.cpp
  group/group_calls.cpp
  group/group_board_programs.cpp
  group/group_board_test.cpp
  group/loss/group_death_programs.cpp
  group/loss/group_loss_programs.cpp
  group/loss/group_loss_test.cpp
  group/group_programs.cpp
  group/loss/group_soak_programs.cpp
  group/loss/group_soak_test.cpp
  group/membership/invitation_programs.cpp
  group/membership/invitation_test.cpp
  group/membership/membership_programs.cpp
  group/membership/membership_test.cpp
  group/group_test.cpp
  group/host_group_test.cpp
  fence/host_fence_test.cpp
  tool/info_test.cpp
  data/keys_program.cpp
  memory/large_job_test.cpp
  host/launch_fabric_test.cpp
  tool/launcher_test.cpp
  client/lifecycle_test.cpp
  client/limit_test.cpp
  host/listener_test.cpp
  event/log_test.cpp
  main.cpp
  host/nodes_test.cpp
  event/process_set_test.cpp
  client/progress_test.cpp
  data/published_calls.cpp
  data/published_programs.cpp
  data/published_test.cpp
  data/realm_test.cpp
  attack/segment_test.cpp
  host/server_test.cpp
  fence/set_fence_test.cpp
  host/slow_files_test.cpp
  tool/tool_role_test.cpp
  tool/tool_servers_test.cpp
  data/topology_program.cpp
  harness/values.cpp)
weft_compile_alone(
  fence/cluster_fence_test.cpp
  group/group_board_programs.cpp
  group/loss/agreement_test.cpp
  group/loss/departure_test.cpp
  group/loss/group_death_programs.cpp
  group/loss/group_soak_programs.cpp
  group/loss/group_soak_test.cpp
  group/loss/uncalled_test.cpp
  host/asks_programs.cpp
  memory/large_job_test.cpp)
if(WEFT_UNITY_BATCH GREATER 20)
  set_target_properties(multiproc_test PROPERTIES UNITY_BUILD_BATCH_SIZE 20)
endif()
target_link_libraries(multiproc_test PRIVATE weft_flags pmix weft_link weft_store GTest::gtest Threads::Threads)
target_compile_definitions(multiproc_test PRIVATE WEFTINFO="$<TARGET_FILE:weftinfo>" WEFTRUN="$<TARGET_FILE:weftrun>")
add_dependencies(multiproc_test weftinfo weftrun)
weft_test_program(multiproc_test)
gtest_discover_tests(multiproc_test TEST_PREFIX multiproc. PROPERTIES LABELS multiproc TIMEOUT 240 DISCOVERY_TIMEOUT 60)

foreach(segment "" "WEFT_NO_SEGMENT=1")
  add_test(NAME multiproc.keys_under_weftrun${segment} COMMAND weftrun -n 4 $<TARGET_FILE:multiproc_test> --program all_keys)
  set_tests_properties(multiproc.keys_under_weftrun${segment} PROPERTIES LABELS multiproc TIMEOUT 60 ENVIRONMENT "${segment}")
endforeach()

# On virtual nodes each rank has its node's topology, bound or not.
add_test(NAME multiproc.topology_under_weftrun
  COMMAND weftrun --virtual-nodes 2 -n 4 --bind-to none $<TARGET_FILE:multiproc_test> --program has_a_topology)
add_test(NAME multiproc.topology_under_weftrun_bound
  COMMAND weftrun --virtual-nodes 2 -n 2 --map-by node --bind-to core $<TARGET_FILE:multiproc_test> --program has_a_topology)
set_tests_properties(multiproc.topology_under_weftrun multiproc.topology_under_weftrun_bound PROPERTIES LABELS multiproc TIMEOUT 60)
