// SPDX-License-Identifier: BSD-3-Clause
// What a node reports of a job, and what comes from the nodes below it in the job's tree, until the launcher
// has it: which of it goes in one message, and where to. Without a loop or a channel.
//
// Order     Reports of a node come to the launcher in the order in which they were added.
// Pace      most_under_way messages are not confirmed at a time; what comes meanwhile goes together, with the
//           next one. What goes straight waits for no other.
// Straight  A message is confirmed when the launcher has it. All that is not confirmed goes to the launcher
//           itself, again, and so does what follows, if the server above cannot be reached, if the launcher
//           says so, or with a report that may decide what becomes of the job: a server above may stand still
//           for long before it is lost. The launcher knows reports by node and number, and takes each once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tools/channel/protocol.hpp"
#include "tools/channel/replies.hpp"

namespace weft::weftd {

enum class Way : bool { by_the_tree, straight };

class ReportQueue {
 public:
  using Item = channel::report::Gathered::Item;
  /// Each is under way until the launcher has it: a level of the tree adds a quarter of that time, at most,
  /// to the way of a report, and a server has four messages of each below it to handle at a time.
  static constexpr std::size_t most_under_way = 4;

  ReportQueue(std::uint32_t self, std::uint32_t launcher)
      : self_(self), launcher_(launcher), above_(launcher) {}

  /// From here on by that server, unless reports go straight.
  void report_to(std::uint32_t above) {
    if (!is_straight_) above_ = above;
  }
  /// To the launcher itself, with all that is not confirmed.
  void report_straight();
  std::uint32_t above() const noexcept { return above_; }

  /// A report of this node.
  void add(channel::MessageType type, std::string bytes, Way way);
  /// Reports of nodes below. reply: is sent when the launcher has them; refused: that is not known here.
  void add(std::vector<Item> items, channel::Reply reply);
  /// Nothing waits for another message any more.
  void hurry() { hurries_ = true; }

  struct Batch {
    std::uint64_t number = 0;
    std::uint32_t to = 0;
    std::vector<Item> items;
  };
  /// What is to be sent now. Ends with confirm() or fail() of its number.
  std::optional<Batch> next();
  void confirm(std::uint64_t number);
  /// The server cannot be reached. Of the launcher that is the end: those below report straight.
  void fail(std::uint64_t number);

 private:
  struct Sent {
    std::uint64_t number;
    std::vector<Item> items;
    std::vector<channel::Reply> replies;
  };
  std::deque<Sent>::iterator find(std::uint64_t number);

  const std::uint32_t self_, launcher_;
  std::uint32_t above_;
  std::uint32_t last_report_ = 0;  ///< number of this node's
  std::uint64_t last_batch_ = 0;
  Sent waiting_{};
  std::deque<Sent> under_way_;
  bool is_straight_ = false, hurries_ = false;
  bool does_not_wait_ = false;  ///< what waits
};

}  // namespace weft::weftd
