// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/cluster/cluster.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <utility>

#include "base/descriptors.hpp"
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

// Bytes of a full fence that are sent before any node knows how many they are: among few nodes another phase
// costs more than that.
constexpr std::uint64_t most_at_once_in_all = 256u << 10;

constexpr NodeNumber most_nodes = 1u << 20;

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
std::shared_ptr<collectives::Rule> rule_setting(NodeNumber self) {
  const auto text = base::read(base::Variable::collective).text;
  if (text.empty()) return std::make_shared<collectives::Rule>();
  const auto choice = collectives::parse_choice(text);
  if (choice) return std::make_shared<collectives::Rule>(*choice);
  base::log(self == 0 ? base::LogLevel::warn : base::LogLevel::info, base::LogPart::settings,
            base::complaint(base::Variable::collective, text, choice.error().what));
  return std::make_shared<collectives::Rule>();
}

}  // namespace

collectives::Engine::Options engine_options(std::shared_ptr<const collectives::Rule> rule) {
  collectives::Engine::Options out;
  out.message_id = engine_messages;
  out.most_in_all = most_at_once_in_all;
  out.rule = std::move(rule);
  return out;
}

Result<ClusterSpec> ClusterSpec::parse(const pmix_info_t* infos, std::size_t count, NodeNumber self) {
  ClusterSpec out;
  out.self = self;
  for (std::size_t i = 0; i < count; ++i) {
    const auto key = data::key_of(infos[i]);
    const auto& value = infos[i].value;
    if (key == PMIX_NUM_NODES) {
      const auto number = data::as_unsigned(value);
      if (!number || *number == 0 || *number > most_nodes) return fail(Errc::invalid, "PMIX_NUM_NODES");
      out.nodes = static_cast<NodeNumber>(*number);
    } else if (key == first_nodes_attribute) {
      const auto number = data::as_unsigned(value);
      if (!number || *number == 0 || *number > most_nodes) return fail(Errc::invalid, first_nodes_attribute);
      out.first_nodes = static_cast<NodeNumber>(*number);
    } else if (key == names_keeper_attribute) {
      const auto number = data::as_unsigned(value);
      if (!number || *number >= most_nodes) return fail(Errc::invalid, names_keeper_attribute);
      out.names_keeper = static_cast<NodeNumber>(*number);
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
  if (out.first_nodes > out.nodes) return fail(Errc::invalid, first_nodes_attribute);
  if (out.names_keeper.value_or(0) >= out.nodes) return fail(Errc::invalid, names_keeper_attribute);
  return out;
}

Cluster::Way::Way(Loop& loop, std::unique_ptr<Fabric> opened, const ClusterSpec& spec, ServerTable& servers,
                  const std::vector<ViewRoom*>& rooms, const std::shared_ptr<collectives::Rule>& rule)
    : rpc(opened->mesh(), rpc_messages),
      costs(loop, rpc, servers, rule),
      engine(opened->mesh(), spec.self, engine_options(rule)),
      views(loop, spec.self, spec.nodes, opened->mesh(), rpc, engine, servers, rooms),
      contacts(servers, opened->mesh(), views),
      fabric(std::move(opened)) {}

Cluster::Cluster(Loop& loop, std::string host, std::uint64_t machine)
    : loop_(loop), servers_(std::move(host), machine) {}

Cluster::~Cluster() = default;

/// No other node is known by its number any more; those that were lost are not told of.
void Cluster::be_alone() {
  if (way_) way_->fabric->stop();
  way_.reset();
  key_.reset();
  lost_.clear();
  servers_.reset(0, 1, 1, 0);
}

Cluster::Opened Cluster::open(const ClusterSpec& spec, const std::optional<Carrier>& carrier) {
  if (carrier) return open_over(spec, *carrier);
  const base::ClosedOnExec closed;  // what the libraries of fabrics open
  return open_over(spec, carrier_of_machine(spec));
}

/// The fabric that the spec, the environment and the machine make of it.
Cluster::Carrier Cluster::carrier_of_machine(const ClusterSpec& spec) {
  auto options = Fabric::options_here(0);
  if (!spec.transport.empty()) options.transport = spec.transport;
  if (spec.is_on_one_host) options.preferred = transport::preferred_on_one_host();
  if (!spec.contacts.empty())
    if (auto first = base::decode<ServerContact>(spec.contacts.front()))
      options.toward = std::move(first->contact.address);
  return {incarnation_now(), [this, &spec, options](mesh::Watcher& watcher, mesh::NodeIncarnation self) {
            return Fabric::open(loop_, *spec.key, self, spec.nodes, watcher, options);
          }};
}

Cluster::Opened Cluster::open_over(const ClusterSpec& spec, const Carrier& carrier) {
  auto opened = carrier.open_fabric(*this, {spec.self, carrier.incarnation});
  if (!opened.fabric) return {false, std::move(opened.note)};
  way_ = std::make_unique<Way>(loop_, std::move(opened.fabric), spec, servers_, view_rooms_,
                               rule_setting(spec.self));
  if (auto why_not = enter(spec, carrier.incarnation); !why_not.empty()) {
    be_alone();
    return {false, std::move(why_not)};
  }
  for (const auto& act : std::exchange(when_open_, {})) act();
  return {true, std::move(opened.note)};
}

/// Returns why a contact is refused; empty: none is.
std::string Cluster::enter(const ClusterSpec& spec, std::uint64_t incarnation) {
  key_ = spec.key;
  servers_.reset(spec.self, spec.nodes, spec.first_nodes == 0 ? spec.nodes : spec.first_nodes, incarnation,
                 spec.names_keeper);
  for (NodeNumber node = 0; node < spec.nodes; ++node)
    if (node != self()) static_cast<void>(fabric().mesh().expect(node));
  way_->rpc.on(RequestType::leaving, [this](NodeNumber from, Bytes, const auto&) {
    servers_.leave(from);  // no reply is expected
  });
  for (const auto& [type, handler] : handlers_) way_->rpc.on(type, handler);
  for (const auto& contact : spec.contacts)
    if (auto why_not = way_->contacts.add(contact); !why_not.empty()) return why_not;
  return {};
}

void Cluster::when_open(std::function<void()> act) {
  way_ ? act() : when_open_.push_back(std::move(act));
}

void Cluster::on(RequestType type, Rpc::Handler handler) {
  if (way_) way_->rpc.on(type, handler);
  handlers_.insert_or_assign(type, std::move(handler));
}

void Cluster::send(NodeNumber to, RequestType type, std::vector<std::byte> body, Rpc::Replied replied) {
  if (way_) return way_->rpc.send(to, type, std::move(body), std::move(replied));
  if (replied) loop_.post([replied = std::move(replied)] { replied(PMIX_ERR_UNREACH, {}); });
}

std::optional<std::array<std::uint8_t, mesh::JobKey::bytes>> Cluster::key_for(
    std::string_view purpose) const {
  if (!way_) return std::nullopt;
  return key_->derive(purpose);
}

std::optional<store::CardKey> card_key(Cluster& cluster, std::string_view nspace) {
  if (!cluster.is_open() || cluster.fabric().endpoint().capabilities().guards_reads) return std::nullopt;
  return store::CardKey{*cluster.key_for(fmt::format("cards of {}", nspace))};
}

bool Cluster::turn(bool may_rest) {
  if (!way_) return false;
  bool happened = way_->fabric->turn(may_rest);
  // What ends because of a loss ends in the next turn, when the loss has been announced: so the host hears of
  // it before it hears of what clients do about it.
  if (lost_.empty()) happened |= way_->engine.progress() != 0;
  happened |= way_->rpc.progress() != 0;
  happened |= way_->views.progress();
  return happened || !lost_.empty();
}

std::vector<Cluster::Lost> Cluster::take_lost() {
  auto lost = std::exchange(lost_, {});
  // After the last request of that node: it may have been the one that says that it leaves.
  for (auto& one : lost) one.has_left = servers_.has_left(one.node);
  return lost;
}

void Cluster::take_leave_of(NodeNumber node) {
  way_->rpc.send(node, RequestType::leaving, {}, nullptr);
  servers_.leave(node);
}

void Cluster::say_goodbye(std::chrono::milliseconds limit) {
  if (!way_) return;
  for (const auto node : servers_.others())
    if (fabric().mesh().state(node) == mesh::NodeState::reached)
      way_->rpc.send(node, RequestType::leaving, {}, nullptr);
  way_->views.close();
  const auto until = std::chrono::steady_clock::now() + limit;
  do turn();
  while (!way_->rpc.is_flushed() && std::chrono::steady_clock::now() < until);
}

void Cluster::stop(const std::function<void()>& release) {
  if (!way_) return;
  servers_.hide_all(true);
  way_->engine.close();  // what follows from the end of requests is no word of this server about collectives
  way_->rpc.close();     // what its callers do about that may use the mesh
  way_->fabric->stop();
  way_->rpc.close();  // for those whose reads ended with the mesh
  if (release) release();
  way_.reset();
  servers_.hide_all(false);
}

void Cluster::node_lost(NodeNumber node, const char* why) noexcept {
  servers_.take_for_lost(node);
  way_->rpc.node_lost(node);
  way_->views.node_lost(node);
  lost_.push_back({node, why, false});
}

void Cluster::message_refused(NodeNumber sender, mesh::Refusal why, std::uint16_t version) noexcept {
  // What a node had sent may come after its end: nothing for a user.
  const bool has_gone = servers_.has_left(sender) || servers_.is_lost(sender);
  if (why == mesh::Refusal::stale_incarnation && has_gone)
    return base::info(base::LogPart::mesh, "dropped a message of {}, which has gone",
                      servers_.name_of(sender));
  base::warn(base::LogPart::mesh,
             "dropped a message that calls itself one of {}, of version {} (here {}): {}; more of them are "
             "counted only",
             servers_.name_of(sender), version, mesh::protocol_version, mesh::to_text(why));
}

Result<void> open_and_log(Cluster& cluster, const ClusterSpec& spec) {
  const auto opened = cluster.open(spec);
  const bool is_warning = !opened.is_open || spec.self == 0;
  if (!opened.note.empty())
    base::log(is_warning ? base::LogLevel::warn : base::LogLevel::info, base::LogPart::transport,
              opened.note);
  return opened.is_open ? Result<void>() : fail(Errc::unreachable, "no way to the other nodes");
}

}  // namespace weft::server
