#include "tests/multiproc/harness.hpp"
namespace weft::test {
void add_client_programs(Programs&) {}
void add_data_programs(Programs&) {}
void add_event_programs(Programs&) {}
void add_limit_programs(Programs&) {}
void add_node_programs(Programs&) {}
void add_singleton_programs(Programs&) {}
}
