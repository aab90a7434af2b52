// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/launch/launch.hpp"

#include <algorithm>

#include "base/descriptors.hpp"
#include "base/log_format.hpp"
#include "core/server/loop/waits.hpp"

namespace weft::server {
namespace {

constexpr std::chrono::seconds introduction_limit{30};

std::optional<std::uint64_t> number_of(std::string_view key, const data::Infos& infos) {
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (data::key_of(infos.data()[i]) == key)
      if (const auto number = data::as_unsigned(infos.data()[i].value)) return *number;
  return std::nullopt;
}

/// Nothing: this node is not in the map.
std::optional<NodeNumber> number_of_node(const std::string& host, const FabricPlan& plan) {
  const auto names = plan.nodes();
  if (!names) return std::nullopt;
  const auto found = std::find(names->begin(), names->end(), host);
  if (found == names->end()) return std::nullopt;
  return static_cast<NodeNumber>(found - names->begin());
}

const char* why_not_introduced(pmix_status_t status) {
  if (status == PMIX_ERR_UNREACH) return "one of them is lost or cannot be reached, or the launcher";
  if (status == PMIX_ERR_BAD_PARAM) return "the launcher refused it, and says why on its standard error";
  return "the reply of the launcher is malformed";
}

}  // namespace

Launch::Launch(Loop& loop, HostCalls& calls, std::string host_name, const Rooms& rooms,
               std::unique_ptr<ChildEnvironment> children)
    : loop_(loop),
      calls_(calls),
      host_name_(std::move(host_name)),
      rooms_(rooms),
      children_(std::move(children)) {}

void Launch::forget(std::string_view nspace) {
  children_->forget(nspace);
  information_.forget(nspace);
  introducers_.forget(nspace);
}

// ---- the launcher

void Launch::setup_application(std::string nspace, Envars envars, std::optional<FabricPlan> fabric,
                               bool wants_servers, Packed done) {
  auto blob =
      std::make_shared<LaunchBlob>(LaunchBlob{std::move(nspace), std::move(envars), std::move(fabric)});
  calls_.run_later([this, blob, wants_servers, done = answered_once(std::move(done))] {
    const auto go_on = [this, blob, wants_servers, done] { pack(*blob, wants_servers, done); };
    wants_servers&& is_cluster_of_host() ? rooms_.cluster.costs().settle(go_on) : go_on();
  });
}

void Launch::pack(LaunchBlob& blob, bool wants_servers, const Packed& done) {
  // A host that carries fences itself has its own way between the nodes; in a cluster the servers know each
  // other by it.
  if (rooms_.host.does_fences() || is_cluster_of_host()) blob.fabric.reset();
  if (wants_servers && is_cluster_of_host()) {
    blob.contacts.assign(inventory_.begin(), inventory_.end());
    blob.contacts.push_back(rooms_.cluster.contacts().own());
    blob.costs = rooms_.cluster.costs().rule()->costs();
  }
  if (blob.fabric) {
    const auto note = introducers_.open(loop_, blob.nspace, host_name_, *blob.fabric);
    if (!note.empty()) {
      base::warn(base::LogPart::launch, "no fabric can be opened for {}: {}", blob.nspace, note);
      return done(PMIX_ERR_UNREACH, {});
    }
  }
  done(PMIX_SUCCESS, pack_launch_info(blob));
}

// ---- a node

void Launch::setup_local_support(std::string nspace, data::Infos infos, Done done) {
  auto read = read_launch_info(nspace, infos.data(), infos.size());
  if (!read) {
    base::warn(base::LogPart::launch,
               "launch information that was given for {} is refused, and nothing of it is used: {}; the host "
               "has to hand over what PMIx_server_setup_application returned for this namespace",
               nspace, read.error().what);
    return calls_.run_later([done = answered_once(std::move(done))] { done(PMIX_ERR_BAD_PARAM); });
  }
  const auto blob = std::make_shared<LaunchBlob>(std::move(*read));
  const bool is_environment_only = !blob->fabric && blob->contacts.empty();
  if (is_environment_only) children_->add(blob->nspace, blob->envars);
  calls_.run_later([this, blob, is_environment_only, node = number_of(PMIX_NODEID, infos),
                    limit = number_of(PMIX_TIMEOUT, infos), done = answered_once(std::move(done))] {
    is_environment_only ? done(PMIX_SUCCESS) : act_on(*blob, node, limit, done);
  });
}

/// node, limit: as the host says; nothing: it does not.
void Launch::act_on(const LaunchBlob& blob, std::optional<std::uint64_t> node,
                    std::optional<std::uint64_t> limit, const Done& done) {
  // After an error no variable reaches a child.
  const auto end = [this, nspace = blob.nspace, envars = blob.envars, done](pmix_status_t status) {
    if (status == PMIX_SUCCESS) children_->add(nspace, envars);
    done(status);
  };
  if (const auto status = take_contacts(blob.contacts); status != PMIX_SUCCESS) return end(status);
  if (blob.costs && rooms_.cluster.is_open()) rooms_.cluster.costs().take(*blob.costs);
  if (!blob.fabric) return end(PMIX_SUCCESS);
  const auto& plan = *blob.fabric;
  const auto self = node ? std::optional(static_cast<NodeNumber>(std::min<std::uint64_t>(*node, UINT32_MAX)))
                         : number_of_node(host_name_, plan);
  if (!self || !plan.has_member(*self) || rooms_.host.does_fences()) return end(PMIX_SUCCESS);
  if (const auto status = enter_cluster(blob.nspace, plan, *self); status != PMIX_SUCCESS) return end(status);
  const auto seconds = limit && *limit != 0 ? std::chrono::seconds(std::min<std::uint64_t>(*limit, 1u << 30))
                                            : introduction_limit;
  be_introduced(blob.nspace, plan, seconds, end);
}

/// False: it is refused; a line says why.
bool Launch::take(Bytes contact) {
  const auto why_not = rooms_.cluster.contacts().add(contact);
  if (!why_not.empty()) base::warn(base::LogPart::mesh, "{}", why_not);
  return why_not.empty();
}

/// PMIX_ERR_UNREACH: one is refused, and the others are taken all the same.
pmix_status_t Launch::take_contacts(const std::vector<std::vector<std::byte>>& contacts) {
  if (contacts.empty()) return PMIX_SUCCESS;
  if (!is_cluster_of_host()) return PMIX_ERR_NOT_SUPPORTED;
  auto status = PMIX_SUCCESS;
  for (const auto& contact : contacts)
    if (!take(contact)) status = PMIX_ERR_UNREACH;
  return status;
}

/// The same launch information may come again.
pmix_status_t Launch::enter_cluster(const std::string& nspace, const FabricPlan& plan, NodeNumber self) {
  if (plan_key_ == plan.key) return PMIX_SUCCESS;
  const auto refuse = [&](pmix_status_t status, std::string_view why) {
    base::warn(base::LogPart::launch, "the launch information of {} names a fabric that is not opened: {}",
               nspace, why);
    return status;
  };
  if (rooms_.cluster.is_open())
    return refuse(PMIX_ERR_NOT_SUPPORTED,
                  "this server is in a cluster already; start another server for this job, or carry its "
                  "fences (fence_nb)");
  bool has_clients = false;
  rooms_.jobs.each([&](const Job& job) { has_clients |= !job.connections.empty(); });
  if (has_clients)
    return refuse(
        PMIX_ERR_BAD_PARAM,
        "processes have connected already; call PMIx_server_setup_local_support before any is started");
  ClusterSpec spec;
  spec.self = self;
  spec.nodes = static_cast<NodeNumber>(plan.nodes()->size() + 1);
  spec.key = *mesh::JobKey::from(std::as_bytes(std::span(plan.key)));
  spec.transport = plan.transport;
  spec.contacts = {plan.introducer};
  if (!open_and_log(rooms_.cluster, spec)) return PMIX_ERR_UNREACH;
  plan_key_ = plan.key;
  return PMIX_SUCCESS;
}

void Launch::be_introduced(const std::string& nspace, const FabricPlan& plan, std::chrono::seconds limit,
                           const Done& done) {
  auto& cluster = rooms_.cluster;
  const auto introducer = cluster.servers().count() - 1;
  struct Introduction {
    bool is_done = false;
    std::unique_ptr<Timer> deadline{};
  };
  const auto open = std::make_shared<Introduction>();
  const auto end = [open, done](pmix_status_t status) {
    if (std::exchange(open->is_done, true)) return;
    open->deadline.reset();
    done(status);
  };
  open->deadline = std::make_unique<Timer>(loop_, limit, [end, nspace, limit] {
    base::warn(base::LogPart::launch,
               "not all servers of the nodes of {} have been introduced within {} s: does each node's host "
               "hand its launch "
               "information to PMIx_server_setup_local_support, and can the nodes reach the launcher's?",
               nspace, limit.count());
    end(PMIX_ERR_TIMEOUT);
  });
  if (cluster.servers().has_left(introducer))
    return end(PMIX_SUCCESS);  // all are known since an earlier call
  cluster.send(introducer, RequestType::introduce, cluster.contacts().own(),
               [this, plan, end, open, nspace, introducer](pmix_status_t status, Bytes body) {
                 if (status == PMIX_SUCCESS) status = take_introductions(plan, body);
                 if (status == PMIX_SUCCESS)
                   rooms_.cluster.take_leave_of(introducer);
                 else if (!open->is_done)
                   base::warn(
                       base::LogPart::launch,
                       "the server of this node is not introduced to those of the other nodes of {}: {}",
                       nspace, why_not_introduced(status));
                 end(status);
               });
}

pmix_status_t Launch::take_introductions(const FabricPlan& plan, Bytes body) {
  const auto all = base::decode<Introductions>(body);
  if (!all || all->contacts.size() != plan.members.size()) return PMIX_ERR_UNPACK_FAILURE;
  for (const auto& contact : all->contacts)
    if (!take(contact)) return PMIX_ERR_UNREACH;
  const auto is_known = [this](NodeNumber node) {
    return node == rooms_.cluster.self() || rooms_.cluster.servers().is_there(node);
  };
  return std::all_of(plan.members.begin(), plan.members.end(), is_known) ? PMIX_SUCCESS : PMIX_ERR_UNREACH;
}

// ---- a cluster that the host has made

void Launch::collect_inventory(Packed done) {
  calls_.run_later([this, done = answered_once(std::move(done))] {
    auto& cluster = rooms_.cluster;
    data::Infos out;
    if (cluster.is_open()) {
      out.add(ClusterSpec::contact_attribute, data::Value::of_bytes(cluster.contacts().own()));
      out.add(ClusterSpec::transport_attribute,
              data::Value::of(std::string_view(cluster.fabric().transport())));
      const auto way = cluster.fabric().description();
      out.add(ClusterSpec::way_attribute, data::Value::of(std::string_view(way)));
    }
    done(PMIX_SUCCESS, std::move(out));
  });
}

void Launch::deliver_inventory(data::Infos infos, Done done) {
  auto held = std::make_shared<data::Infos>(std::move(infos));
  calls_.run_later([this, held, done = answered_once(std::move(done))] { done(take_inventory(*held)); });
}

/// A contact that is refused keeps none of the others out.
pmix_status_t Launch::take_inventory(const data::Infos& infos) {
  auto status = PMIX_SUCCESS;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const auto& info = infos.data()[i];
    if (data::key_of(info) != ClusterSpec::contact_attribute) continue;
    const auto& object = info.value.data.bo;
    if (info.value.type != PMIX_BYTE_OBJECT || (object.bytes == nullptr && object.size != 0))
      return PMIX_ERR_BAD_PARAM;
    if (!rooms_.cluster.is_open()) return PMIX_ERR_NOT_SUPPORTED;
    const Bytes contact(reinterpret_cast<const std::byte*>(object.bytes), object.size);
    if (take(contact))
      inventory_.emplace(contact.begin(), contact.end());
    else
      status = PMIX_ERR_BAD_PARAM;
  }
  return status;
}

}  // namespace weft::server
