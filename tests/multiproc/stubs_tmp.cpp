#include "tests/multiproc/harness.hpp"
namespace weft::test {
void add_event_programs(Programs&) {}
void add_limit_programs(Programs&) {}
void add_singleton_programs(Programs&) {}
}
