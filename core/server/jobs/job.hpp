// SPDX-License-Identifier: BSD-3-Clause
// A registered namespace, as the server's loop thread holds it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "core/data/value.hpp"
#include "core/server/fences/node_fences.hpp"
#include "core/server/clients/connection.hpp"
#include "core/store/job_builder.hpp"

namespace weft::server {

/// What the host said about a local client before the client itself came.
struct Registered {
  uid_t uid = 0;
  gid_t gid = 0;
  void* object = nullptr;
};

struct Job {
  std::string nspace;
  std::map<std::uint32_t, Registered> clients;  ///< by rank; may come before the namespace itself
  std::optional<store::JobWriter> writer;       ///< once the namespace is registered
  std::map<std::uint32_t, std::shared_ptr<Session>> sessions;  ///< by local index
  std::map<std::uint32_t, std::uint64_t> collected;  ///< by local index: card bytes that fences have sent
  std::map<std::uint32_t, std::uint32_t> fetching;   ///< by local index: number of its last question
  /// One of its processes was initialized again after its finalize: a finalized one is expected back while it runs.
  bool comes_back = false;
  std::map<std::uint32_t, std::shared_ptr<asio::posix::stream_descriptor>>
      expected;                   ///< by local index: its pidfd
  std::vector<NodeNumber> nodes;  ///< that have ranks of it, ascending
  bool board_exchanging = false;  ///< all are here; the other nodes' part of the open generation is awaited
  std::optional<NodeFences::Key> board_exchange;  ///< by ourselves, not by the host
  /// Who left while the open generation was exchanged: it had arrived, so the exchange decides; then it is lost.
  std::vector<std::pair<std::uint32_t, pmix_status_t>> left_meanwhile;

  const store::JobView& view() const { return writer->view(); }
  store::Board& board() const { return view().board(); }
};

}  // namespace weft::server
