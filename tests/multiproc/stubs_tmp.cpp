#include "tests/multiproc/harness.hpp"
namespace weft::test {
void add_limit_programs(Programs&) {}
}
