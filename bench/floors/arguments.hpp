// SPDX-License-Identifier: BSD-3-Clause
// The command line that all floors share: [--json] [--commit TEXT] [--repeats R] n... [-- program
// argument...]
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "bench/report/record.hpp"

namespace weft::bench {

struct Arguments {
  bool json = false;
  std::string commit;
  unsigned repeats = 0;         ///< 0 = the floor's own default
  std::vector<unsigned> sizes;  ///< numbers of processes
  char** program = nullptr;     ///< after "--"; ends with a null pointer

  Reporter reporter() const { return {stdout, json, {"none (bare processes)", commit}}; }
};

[[noreturn]] inline void usage(const char* name, const char* about, int status) {
  std::fprintf(status == 0 ? stdout : stderr,
               "%s: %s\nusage: %s [--json] [--commit TEXT] [--repeats R] n... [-- program argument...]\n",
               name, about, name);
  std::exit(status);
}

inline Arguments parse_arguments(int argc, char** argv, const char* about) {
  Arguments out;
  const auto number = [&](const char* text) {
    char* end = nullptr;
    const unsigned long v = std::strtoul(text, &end, 10);
    if (*text == '\0' || *end != '\0' || v < 1 || v > 1'000'000) usage(argv[0], about, 2);
    return static_cast<unsigned>(v);
  };
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool has_next = i + 1 < argc;
    if (word == "--help") usage(argv[0], about, 0);
    if (word == "--" && has_next) {
      out.program = argv + i + 1;
      break;
    }
    if (word == "--json") {
      out.json = true;
    } else if (word == "--commit" && has_next) {
      out.commit = argv[++i];
    } else if (word == "--repeats" && has_next) {
      out.repeats = number(argv[++i]);
    } else {
      out.sizes.push_back(number(argv[i]));
    }
  }
  if (out.sizes.empty()) usage(argv[0], about, 2);
  return out;
}

}  // namespace weft::bench
