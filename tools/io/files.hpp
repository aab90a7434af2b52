// SPDX-License-Identifier: BSD-3-Clause
// --output-dir: what each rank of a job writes in files of its own. Ranks of this node get the files
// themselves; flows of other nodes end here.
#pragma once

#include <functional>
#include <string>

#include "tools/io/flow.hpp"
#include "tools/process/fd.hpp"

namespace weft::io {

class Files final : public Sink {
 public:
  /// A write to this file failed. Once.
  using Failed = std::function<void(const std::string& file, int error)>;
  /// directory: made if it does not exist. Throws Stop (own_failure).
  Files(std::string directory, Failed failed);

  /// The descriptors of a rank of this node. The files of another node's rank are made by it as well, so that
  /// a directory that cannot be written to is noticed before anything is started. Throws Stop (own_failure).
  struct Ends {
    process::Fd out, error;
  };
  Ends open(job::Rank rank) const;

  void write(const Flow& flow, std::string bytes, Written written) override;

  /// After the end of a rank of this node: a rank that ignores the errors of its writes loses output where
  /// the file system is full, and this call counts that as a failed write.
  void check_room(job::Rank rank);

 private:
  void append(const std::string& file, const std::string& bytes);
  void fail(const std::string& file, int error);

  const std::string directory_;
  const Failed failed_;
  bool has_failed_ = false;
};

}  // namespace weft::io
