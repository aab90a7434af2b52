// SPDX-License-Identifier: BSD-3-Clause
#include "tests/multiproc/group/programs.hpp"
#include "tests/multiproc/harness/harness.hpp"

int main(int argc, char** argv) {
  weft::test::Programs programs;
  weft::test::add_asks_programs(programs);
  weft::test::add_launcher_programs(programs);
  weft::test::add_launch_fabric_programs(programs);
  weft::test::add_listener_programs(programs);
  weft::test::add_attribute_programs(programs);
  weft::test::add_client_programs(programs);
  weft::test::add_data_programs(programs);
  weft::test::add_event_programs(programs);
  weft::test::add_fence_programs(programs);
  weft::test::add_foreign_host_programs(programs);
  weft::test::add_get_programs(programs);
  weft::test::add_host_event_programs(programs);
  weft::test::add_host_fence_programs(programs);
  weft::test::add_group_board_programs(programs);
  weft::test::add_group_programs(programs);
  weft::test::add_group_soak_programs(programs);
  weft::test::add_group_death_programs(programs);
  weft::test::add_group_loss_programs(programs);
  weft::test::add_construct_programs(programs);
  weft::test::add_uncalled_programs(programs);
  weft::test::add_agreement_programs(programs);
  weft::test::add_bootstrap_name_programs(programs);
  weft::test::add_departure_programs(programs);
  weft::test::add_invitation_programs(programs);
  weft::test::add_membership_programs(programs);
  weft::test::add_host_group_programs(programs);
  weft::test::add_info_programs(programs);
  weft::test::add_key_programs(programs);
  weft::test::add_limit_programs(programs);
  weft::test::add_log_programs(programs);
  weft::test::add_node_programs(programs);
  weft::test::add_cluster_card_programs(programs);
  weft::test::add_cluster_fence_programs(programs);
  weft::test::add_cluster_loss_programs(programs);
  weft::test::add_cluster_node_program(programs);
  weft::test::add_process_set_programs(programs);
  weft::test::add_progress_programs(programs);
  weft::test::add_published_programs(programs);
  weft::test::add_large_job_programs(programs);
  weft::test::add_realm_programs(programs);
  weft::test::add_segment_programs(programs);
  weft::test::add_set_fence_programs(programs);
  weft::test::add_slow_file_programs(programs);
  weft::test::add_singleton_programs(programs);
  weft::test::add_tool_role_programs(programs);
  weft::test::add_topology_programs(programs);
  weft::test::add_tool_server_programs(programs);
  return weft::test::run(argc, argv, programs);
}
