// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/cluster/cluster.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <utility>

#include "base/log_format.hpp"
#include "base/settings.hpp"
#include "core/data/types/value.hpp"
#include "core/server/cluster/messages.hpp"
#include "transport/registry/order.hpp"

namespace weft::server {
namespace {

// Of the mesh.
constexpr std::uint16_t engine_messages = 1;
constexpr std::uint16_t rpc_messages = 2;

// Bytes of a full fence that are sent before any node knows how many they are: among few nodes another phase costs more than that.
constexpr std::uint64_t most_at_once_in_all = 256u << 10;

constexpr NodeNumber most_nodes = 1u << 20;
constexpr std::chrono::seconds goodbye_limit{1};
constexpr const char* other_version = "it speaks another version of what servers say to each other";

Result<Bytes> bytes_of(const pmix_value_t& value) {
  if (value.type != PMIX_BYTE_OBJECT || (value.data.bo.bytes == nullptr && value.data.bo.size != 0))
    return fail(Errc::invalid, "a byte object was expected");
  return Bytes(reinterpret_cast<const std::byte*>(value.data.bo.bytes), value.data.bo.size);
}

/// Later incarnations have later numbers, whichever process on whichever machine was the earlier one.
std::uint64_t incarnation_now() {
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
}

/// A wrong one is logged by the first server as a warning, as the other settings are.
collectives::Rule rule_setting(NodeNumber self) {
  const auto text = base::read(base::Variable::collective).text;
  if (text.empty()) return {};
  const auto choice = collectives::parse_choice(text);
  if (choice) return collectives::Rule(*choice);
  base::log(self == 0 ? base::LogLevel::warn : base::LogLevel::info, base::LogPart::settings,
            base::complaint(base::Variable::collective, text, choice.error().what));
  return {};
}

}  // namespace

Result<ClusterSpec> ClusterSpec::parse(const pmix_info_t* infos, std::size_t count, NodeNumber self,
                                       std::string host) {
  ClusterSpec out;
  out.self = self;
  out.host = std::move(host);
  for (std::size_t i = 0; i < count; ++i) {
    const auto key = data::key_of(infos[i]);
    const auto& value = infos[i].value;
    if (key == PMIX_NUM_NODES) {
      const auto number = data::as_unsigned(value);
      if (!number || *number == 0 || *number > most_nodes) return fail(Errc::invalid, "PMIX_NUM_NODES");
      out.nodes = static_cast<NodeNumber>(*number);
    } else if (key == PMIX_HOSTNAME && value.type == PMIX_STRING && value.data.string != nullptr) {
      out.host = value.data.string;
    } else if (key == transport_attribute && value.type == PMIX_STRING && value.data.string != nullptr) {
      out.transport = value.data.string;
    } else if (key == one_host_attribute) {
      out.is_on_one_host = data::is_true(value);
    } else if (key == key_attribute) {
      const auto raw = bytes_of(value);
      if (!raw) return fail(raw.error());
      auto made = mesh::JobKey::from(*raw);
      if (!made) return fail(made.error());
      out.key = *made;
    } else if (key == contact_attribute) {
      const auto raw = bytes_of(value);
      if (!raw) return fail(raw.error());
      out.contacts.emplace_back(raw->begin(), raw->end());
    }
  }
  if (out.key && out.self >= out.nodes)
    return fail(Errc::invalid, "PMIX_SERVER_RANK is not below PMIX_NUM_NODES");
  return out;
}

Cluster::Cluster(const ClusterSpec& spec, std::uint64_t incarnation)
    : key_(*spec.key), self_(spec.self), incarnation_(incarnation), host_(spec.host), entries_(spec.nodes) {
  entries_[self_].host = host_;
}

Cluster::Opened Cluster::open(Loop& loop, const ClusterSpec& spec) {
  auto options = Fabric::options_here(0);
  if (!spec.transport.empty()) options.transport = spec.transport;
  if (spec.is_on_one_host) options.preferred = transport::preferred_on_one_host();
  if (!spec.contacts.empty())
    if (auto first = base::decode<ServerContact>(spec.contacts.front()))
      options.toward = std::move(first->contact.address);
  return over(spec, incarnation_now(), [&](mesh::Watcher& watcher, mesh::NodeIncarnation self) {
    return Fabric::open(loop, *spec.key, self, spec.nodes, watcher, options);
  });
}

Cluster::Opened Cluster::over(const ClusterSpec& spec, std::uint64_t incarnation,
                              const OpenFabric& open_fabric) {
  std::unique_ptr<Cluster> cluster(new Cluster(spec, incarnation));
  auto opened = open_fabric(*cluster, {spec.self, incarnation});
  if (!opened.fabric) return {nullptr, std::move(opened.note)};
  cluster->fabric_ = std::move(opened.fabric);
  auto& mesh = cluster->mesh();
  collectives::Engine::Options engine_options;
  engine_options.message_id = engine_messages;
  engine_options.most_in_all = most_at_once_in_all;
  engine_options.rule = rule_setting(spec.self);
  cluster->engine_ = std::make_unique<collectives::Engine>(mesh, spec.self, engine_options);
  cluster->rpc_ = std::make_unique<Rpc>(mesh, rpc_messages);
  cluster->views_ = std::make_unique<Views>(spec.self, spec.nodes, mesh, *cluster->rpc_, *cluster->engine_,
                                            static_cast<const Views::Others&>(*cluster));
  for (NodeNumber node = 0; node < spec.nodes; ++node)
    if (node != spec.self) static_cast<void>(mesh.expect(node));
  cluster->rpc_->on(RequestType::leaving, [here = cluster.get()](NodeNumber from, Bytes, const auto&) {
    here->entries_[from].has_left = true;  // no reply is expected
  });
  for (const auto& contact : spec.contacts)
    if (const auto why_not = cluster->add(contact); !why_not.empty()) return {nullptr, why_not};
  return {std::move(cluster), std::move(opened.note)};
}

std::optional<store::CardKey> Cluster::card_key(std::string_view nspace) const {
  if (fabric_->endpoint().capabilities().guards_reads) return std::nullopt;
  return store::CardKey{key_.derive(fmt::format("cards of {}", nspace))};
}

std::vector<std::byte> Cluster::contact() const {
  return base::encode(ServerContact{self_, host_, fabric_->mesh().contact()});
}

std::string Cluster::add(Bytes packed) {
  base::Reader in(packed);
  ServerName name;
  in(name);
  if (in.ok() && name.version != mesh::protocol_version) {
    if (name.node < count() && name.node != self_ && !entries_[name.node].is_known) {
      entries_[name.node].host = name.host;
      // What waits for that node, or will, ends with a status.
      static_cast<void>(mesh().exclude(name.node, other_version));
    }
    return fmt::format(
        "the server on {} (node {}) speaks version {} of what servers say to each other, this one on {} "
        "version {}: start all "
        "servers of a cluster from one release of Weft",
        name.host, name.node, name.version, host_, mesh::protocol_version);
  }
  const auto refused = [](const char* why) {
    return fmt::format("a contact of another server is refused: {}", why);
  };
  const auto contact = base::decode<ServerContact>(packed);
  if (!contact) return refused("it was cut or changed on its way");
  if (contact->node == self_) return {};  // a list of all names us, too
  if (contact->node >= count()) return refused("no node of this cluster");
  if (const auto added = mesh().add_peer(contact->node, contact->contact); !added)
    return refused(added.error().what);
  entries_[contact->node] = {.host = contact->host, .is_known = true};
  views_->node_is_back(contact->node);
  base::debug(base::LogPart::mesh, "server of node {} ({}) is known", contact->node, contact->host);
  return {};
}

std::string Cluster::name_of(NodeNumber node) const {
  return node < count() && !entries_[node].host.empty() ? entries_[node].host : fmt::format("node {}", node);
}

bool Cluster::is_there(NodeNumber node) const noexcept {
  return node < count() && entries_[node].is_known && !entries_[node].is_lost && !entries_[node].has_left;
}

std::vector<NodeNumber> Cluster::others() const {
  std::vector<NodeNumber> out;
  for (NodeNumber node = 0; node < count(); ++node)
    if (node != self_ && is_there(node)) out.push_back(node);
  return out;
}

bool Cluster::turn(bool may_rest) {
  bool happened = fabric_->turn(may_rest);
  // What ends because of a loss ends in the next turn, when the loss has been announced: so the host hears of it before it
  // hears of what clients do about it.
  if (lost_.empty()) happened |= engine_->progress() != 0;
  happened |= rpc_->progress() != 0;
  happened |= views_->progress();
  return happened || !lost_.empty();
}

std::vector<Cluster::Lost> Cluster::take_lost() {
  auto lost = std::exchange(lost_, {});
  // After the last request of that node: it may have been the one that says that it leaves.
  std::erase_if(lost, [this](const Lost& one) { return has_left(one.node); });
  return lost;
}

void Cluster::take_leave_of(NodeNumber node) {
  rpc_->send(node, RequestType::leaving, {}, nullptr);
  entries_[node].has_left = true;
}

void Cluster::say_goodbye() {
  for (const auto node : others())
    if (mesh().state(node) == mesh::NodeState::reached) rpc_->send(node, RequestType::leaving, {}, nullptr);
  const auto until = std::chrono::steady_clock::now() + goodbye_limit;
  do turn();
  while (!rpc_->is_flushed() && std::chrono::steady_clock::now() < until);
}

void Cluster::stop() {
  rpc_->close();  // what its callers do about that may use the mesh
  engine_->close();
  fabric_->stop();
  rpc_->close();  // for those whose reads ended with the mesh
}

void Cluster::node_lost(NodeNumber node, const char* why) noexcept {
  entries_[node].is_lost = true;
  rpc_->node_lost(node);
  views_->node_lost(node);
  lost_.push_back({node, why});
}

void Cluster::message_refused(NodeNumber sender, mesh::Refusal why, std::uint16_t version) noexcept {
  // What a node had sent may come after its end: nothing for a user.
  const bool has_gone = sender < count() && (entries_[sender].has_left || entries_[sender].is_lost);
  if (why == mesh::Refusal::stale_incarnation && has_gone)
    return base::info(base::LogPart::mesh, "dropped a message of {}, which has gone", name_of(sender));
  base::warn(base::LogPart::mesh,
             "dropped a message that calls itself one of {}, of version {} (here {}): {}; more of them are "
             "counted only",
             name_of(sender), version, mesh::protocol_version, mesh::to_text(why));
}

}  // namespace weft::server
