// SPDX-License-Identifier: BSD-3-Clause
// A result, as a JSON line for scripts or as a row for people.
#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "bench/report/stats.hpp"

namespace weft::bench {

struct Record {
  std::string bench;
  unsigned ranks = 1;
  std::size_t bytes = 0;    ///< payload of one operation; 0 = does not apply
  std::string unit = "ns";  ///< suffix of the figures' names: ns, kib or count
  Summary figures;          ///< runs = batches; p99 from single operations
  unsigned batch = 1;       ///< operations in a batch
  std::vector<std::pair<std::string, double>> extra = {};
};

/// `bytes` as in Record.
Record make_record(std::string bench, unsigned ranks, std::size_t bytes, const Sample& sample);
/// One figure that was not repeated or whose repeats are other processes.
Record make_record(std::string bench, unsigned ranks, std::string unit, std::vector<double> values);

/// Prints each record at once, so that a run that is cut short has printed what it measured.
class Reporter {
 public:
  struct Origin {
    std::string library, commit;
    unsigned hosts = 0;  ///< of the job; 0: not known
  };
  Reporter(std::FILE* out, bool json, Origin origin);
  void print(const Record& record);
  /// Reports on stderr, in one line, what could not be measured.
  static void skipped(const std::string& bench, const std::string& why);

 private:
  void print_json(const Record& record);
  void print_row(const Record& record);

  std::FILE* out_;
  bool json_;
  Origin origin_;
  std::string machine_, launcher_;
  bool header_printed_ = false;
};

/// "host, 2 x AMD EPYC, Linux 6.1.0": the machine that the figures depend on.
std::string machine_name();
/// The program that started this process: weftrun, mpirun, slurmstepd.
std::string launcher_name();
/// Three significant digits with the unit that keeps them short. unit: as in Record.
std::string readable(double value, const std::string& unit);

}  // namespace weft::bench
