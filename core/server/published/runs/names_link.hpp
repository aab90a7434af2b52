// SPDX-License-Identifier: BSD-3-Clause
// At a guest: the connection to a server of the run that keeps its names of SESSION and GLOBAL. This server
// is a tool there, and speaks for all processes of its run. The loop's thread only.
//
// Loss      Each open request ends as PMIX_ERR_LOST_CONNECTION, and so does each that comes later: the other
//           run does not come back, and its names have gone with it.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "base/fd.hpp"
#include "core/link/requests.hpp"
#include "core/server/connections/connection.hpp"
#include "core/server/loop/loop.hpp"
#include "core/server/types.hpp"

namespace weft::server {

class NamesLink final : ClientConnection::Owner {
 public:
  using Call = link::GuestRequest::Call;
  /// Never inside of send(). The bytes are valid during the call.
  using Replied = std::function<void(pmix_status_t status, Bytes body)>;
  struct Events {
    std::function<void(const link::GuestTaken&)> taken;
    /// Once, after the open requests have ended.
    std::function<void(const pmix_proc_t& server)> lost;
  };
  /// The other server replies to the first message within so long.
  static constexpr std::chrono::seconds patience{10};

  NamesLink(Loop& loop, Events events) : loop_(loop), events_(std::move(events)) {}
  ~NamesLink();
  NamesLink(const NamesLink&) = delete;
  NamesLink& operator=(const NamesLink&) = delete;

  /// socket: of a tool that `server` has let in. done: PMIX_SUCCESS: from here on names go there.
  /// PMIX_ERR_EXISTS (there is one), _NOT_SUPPORTED (a server of another release), _TIMEOUT, those of the
  /// other server.
  void open(base::Fd socket, const pmix_proc_t& server, Done done);
  /// Names of SESSION and GLOBAL are another run's matter, whether it is there or was lost.
  bool is_used() const noexcept { return is_used_; }
  /// Returns its tag, for end_wait(). origin: the node of this run whose process wants it.
  std::uint64_t send(Call call, std::uint32_t origin, std::vector<std::byte> body, Replied replied);
  /// The lookup of that tag waits no more; it has its reply all the same.
  void end_wait(std::uint64_t tag);
  std::size_t open() const noexcept { return replied_.size(); }

 private:
  void on_frame(const ConnectionRef& from, link::Frame frame) override;
  void on_closed(const ConnectionRef& connection) override;
  void begun(pmix_status_t status);
  void close();
  void take_reply(std::uint64_t tag, pmix_status_t status, Bytes body);

  Loop& loop_;
  const Events events_;
  ConnectionRef connection_;  ///< null: there is none
  pmix_proc_t server_{};
  bool is_used_ = false;
  Done begun_;  ///< null: it has begun
  std::unique_ptr<Timer> deadline_;
  std::map<std::uint64_t, Replied> replied_;  ///< by tag
  std::uint64_t last_tag_ = 0;
};

}  // namespace weft::server
