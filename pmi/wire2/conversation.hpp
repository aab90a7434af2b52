// SPDX-License-Identifier: BSD-3-Clause
// Answers what one program asks in PMI-2, as the PMIx client of its rank.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pmi/job/job.hpp"
#include "pmi/wire2/frames.hpp"
#include "pmi/wire2/requests.hpp"
#include "pmi/wire2/spawn_fields.hpp"

namespace weft::pmi::wire2 {

class Conversation {
 public:
  /// told_size: of the job, as the program was told. The job opens with fullinit.
  Conversation(Job& job, std::uint32_t told_size) : job_(job), told_size_(told_size) {}

  /// What one message, or a part of one, has led to.
  struct Step {
    std::string reply = {};      ///< bytes for the program; may be none
    std::string complaint = {};  ///< for the rank's standard error; empty: nothing to say
    bool is_over = false;        ///< after finalize: what follows is no frame
    bool is_error = false;       ///< what came is no frame, and nothing is read after it
    std::string bytes = {};      ///< what it was
  };
  /// Takes as much of `bytes` as the next message needs, and removes it there.
  Step next(std::string_view& bytes);

  /// Replies to requests that have waited for an attribute of the node: no call of PMIx waits for a key of
  /// any rank, so these look again. None yet: the next pause is longer.
  std::string answer_waits();
  /// The time until answer_waits(). Nothing: no request waits.
  std::optional<std::chrono::milliseconds> pause() const;

 private:
  struct Wait {
    std::string thread, key;
  };

  Step answer(const Message& message);
  Step answer(const Request& request, const Message& message);
  std::string reply_to(const Request& request, Reply reply);
  Step init(Reply reply);
  std::string finalize(Reply reply);
  std::string spawn(const Message& message);
  std::string get(const Request& request, Reply reply) const;
  std::string connect(const Request& request, Reply reply);
  std::string get_of_node(const Request& request, Reply reply, std::string thread);
  std::string look_up(const Request& request, Reply reply) const;

  Job& job_;
  std::uint32_t told_size_;
  FrameReader reader_;
  SpawnFields spawn_;
  std::vector<Wait> waits_;
  std::chrono::milliseconds pause_{};
};

}  // namespace weft::pmi::wire2
