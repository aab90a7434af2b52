// SPDX-License-Identifier: BSD-3-Clause
// The agreement of the servers about lost nodes: a collective with one of them ends the same way at every
// server that is left, and so does what the rooms of the server have open with it (view_room.hpp). The same
// for collectives that a server has given up though its part is with the others (Engine::give_up()).
//
//   a server with something undecided      the leader: the lowest left          each other server
//      | view_wanted {number, about} ---------->|                                    |
//      |    (unless the leader has asked)       |                                    |
//      |                                        | view_report {number, about} ------>| hears the lost no more
//      |                                        |<-- what is undecided, has ended ---|
//      |                                        | decides each once                  |
//      |                                        | view_install {number, decisions} ->| each undecided ends
//
// Decision  Ended well somewhere: it ends well everywhere, with what was contributed, from a server that has
//           it (view_result). Ended otherwise somewhere: so. Else it fails, with a lost node's number and the
//           highest that one of the servers has asked for (AfterLoss): what begins again then is the same
//           everywhere, because its members are those before without that node. A server that has reported
//           something as undecided ends it by the decision only, and begins no collective with a node that it
//           knows to be lost: so what is decided is all there is.
// Losses    Of another node meanwhile: the leader asks anew, with a higher number. Of the leader: the next
//           lowest asks, as soon as a server with something undecided wants it; what an earlier leader's
//           decision has ended at a server is then what has ended there.
// Leaving   A server that leaves in good order says so behind all that it has decided, and decides nothing
//           from then on: the others do not count it any more.
// About     A view is about the losses that its request names, and what was given up: where a server knows of
//           more, it wants another. A room may want one before a loss is known: that of a server that leaves.
// Cost      Without anything undecided a loss costs no message. Else, of n servers that are left, four times
//           n messages and n results.
// Threads   The server's loop.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "collectives/engine.hpp"
#include "core/server/cluster/rpc.hpp"
#include "core/server/cluster/view_room.hpp"
#include "core/server/loop/loop.hpp"
#include "transport/mesh/mesh.hpp"

namespace weft::server {

class Views {
 public:
  /// What a view is about.
  struct Request {
    static constexpr std::uint16_t wire_version = 2;
    std::uint64_t number = 0;  ///< of view_wanted: of the last view that the sender has reported to
    collectives::Unsettled about{};
  };
  struct Report {
    static constexpr std::uint16_t wire_version = 3;
    collectives::Engine::Account collectives{};
    std::vector<std::vector<std::byte>> rooms{};  ///< of each ViewRoom, in their order
    enum class Outcome : std::uint8_t {
      reports,
      has_newer,  ///< the server has reported to a later view, and this one is asked for again
      has_left,   ///< the server leaves, and takes part in no view
    };
    Outcome outcome = Outcome::reports;
  };
  struct Decision {
    collectives::End end;
    NodeNumber holder = 0;  ///< of one that has ended well: a server that has ended it so
  };
  struct Installation {
    static constexpr std::uint16_t wire_version = 2;
    std::uint64_t number = 0;
    std::vector<Decision> decisions;
    std::vector<std::vector<std::byte>> rooms{};  ///< as ViewRoom::decide(), in their order
  };
  /// The reply to view_result.
  struct Result {
    static constexpr std::uint16_t wire_version = 1;
    std::optional<collectives::Contributions> contributions;  ///< nothing: they are not kept any more
  };
  /// The servers of other nodes.
  class Others {
   public:
    virtual std::vector<NodeNumber> others() const = 0;
    /// That node counts as lost from here on; the watcher of the mesh tells of it later.
    virtual void take_for_lost(NodeNumber node) = 0;

   protected:
    ~Others() = default;
  };

  /// nodes: how many the cluster has. rooms: the same at all servers, and in the same order.
  Views(Loop& loop, NodeNumber self, NodeNumber nodes, mesh::Mesh& mesh, Rpc& rpc,
        collectives::Engine& engine, Others& others, const std::vector<ViewRoom*>& rooms);
  Views(const Views&) = delete;
  Views& operator=(const Views&) = delete;

  /// From the mesh's watcher.
  void node_lost(NodeNumber node);
  /// A later server has that number.
  void node_is_back(NodeNumber node) { lost_.erase(node); }
  /// A room has come to wait for a node that is lost.
  void want() noexcept { is_wanted_ = true; }
  /// This server leaves, and the others know it: it leads no view any more, and reports to none.
  void close() noexcept;
  /// After the progress of engine and rpc: asks for what is undecided. True: it has.
  bool progress();

  /// What all reports make of what one of them at least has not decided.
  static std::vector<Decision> decide(const std::map<NodeNumber, Report>& reports);

 private:
  weft::Result<Request> read(NodeNumber from, Bytes body) const;
  void on_wanted(NodeNumber from, Bytes body, const Rpc::Reply& reply);
  void on_report(NodeNumber from, Bytes body, const Rpc::Reply& reply);
  void on_install(NodeNumber from, Bytes body, const Rpc::Reply& reply);
  void on_result(Bytes body, const Rpc::Reply& reply);
  bool learn(const collectives::Unsettled& about);
  collectives::Unsettled known() const;
  NodeNumber leader() const;
  void tell_leader();
  void begin_round();
  void take(NodeNumber from, Report report);
  bool has_undecided() const;
  void install(const Installation& installation);
  void fetch(const Decision& decision);
  Report report(const collectives::Unsettled& about);

  Loop& loop_;
  const NodeNumber self_, nodes_;
  mesh::Mesh& mesh_;
  Rpc& rpc_;
  collectives::Engine& engine_;
  Others& others_;
  const std::vector<ViewRoom*>& rooms_;
  std::set<NodeNumber> lost_;
  std::pair<std::uint64_t, NodeNumber>
      newest_{};  ///< number and leader of the view that this server has reported to last
  bool is_closed_ = false;
  bool is_wanted_ = false;           ///< something may be undecided that no view covers
  std::optional<Timer> patience_{};  ///< until the leader is told that a view is wanted
  // Of the leader:
  bool is_for_others_ = false;  ///< a view is wanted by another server, or was not brought to its end
  bool is_asking_ = false;
  /// What other servers have given up, and may have ended here, until a view has been about it.
  std::map<collectives::Engine::Key, collectives::Why> wanted_;
  std::vector<collectives::GivenUp> asked_;  ///< what the last view was about, of these
  std::set<NodeNumber> silent_;              ///< have not reported
  std::map<NodeNumber, Report> reports_;
};

template <class Archive>
void fields(Archive& archive, Views::Request& m) {
  archive(m.number, m.about.lost, m.about.given_up);
}
template <class Archive>
void fields(Archive& archive, Views::Report& m) {
  archive(m.collectives.undecided, m.collectives.ended, m.rooms, m.outcome);
}
inline bool is_valid(const Views::Report& m) {
  return m.outcome <= Views::Report::Outcome::has_left;
}
template <class Archive>
void fields(Archive& archive, Views::Decision& m) {
  archive(m.end, m.holder);
}
template <class Archive>
void fields(Archive& archive, Views::Result& m) {
  archive(m.contributions);
}
template <class Archive>
void fields(Archive& archive, Views::Installation& m) {
  archive(m.number, m.decisions, m.rooms);
}

}  // namespace weft::server
