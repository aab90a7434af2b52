// SPDX-License-Identifier: BSD-3-Clause
// The programs of tests here and in loss/, each beside its test.
#pragma once

#include "tests/multiproc/harness/harness.hpp"

namespace weft::test {

void add_agreement_programs(Programs& programs);
void add_bootstrap_name_programs(Programs& programs);
void add_departure_programs(Programs& programs);
void add_uncalled_programs(Programs& programs);

}  // namespace weft::test
