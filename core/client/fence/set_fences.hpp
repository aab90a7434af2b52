// SPDX-License-Identifier: BSD-3-Clause
// The fences of sets that are not the whole job: which of them have a board, and which go to the server.
//
// The first fence of a set is a message; the server's answer may offer a board. From then on the fences of
// the set are at the board, until it is closed; then the next one is a message again. One process never has
// fences of a set at both: the order of its fences would be lost, and the server, which stands in at the
// board for a member that fenced by message, would arrive for a member that arrives itself.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/client/fence/board_fence.hpp"
#include "core/link/messages.hpp"

namespace weft::client {

/// A caller's array of processes, kept in 4 bytes a process and compared with as many loads.
class ProcList {
 public:
  explicit ProcList(std::span<const pmix_proc_t> procs);
  bool matches(std::span<const pmix_proc_t> procs) const noexcept;
  std::size_t size() const noexcept { return ranks_.size(); }

 private:
  struct Run {
    std::string nspace;
    std::size_t end;  ///< of the processes of that namespace that follow each other
  };
  std::vector<std::uint32_t> ranks_;
  std::vector<Run> runs_;
};

/// The fences of one set. Any thread.
class SetFence {
 public:
  /// Opens the place at a board that the server offered; nothing if the offer makes no sense.
  using Open = std::function<std::shared_ptr<BoardFence>(const link::BoardOffer&)>;
  struct AtBoard {
    std::shared_ptr<BoardFence> board;
    BoardFence::Ticket ticket;
  };

  explicit SetFence(Open open) : open_(std::move(open)) {}

  /// A ticket at the board; or nothing, and send() has been called: the fence is a message, and
  /// message_ended() is owed.
  /// for_host: as in BoardFence::take_ticket.
  template <class Send>
  std::optional<AtBoard> enter(store::Wants wants, Send&& send, data::Infos* for_host = nullptr);
  /// offer: what came with the answer, if anything did.
  void message_ended(const std::optional<link::BoardOffer>& offer);
  /// Where its fences are now, if it is at a board of that number; 0: of any.
  std::shared_ptr<BoardFence> board(store::BoardNumber number = 0) const;

 private:
  const Open open_;
  mutable std::mutex mutex_;  // guards the rest; send() is called under it, so that messages leave in order
  std::shared_ptr<BoardFence> board_;
  store::BoardNumber number_ = 0;
  unsigned by_message_ = 0;  ///< fences that have not ended
};

/// Finds the SetFence of a caller's array. Any thread. Bounded in arrays and in processes; the array that was
/// not used for longest is forgotten.
class SetFences {
 public:
  static constexpr std::size_t most_arrays = 64;
  static constexpr std::size_t most_procs = std::size_t{1} << 15;  ///< of all arrays

  explicit SetFences(SetFence::Open open) : open_(std::move(open)) {}

  /// Arrays that name the same processes share one SetFence, for as long as one of them is kept or used.
  /// Null: too many processes to be kept; the fence is a message and the server remembers.
  std::shared_ptr<SetFence> find(std::span<const pmix_proc_t> procs);
  /// On the connection's thread.
  void board_moved(store::BoardNumber number);
  void server_lost();

 private:
  struct Array {
    ProcList procs;
    std::shared_ptr<SetFence> set;
    std::uint64_t used;
  };
  struct Set {
    ProcList canonical;
    std::weak_ptr<SetFence> set;
  };
  std::shared_ptr<SetFence> add(std::span<const pmix_proc_t> procs);
  std::vector<std::shared_ptr<SetFence>> in_use() const;

  const SetFence::Open open_;
  mutable std::mutex mutex_;  // guards the rest
  std::vector<Array> arrays_;
  std::vector<Set> sets_;
  std::size_t kept_procs_ = 0;
  std::uint64_t uses_ = 0;
};

template <class Send>
std::optional<SetFence::AtBoard> SetFence::enter(store::Wants wants, Send&& send, data::Infos* for_host) {
  const std::lock_guard lock(mutex_);
  if (board_ != nullptr) {
    if (const auto ticket = board_->take_ticket(wants, for_host)) return AtBoard{board_, *ticket};
    board_.reset();  // closed, and a closed board has no open fence of this process
  }
  ++by_message_;
  send();
  return std::nullopt;
}

}  // namespace weft::client
