// SPDX-License-Identifier: BSD-3-Clause
// The standard streams of all jobs of the run, for the processes and tools that want them: what these pull
// goes to their servers, and what they push goes to the job's input. On the loop.
#pragma once

#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "tools/cluster/cluster.hpp"
#include "tools/host/server.hpp"
#include "tools/io/input/pushed_input.hpp"
#include "tools/io/pulls/pulls.hpp"

namespace weft::weftrun {

class StandardIo {
 public:
  using Reply = host::Server::Events::Reply;
  /// say: a line for the user. drained: as Pulls::Events.
  StandardIo(asio::io_context& loop, std::function<void(const std::string& line)> say,
             std::function<void()> drained);

  /// The way to other nodes; null: there is none.
  void serve(cluster::Cluster* cluster) { cluster_ = cluster; }
  io::Pulls& pulls() noexcept { return pulls_; }

  /// A job whose ranks take pushes; outlives its entry here.
  void add(const std::string& nspace, io::PushedInput& input) { inputs_.emplace(nspace, &input); }
  void remove(const std::string& nspace) { inputs_.erase(nspace); }

  /// node: of the process or tool that asks; nothing: it is one of weftrun's own server. reply: once, perhaps
  /// at once.
  using Node = std::optional<std::uint32_t>;
  void pull(Node node, const job::PullRequest& request, const Reply& reply);
  void push(Node node, const job::PushRequest& request, const Reply& reply);
  /// The calls of this server's own processes, which come on threads of the library.
  void take_calls(host::Server::Events& events);

  void lose_process(const job::ProcessName& process);
  void lose_node(std::uint32_t node);
  /// Some reader is on another node: its daemon is wanted as long as bytes are on the way.
  bool has_far_readers() const noexcept { return has_far_readers_; }

 private:
  static constexpr std::uint32_t here = UINT32_MAX;  ///< as a node of a reader
  void deliver(std::uint32_t node, const job::PullName& to, const io::Flow& flow, const std::string& bytes,
               std::function<void()> delivered);
  void on_dropped(std::uint32_t node, const job::PullName& name);
  template <class Request, class Handle>
  auto on_loop(Handle handle);

  asio::io_context& loop_;
  const std::function<void(const std::string& line)> say_;
  cluster::Cluster* cluster_ = nullptr;
  io::Pulls pulls_;
  std::map<std::string, io::PushedInput*> inputs_;
  bool has_far_readers_ = false;
};

}  // namespace weft::weftrun
