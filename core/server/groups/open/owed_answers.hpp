// SPDX-License-Identifier: BSD-3-Clause
// Answers of operations that have ended for processes of this node before their messages came: of those that
// were in one at a board, and of those that had not called when it failed. The next message of each belongs
// to that operation, whatever directives it brings.
#pragma once

#include <deque>
#include <optional>

#include "core/server/jobs/proc_set.hpp"
#include "core/server/operations/operation_name.hpp"
#include "core/server/types.hpp"

namespace weft::server {

class OwedAnswers {
 public:
  /// Operations. The oldest goes, and a message for it begins another.
  static constexpr std::size_t most = 4096;

  /// answer: as link::encode(link::Answer). set: of a connect and a disconnect; the name alone says which
  /// group's operation it is: members of lost nodes may be left out of the set.
  void add(OperationName name, Procs set, Blob answer, Procs members);
  /// Of the oldest that owes it to the process. Nothing: its message is of a new operation.
  std::optional<Blob> take(const OperationName& name, const Procs& set, const pmix_proc_t& proc);
  bool owes(const OperationName& name, const pmix_proc_t& proc) const;
  /// A process has ended, or all of a namespace: no message comes any more.
  void lose(const pmix_proc_t& proc);
  /// A process has left the group.
  void leave(const std::string& group, const pmix_proc_t& proc);

 private:
  struct Ended {
    OperationName name;
    Procs set;
    Blob answer;
    Procs members;
  };
  std::deque<Ended> all_;
};

}  // namespace weft::server
