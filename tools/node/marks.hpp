// SPDX-License-Identifier: BSD-3-Clause
// By what the processes of a job on this node are known, whatever becomes of their parents: a variable that
// each rank has in its environment, and gives to what it starts. WEFT_NODE=<launch>.<job>.<node>: the
// launch's name, the number of the job among those of this process, the number of the node.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace weft::node {

/// What such variables have in common: those of one job, or of all jobs of a node.
struct Mark {
  std::string begin;  ///< "WEFT_NODE=<launch>."
  std::string end{};  ///< ".<node>"

  static Mark of_node(const std::string& launch, std::uint32_t node);
  static std::string variable(const std::string& launch, std::uint32_t job, std::uint32_t node);
};

/// unknown: in the middle of an execve the environment of a process cannot be read.
enum class HasMark { no, yes, unknown };
HasMark has_mark(pid_t pid, const Mark& mark);
/// The same of one variable.
HasMark has_variable(pid_t pid, const std::string& variable);

}  // namespace weft::node
