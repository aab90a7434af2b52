# SPDX-License-Identifier: BSD-3-Clause
# Examples that need no MPI, as jobs of four ranks on one node and on two.

# weft_example_test(<name> <exit status> <options of weftrun>...): examples/<name>.c prints what
# examples/<name>.expected says.
function(weft_example_test name status)
  add_executable(example_${name} ${PROJECT_SOURCE_DIR}/examples/${name}.c)
  target_link_libraries(example_${name} PRIVATE weft_flags pmix)
  set(judge ${CMAKE_CURRENT_LIST_DIR}/examples/judge.sh ${status} ${CMAKE_CURRENT_LIST_DIR}/examples/${name}.expected)
  set(job ${ARGN} -n 4 $<TARGET_FILE:example_${name}>)
  add_test(NAME multiproc.examples.${name} COMMAND ${judge} $<TARGET_FILE:weftrun> ${job})
  add_test(NAME multiproc.examples.${name}.nodes COMMAND ${judge} $<TARGET_FILE:weftrun> --virtual-nodes 2 ${job})
  set_tests_properties(multiproc.examples.${name} multiproc.examples.${name}.nodes PROPERTIES
    LABELS multiproc TIMEOUT 120 ENVIRONMENT WEFT_NET=lo)
endfunction()

weft_example_test(group_invite 0)
weft_example_test(group_leader 3 --on-failure continue)  # the leader's own status
