// SPDX-License-Identifier: BSD-3-Clause
// Guests of this run: others whose names of SESSION and GLOBAL are kept here. This server is the origin of
// what their processes publish, and asks the keepers for what they look up. The loop's thread only.
//
// Trust     A guest speaks for processes that this server does not see: its user is this server's own, by the
//           kernel's word for its socket. No guest speaks for a namespace of this run or of another guest.
// End       What a guest's processes have published ends with its connection, whatever its persistence.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/link/requests.hpp"
#include "core/server/connections/requester.hpp"
#include "core/server/published/lookups.hpp"

namespace weft::server {

class Published;

class GuestRuns {
 public:
  /// Requests of one guest that are open at a time.
  static constexpr std::size_t most_open = 65'536;

  GuestRuns(Published& published, Lookups& lookups) : published_(published), lookups_(lookups) {}
  GuestRuns(const GuestRuns&) = delete;
  GuestRuns& operator=(const GuestRuns&) = delete;

  /// is_own: whether this run has such a namespace.
  using IsOwn = std::function<bool(const std::string& nspace)>;
  void serve(const Requester& from, const link::GuestRequest& request, const IsOwn& is_own);
  void closed(const ConnectionRef& connection);
  /// A process has read a name that goes with that; perhaps a guest's.
  void take(const std::string& key, std::uint64_t number);
  std::size_t count() const noexcept { return guests_.size(); }

 private:
  /// A call of PMIx_Publish in a guest's run.
  struct Kept {
    NodeNumber origin;
    std::uint64_t number;  ///< there
    std::map<std::string, NameRef> names;
  };
  struct Guest {
    std::set<std::string> nspaces;       ///< that it has spoken for
    std::map<std::uint64_t, Kept> kept;  ///< by the number of the call here
    std::map<std::pair<NodeNumber, std::uint64_t>, std::uint64_t> by_origin;  ///< its own number to that here
    std::size_t open = 0;
  };

  static bool may_be_guest(const ClientConnection& connection);
  bool may_speak_for(const ConnectionRef& guest, const std::string& nspace, const IsOwn& is_own) const;
  void begin(const Requester& from);
  void publish(const Requester& from, NodeNumber origin, Bytes body, const IsOwn& is_own);
  void look_up(const Requester& from, Bytes body, const IsOwn& is_own);
  void forget(const Requester& from, NodeNumber origin, Bytes body);
  void end(const Requester& from, pmix_status_t status, std::vector<std::byte> body = {});
  void drop(Guest& guest, std::uint64_t number);

  Published& published_;
  Lookups& lookups_;
  std::map<ConnectionRef, Guest> guests_;
};

}  // namespace weft::server
