// SPDX-License-Identifier: BSD-3-Clause
// Where the standard output and standard error of every rank go: through weftrun, or into files of their own.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/node/fd.hpp"
#include "tools/node/rank.hpp"
#include "tools/weftrun/sink.hpp"

namespace weft::weftrun {

using namespace node;

class Output {
 public:
  struct Events {
    std::function<void()> drained;  ///< every rank's output has been written to its end
    std::function<void(const char* stream, int error)> lost;
  };

  /// directory: empty, or where to put the files; it is made if need be. Throws Stop (own_failure).
  Output(asio::io_context& loop, const std::string& directory, bool tagged, Events events);

  /// What a rank gets as descriptors 1 and 2; close them here once it has started. Throws Stop (own_failure).
  struct Ends {
    Fd out, error;
  };
  Ends connect(Rank rank);

  /// The file with the rank's standard error; empty when it is forwarded.
  std::string error_file(Rank rank) const;

  void say(std::string line);
  void say_after(Rank rank, std::string line);  ///< after what an ended rank has said on standard error
  bool is_drained() const noexcept;
  void abandon();

 private:
  Ends open_files(Rank rank) const;
  void check_drained();

  std::string directory_;
  bool tagged_;
  Events events_;
  std::unique_ptr<Sink> out_;
  std::unique_ptr<Sink>
      separate_error_;  // null when both streams are one file: a line must not be cut by the other
  Sink* error_;
};

}  // namespace weft::weftrun
