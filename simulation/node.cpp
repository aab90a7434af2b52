// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/node.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "core/store/segment/job_builder.hpp"
#include "simulation/require.hpp"

namespace weft::simulation {
namespace {

constexpr std::size_t segment_bytes = std::size_t{256} << 20;  // virtual
constexpr std::uint64_t card_bytes = std::uint64_t{64} << 10;

/// A host that lets processes pull output, and offers nothing else.
pmix_server_module_t host_module() {
  pmix_server_module_t out{};
  out.iof_pull = [](const pmix_proc_t*, std::size_t, const pmix_info_t*, std::size_t, pmix_iof_channel_t,
                    pmix_op_cbfunc_t, void*) -> pmix_status_t { return PMIX_OPERATION_SUCCEEDED; };
  return out;
}

void open(server::Cluster& cluster, Loop& loop, sim::Network& network, const Node::Place& place) {
  server::ClusterSpec spec;
  spec.self = place.self;
  spec.nodes = place.nodes;
  spec.key = *mesh::JobKey::from(std::vector<std::byte>(mesh::JobKey::bytes, std::byte{1}));
  const auto open_fabric = [&](mesh::Watcher& watcher, mesh::NodeIncarnation self) {
    auto transport = std::make_unique<sim::SimTransport>(network);
    auto endpoint = transport->open({});
    require(endpoint.has_value(), "an endpoint of the simulated network");
    // No time is spent on looking: what comes wakes the node.
    server::Fabric::Options options;
    options.wait.yield = {};
    options.limits = place.limits;
    return server::Fabric::Opened{
        server::Fabric::over(loop, "sim", std::move(transport), std::move(*endpoint), *spec.key, self,
                             spec.nodes, watcher, options),
        {}};
  };
  const auto opened = cluster.open(spec, server::Cluster::Carrier{1, open_fabric});
  require(opened.is_open, "a cluster");
  if (place.costs) cluster.costs().take(*place.costs);
}

}  // namespace

Node::Node(sim::Network& network, const Loop::TimePoint& now, const Place& place)
    : host_name_("host" + std::to_string(place.self)),
      self_(link::make_proc("server", place.self)),
      loop_(io_, &now),
      handlers_(events::Identity{self_, {}}),
      cluster_(loop_, host_name_, place.machine) {
  auto segment = shm::Segment::create(segment_bytes);
  require(segment && store::format_segment(*segment), "a segment");
  segment_ = std::move(*segment);
  open(cluster_, loop_, network, place);
  server::Rooms::Settings settings;
  settings.host_name = host_name_;
  settings.limits.card_bytes = card_bytes;
  settings.width_of_ends = place.width_of_ends;
  const auto module = host_module();
  rooms_ = std::make_unique<server::Rooms>(loop_, self_, &module, *segment_, tokens_, handlers_, cluster_,
                                           settings);
  rounds_.emplace(*rooms_, watch_);
}

Node::~Node() {
  close_connections();
  rooms_->leave_cluster();
  rooms_.reset();
}

void Node::close_connections() {
  is_closing_ = true;
  for (const auto& connection : std::vector<server::ConnectionRef>(connections_)) {
    connection->leaving = true;
    connection->close();
  }
}

void Node::say_goodbye() {
  close_connections();
  cluster_.say_goodbye(std::chrono::milliseconds(0));
}

void Node::add(Bytes contact) {
  const auto why_not = cluster_.contacts().add(contact);
  require(why_not.empty(), why_not.c_str());
}

void Node::register_job(const Job& spec) {
  std::string names, ranks;
  std::uint32_t nodes_with_ranks = 0;
  int local_size = 0;
  auto& job = rooms_->jobs.announce(spec.nspace);
  for (NodeNumber node = 0; node < spec.nodes; ++node) {
    names += (node == 0 ? "host" : ",host") + std::to_string(node);
    std::string here;
    for (std::uint32_t rank = 0; rank < spec.node_of_rank.size(); ++rank) {
      if (spec.node_of_rank[rank] != node) continue;
      here += (here.empty() ? "" : ",") + std::to_string(rank);
      if (node != self()) continue;
      job.clients[rank] = {::getuid(), ::getgid(), nullptr};
      ++local_size;
    }
    nodes_with_ranks += here.empty() ? 0 : 1;
    ranks += (node == 0 ? "" : ";") + here;
  }
  data::Infos infos;
  if (spec.is_spawned) infos.add(PMIX_SPAWNED, data::Value::of(true));
  infos.add(PMIX_JOB_SIZE, data::Value::of(static_cast<std::uint32_t>(spec.node_of_rank.size())));
  infos.add(PMIX_NUM_NODES, data::Value::of(nodes_with_ranks));
  infos.add(PMIX_NODEID, data::Value::of(std::uint32_t{self()}));
  infos.add(PMIX_NODE_MAP, data::Value::of(std::string_view(names)));
  infos.add(PMIX_PROC_MAP, data::Value::of(std::string_view(ranks)));
  const auto status = rooms_->register_nspace(spec.nspace, local_size, infos);
  require(status == PMIX_SUCCESS, "a job that is registered");
}

void Node::end_job(const std::string& nspace) {
  auto* const job = rooms_->jobs.find(nspace);
  require(job != nullptr, "a job that ends");
  rooms_->clients.remove_all(*job, [this, nspace] {
    rooms_->end_nspace(nspace);
    handlers_.forget_namespace(nspace);
  });
}

void Node::deliver(const pmix_proc_t& source, std::vector<std::byte> bytes) {
  ++undelivered_;
  rooms_->outputs.deliver({source, PMIX_FWD_STDOUT_CHANNEL, std::move(bytes), {}},
                          [this](pmix_status_t) { --undelivered_; });
}

base::Fd Node::connect() {
  int ends[2] = {-1, -1};
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0, "a socket");
  using server::ClientConnection;
  const auto connection = std::make_shared<ClientConnection>(
      ClientConnection::Socket(io_, asio::local::stream_protocol(), ends[0]),
      static_cast<ClientConnection::Owner&>(*this));
  connections_.push_back(connection);
  connection->start();
  return base::Fd(ends[1]);
}

bool Node::round() {
  rounds_->drain_notices();
  io_.restart();
  bool has_moved = io_.poll() != 0;
  if (const auto due = loop_.next(); due && *due <= loop_.now()) {
    loop_.run_due();
    has_moved = true;
  }
  return rounds_->progress(true) || has_moved;
}

Loop::TimePoint Node::deadline() const noexcept {
  return std::min(loop_.next().value_or(Loop::TimePoint::max()), pace_of(cluster_).deadline());
}

void Node::on_frame(const server::ConnectionRef& from, link::Frame frame) {
  const server::LoopWatch::Work work(watch_, link::to_text(frame.type), &from->proc);
  rooms_->requests.dispatch(from, frame);
}

void Node::on_closed(const server::ConnectionRef& connection) {
  std::erase(connections_, connection);
  rooms_->connection_closed(connection, is_closing_);
}

}  // namespace weft::simulation
