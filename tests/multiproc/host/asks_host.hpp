// SPDX-License-Identifier: BSD-3-Clause
// A host that writes down what it is asked, and answers in each style in which a host may.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {

enum class Style { in_the_upcall, later, twice, refused, at_once, never };

/// The requests that the host got, a line each, and how it answers.
struct Asked {
  Style style = Style::later;
  std::mutex mutex;
  std::vector<std::string> lines;
  std::vector<pmix_proc_t> gathered;  ///< of the last connect, in its order

  void add(std::string line) {
    const std::lock_guard lock(mutex);
    lines.push_back(std::move(line));
  }
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex);
    return lines;
  }
  bool wait_for(const std::string& line) {
    return eventually([&] {
      const auto now = all();
      return std::find(now.begin(), now.end(), line) != now.end();
    });
  }
};

/// Has set_all()'s functions write into it; the module's functions carry no context.
void ask_into(Asked& asked);
void set_all(pmix_server_module_t& module);

/// The reference of a handler of this process that does nothing; without codes, a default handler.
size_t handler_of(std::vector<pmix_status_t> codes, Infos infos = {});

}  // namespace weft::test
