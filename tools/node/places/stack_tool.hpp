// SPDX-License-Identifier: BSD-3-Clause
// The program that shows the stack of a process: eu-stack or gdb, whichever PATH has. Text in, text out; only
// find_stack_tool() asks the system.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::node {

struct StackTool {
  enum class Kind { eu_stack, gdb };
  Kind kind;
  std::string path;
};
/// search: as PATH. eu-stack first: it reads less.
std::optional<StackTool> find_stack_tool(std::string_view search);

/// The command about the first thread of a process.
std::vector<std::string> stack_command(const StackTool& tool, pid_t pid);
/// Nothing of this process's own but PATH: a debugger reads files that variables name, and may go to the
/// network for them.
std::vector<std::string> stack_environment(std::string_view search);

/// What the program has written, in lines "#0 poll", "#1 main at a.c:7", without arguments and addresses: two
/// ranks in one place have one text. Empty: it has shown no stack.
std::string stack_in(std::string_view output);
/// Of a program that has shown none: its last words. Empty: it has said nothing.
std::string complaint_in(std::string_view output);

}  // namespace weft::node
