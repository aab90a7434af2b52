// SPDX-License-Identifier: BSD-3-Clause
// Cards whose bytes encode their rank and repeat, so that a mix-up is detected.
#pragma once

#include <string>

#include "bench/weftbench/job.hpp"

namespace weft::bench {

class MarkedCards {
 public:
  /// name: distinguishes these cards from those of other phases.
  MarkedCards(const Job& job, const std::string& name, std::size_t bytes);
  /// Puts and commits this rank's card of repeat i, under a key of its own.
  void commit(unsigned i) const;
  /// Gets the card of `rank` of repeat i; Failure if it is another one.
  void read(unsigned rank, unsigned i) const;
  std::string key(unsigned i) const { return prefix_ + std::to_string(i); }

 private:
  const Job& job_;
  std::string prefix_;
  std::size_t bytes_;
};

}  // namespace weft::bench
