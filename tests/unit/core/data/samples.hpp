// SPDX-License-Identifier: BSD-3-Clause
// Elements of every data type with random content, made from the table of types.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "core/data/types/types.hpp"
#include "pmix_common.h"

namespace weft::data::test {

/// All types that Weft knows, in order.
std::vector<pmix_data_type_t> all_types();

class Samples {
 public:
  explicit Samples(std::uint64_t seed) : random_(seed) {}

  /// Fills zeroed memory; destroy_elements() frees it. NULL and empty occur as well as full.
  void fill(pmix_data_type_t type, void* element, unsigned depth = 0);
  pmix_value_t value(pmix_data_type_t type, unsigned depth = 0);

  std::uint64_t number(std::uint64_t below) { return random_() % below; }
  char* text();

 private:
  void fill_record(const Type& type, void* record, unsigned depth);
  pmix_data_type_t element_type(unsigned depth);

  std::mt19937_64 random_;
};

}  // namespace weft::data::test
