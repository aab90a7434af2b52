# SPDX-License-Identifier: BSD-3-Clause
# One program for all tests with real processes: host, clients and nodes are the same binary under other names.
add_executable(multiproc_test
  asks_host.cpp
  asks_programs.cpp
  asks_test.cpp
  attributes_test.cpp
  cluster_card_test.cpp
  cluster_fence_test.cpp
  cluster_group_test.cpp
  cluster_loss_test.cpp
  cluster_node.cpp
  data_test.cpp
  event_test.cpp
  fence_test.cpp
  foreign_host_test.cpp
  get_test.cpp
  harness.cpp
  host.cpp
  host_events_test.cpp
  construct_programs.cpp
  construct_test.cpp
  group/agreement_test.cpp
  group/bootstrap_names_test.cpp
  group/departure_test.cpp
  group/uncalled_test.cpp
  group_calls.cpp
  group_board_programs.cpp
  group_board_test.cpp
  group_death_programs.cpp
  group_loss_programs.cpp
  group_loss_test.cpp
  group_programs.cpp
  group_soak_programs.cpp
  group_soak_test.cpp
  invitation_programs.cpp
  invitation_test.cpp
  membership_programs.cpp
  membership_test.cpp
  group_test.cpp
  host_group_test.cpp
  host_fence_test.cpp
  info_test.cpp
  keys_program.cpp
  launch_fabric_test.cpp
  launcher_test.cpp
  lifecycle_test.cpp
  limit_test.cpp
  listener_test.cpp
  log_test.cpp
  main.cpp
  nodes_test.cpp
  process_set_test.cpp
  progress_test.cpp
  realm_test.cpp
  segment_test.cpp
  server_test.cpp
  set_fence_test.cpp
  slow_files_test.cpp
  tool_role_test.cpp
  tool_servers_test.cpp
  topology_program.cpp
  values.cpp)
weft_compile_alone(asks_programs.cpp group_board_programs.cpp group_soak_programs.cpp group_soak_test.cpp group_death_programs.cpp group/agreement_test.cpp group/departure_test.cpp
  group/uncalled_test.cpp)
weft_compile_alone(cluster_fence_test.cpp)
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
