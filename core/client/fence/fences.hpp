// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Fence from its arguments to the place where the members meet: the board of the job, the board of the
// set, or the server. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "core/client/fence/board_fence.hpp"
#include "core/client/fence/set_fences.hpp"
#include "core/store/segment/job_view.hpp"

namespace weft::client {

class Fences {
 public:
  /// Until attach() every fence is a message to the server. is_alone: there is none, and no other process (a
  /// singleton).
  Fences(const pmix_proc_t& self, Connection& connection, bool is_alone)
      : self_(self), connection_(connection), is_alone_(is_alone) {}

  /// Before the first fence. This process is member `local` of the board of its job, which outlives this
  /// object, as the boards do.
  void attach(const JobBoards& boards, store::Board& board, std::uint32_t local);

  /// Blocks until the set has met. nprocs 0: the whole job. The status is the fence's; PMIX_ERR_BAD_PARAM: a
  /// directive that makes no sense; PMIX_ERR_LOST_CONNECTION: the server is gone. Cost: BoardFence::wait(),
  /// or a message and its reply.
  /// Source: PMIx Standard, chapter "Synchronization and Data Access Operations", PMIx_Fence.
  [[gnu::hot]] pmix_status_t fence(const pmix_proc_t* procs, std::size_t nprocs, const pmix_info_t* infos,
                                   std::size_t ninfo);
  /// As fence(), without blocking: done(status) runs on the connection's thread, unless this returns an
  /// error.
  pmix_status_t fence_later(const pmix_proc_t* procs, std::size_t nprocs, const pmix_info_t* infos,
                            std::size_t ninfo, std::function<void(pmix_status_t)> done);

  // On the connection's thread.
  void board_moved(store::BoardNumber board);
  /// Open fences end: no server will complete them.
  void server_lost();

 private:
  struct FenceCall {
    const pmix_proc_t* procs;
    std::size_t nprocs;
    const pmix_info_t* infos;
    std::size_t ninfo;
    store::Wants wants;
    data::Infos* for_host;  ///< null: the caller gave nothing that only a host can obey
  };
  [[gnu::hot]] bool whole_job(const pmix_proc_t* procs, std::size_t nprocs) const noexcept;
  bool are_all_here(const pmix_proc_t* procs, std::size_t nprocs) const noexcept;
  bool is_by_host(const pmix_proc_t* procs, std::size_t nprocs) const noexcept;
  template <class Done>
  std::optional<SetFence::AtBoard> enter_set(const std::shared_ptr<SetFence>& set, const FenceCall& call,
                                             Done&& done, pmix_status_t& started);
  pmix_status_t send_fence(const std::shared_ptr<SetFence>& set, const FenceCall& call,
                           std::function<void(pmix_status_t)> done);

  const pmix_proc_t self_;
  Connection& connection_;
  const bool is_alone_;

  // Empty until attach().
  store::JobView job_;
  std::shared_ptr<BoardFence> job_fence_;
  std::unique_ptr<SetFences> set_fences_;
  store::FirstCall* first_ = nullptr;  ///< null: no launcher accounts for the start
};

}  // namespace weft::client
