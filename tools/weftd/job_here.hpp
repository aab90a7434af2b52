// SPDX-License-Identifier: BSD-3-Clause
// One job at this node's daemon: its ranks, what they write and read, and how far its life is (states.hpp).
// What the launcher orders comes in by a call; reports go to the launcher, up the job's tree (job_tree.hpp).
// On the loop.
#pragma once

#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/threads/weak_self.hpp"
#include "tools/channel/launch_order.hpp"
#include "tools/channel/server_channel.hpp"
#include "tools/host/server.hpp"
#include "tools/io/input/input_pipes.hpp"
#include "tools/io/input/push_pipes.hpp"
#include "tools/io/pipes.hpp"
#include "tools/messages/stop.hpp"
#include "tools/node/node.hpp"
#include "tools/weftd/job_tree.hpp"
#include "tools/weftd/states.hpp"

namespace weft::weftd {

class JobHere final : io::Sink {
 public:
  /// What all jobs of the daemon have in common; outlives them.
  struct Place {
    asio::io_context& loop;
    node::Node& node;
    host::Server& server;
    channel::ServerChannel& channel;
    std::uint32_t launcher;
    bool has_launcher = true;  ///< else reports about ranks go nowhere
  };
  /// over: it is to be forgotten; not inside a call of this. Once.
  JobHere(Place& place, std::string nspace, std::function<void()> over);
  ~JobHere();
  JobHere(const JobHere&) = delete;
  JobHere& operator=(const JobHere&) = delete;

  JobTree& tree() noexcept { return tree_; }

  // Orders.
  /// refusal: why it cannot be.
  void launch(const channel::order::Launch& launch, const std::optional<messages::Stop>& refusal = {});
  void signal(int number, const std::vector<job::Rank>& named);
  void write_input(const std::string& bytes, channel::Reply taken);
  void push_input(const channel::order::Pushed& input, channel::Reply taken);
  void close_output(job::Stream stream) { output_pipes_.close(stream); }
  void tell_places(std::uint64_t number, bool wants_stacks);
  /// gone: goes out when the job has been forgotten.
  void end(const std::optional<job::Ending>& ending, channel::Reply gone);
  /// The end of the daemon.
  void end() { step(JobEvent::ended); }

  JobState state() const noexcept { return state_; }
  bool awaits_launch() const noexcept { return !is_launched_; }

 private:
  void step(JobEvent event);
  void start();
  void start_ranks(channel::report::Started& report);
  void tell_settled();
  process::Fd connect_input(job::Rank rank);
  void close_input();
  void end_orphans();
  void on_rank_ended(const job::RankEnd& ended);
  void tell_ends();
  /// What ranks write goes to the launcher, straight.
  void write(const io::Flow& flow, std::string bytes, io::Written written) override;
  /// Up the tree, behind the ends of ranks that have been seen before.
  template <class Report>
  void report(const Report& report, Way way = Way::by_the_tree);

  Place& place_;
  const std::string nspace_;
  std::function<void()> over_;
  JobState state_ = JobState::awaited;
  JobTree tree_;
  node::LocalRanks& ranks_;
  io::Pipes output_pipes_;
  io::InputPipes input_pipes_;
  io::PushPipes push_pipes_;
  const channel::order::Launch* launch_ = nullptr;  ///< in launch()
  std::optional<messages::Stop> refusal_;
  bool is_launched_ = false;
  bool is_told_to_end_ = false;     ///< its ranks: that they fail then decides nothing
  std::vector<job::RankEnd> ends_;  ///< that are not reported yet
  std::vector<channel::Reply> gone_;
  const base::WeakSelf<JobHere> weak_self_{this};
};

}  // namespace weft::weftd
