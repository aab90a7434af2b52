// SPDX-License-Identifier: BSD-3-Clause
// Serves one rank that speaks the wire form of PMI-1 or of PMI-2, as the PMIx client of that rank.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "pmi/job/job.hpp"
#include "pmi/wire.hpp"
#include "pmi/wire2/conversation.hpp"

namespace weft::pmi {

class Agent {
 public:
  /// socket: the other end is the program's. size: of the job, as the program was told. name: of the rank,
  /// "rank 3 on n01", for lines on standard error.
  Agent(base::Fd socket, std::uint32_t size, std::string name)
      : socket_(std::move(socket)), told_size_(size), name_(std::move(name)) {}

  /// Until the program has ended, or holds the socket no more, or says what is no PMI. Begins to be a PMIx
  /// client with the first request, so a program that makes none can be one itself. `program` is a descriptor
  /// of the process (base/process).
  void run(int program);

 private:
  /// False: nothing more is to be read.
  bool read_some();
  bool take_line(std::string_view& bytes);
  bool take_frame(std::string_view& bytes);
  bool answer(const Request& request);
  std::string reply_to(const Request& request);
  std::string init(const Request& request);
  std::string look_up(const Request& request) const;
  std::string get(const Request& request) const;
  std::string spawn(const Request& request) const;
  bool fence();
  bool send_line(std::string_view line);
  bool send(std::string_view bytes);
  void complain(std::string_view what) const;

  base::Fd socket_;
  std::uint32_t told_size_;
  std::string name_;
  Job job_;
  RequestReader reader_;
  std::optional<wire2::Conversation> version2_;  // from an init of version 2 to finalize
};

}  // namespace weft::pmi
