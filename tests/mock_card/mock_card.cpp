// SPDX-License-Identifier: BSD-3-Clause
// A libfabric provider in place of an RDMA card, for want of one: it asks for what cards ask for (the mr_mode
// bits, small keys, FI_CONTEXT2, small messages), and ends the process where that was not done. Written from
// the public headers and the manual pages; libfabric loads it by FI_PROVIDER_PATH. It carries bytes between
// endpoints of one process and of one thread, and does nothing but in fi_cq_read().
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/providers/fi_prov.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

struct Card {
  const char* domain;
  int mr_mode;
  std::size_t key_size;
  std::size_t max_message;
  std::uint8_t bus;
};
constexpr int as_cards_do = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
constexpr Card cards[] = {
    {"verbs_like", as_cards_do, 4, std::size_t{1} << 30, 0x3b},
    {"cxi_like", FI_MR_ENDPOINT, 4, std::size_t{1} << 30, 0xaf},
    {"every", as_cards_do | FI_MR_ENDPOINT, 8, 100'000, 0xaf},
    {"raw", as_cards_do | FI_MR_ENDPOINT | FI_MR_RAW, 24, 100'000, 0xaf},
    {"raw_offset", FI_MR_LOCAL | FI_MR_RAW, 24, 100'000, 0xaf},
    {"two_byte_keys", 0, 2, 4096, 0xaf},
};

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "mock card: %s\n", what);
  std::abort();
}

template <class T, class F>
T* self(F* object) {
  return reinterpret_cast<T*>(object);
}
template <class T>
int close_by_delete(fid* object) {
  delete self<T>(object);
  return 0;
}

struct Domain;
struct Endpoint;
std::map<std::uint64_t, Endpoint*> endpoints;  // by address
std::uint64_t next_address = 1;

struct Region {
  fid_mr mr{};
  Domain* domain = nullptr;
  std::uintptr_t base = 0;
  std::size_t length = 0;
  std::uint64_t access = 0, key = 0;
  Endpoint* endpoint = nullptr;
  bool enabled = true;
  ~Region();
};

struct Domain {
  fid_domain domain{};
  Card card{};
  std::map<std::uint64_t, Region*> regions;
  std::map<std::uint64_t, std::uint64_t> mapped;  // raw keys of peers
  std::set<Region*> all;
  std::mt19937_64 random{std::random_device{}()};
  bool asks(int bit) const { return (card.mr_mode & bit) != 0; }
};

struct Fabric {
  fid_fabric fabric{};
};
struct Vector {
  fid_av av{};
  std::map<fi_addr_t, std::uint64_t> entries;
  fi_addr_t next = 0;
};

struct Queue {
  fid_cq cq{};
  std::deque<fi_cq_data_entry> done;
  std::deque<fi_cq_err_entry> failed;
  std::set<Endpoint*> endpoints;
};

struct Operation {
  bool reads;
  const void* from;  // or into
  std::size_t length;
  std::uint64_t to, address, key;
  void* context;
};
struct Receive {
  void* into;
  std::size_t length;
  void* context;
};

struct Endpoint {
  fid_ep ep{};
  Domain* domain = nullptr;
  Vector* vector = nullptr;
  Queue* queue = nullptr;
  std::uint64_t address = next_address++;
  bool enabled = false;
  std::deque<Operation> sent;
  std::deque<Receive> receives;
  ~Endpoint() {
    endpoints.erase(address);
    if (queue != nullptr) queue->endpoints.erase(this);
  }
};

Region::~Region() {
  domain->regions.erase(key);
  domain->all.erase(this);
}

/// Memory that the card touches, as FI_MR_LOCAL wants it; and a context that is ours now.
void check_local(const Endpoint& endpoint, const void* memory, std::size_t length, void* descriptor,
                 std::uint64_t access, void* context) {
  if (endpoint.domain->asks(FI_MR_LOCAL)) {
    auto* region = static_cast<Region*>(descriptor);
    require(endpoint.domain->all.count(region) == 1, "FI_MR_LOCAL, and a descriptor that is none");
    const auto at = reinterpret_cast<std::uintptr_t>(memory);
    require(at >= region->base && at + length <= region->base + region->length,
            "memory outside of its region");
    require((region->access & access) != 0, "a region that was not registered for this");
    require(region->enabled, "a region that is not enabled");
  }
  require(length <= endpoint.domain->card.max_message, "longer than max_msg_size");
  std::memset(context, 0xa5, sizeof(fi_context2));
}

/// Error of a read; 0: done.
int read_remote(const Endpoint& reader, const Operation& operation) {
  const auto target = endpoints.find(operation.to);
  if (target == endpoints.end()) return FI_ECONNREFUSED;
  auto key = operation.key;
  if (reader.domain->asks(FI_MR_RAW)) {
    const auto mapped = reader.domain->mapped.find(key);
    require(mapped != reader.domain->mapped.end(), "FI_MR_RAW, and a key that was not mapped");
    key = mapped->second;
  }
  const Domain& domain = *target->second->domain;
  const auto found = domain.regions.find(key);
  if (found == domain.regions.end()) return FI_EKEYREJECTED;
  const Region& region = *found->second;
  require(!domain.asks(FI_MR_ENDPOINT) || region.endpoint == target->second, "a region without its endpoint");
  if (!region.enabled || (region.access & FI_REMOTE_READ) == 0) return FI_EACCES;
  const auto base = domain.asks(FI_MR_VIRT_ADDR) ? region.base : 0;
  if (operation.address < base || operation.address + operation.length > base + region.length)
    return FI_EACCES;
  std::memcpy(const_cast<void*>(operation.from),
              reinterpret_cast<const void*>(region.base + (operation.address - base)), operation.length);
  return 0;
}

/// One operation further; false: its target has no buffer.
bool carry(Endpoint& endpoint, const Operation& operation) {
  int error = 0;
  if (operation.reads) {
    error = read_remote(endpoint, operation);
  } else if (const auto target = endpoints.find(operation.to); target == endpoints.end()) {
    error = FI_ECONNREFUSED;
  } else {
    Endpoint& to = *target->second;
    if (to.receives.empty()) return false;
    const Receive receive = to.receives.front();
    to.receives.pop_front();
    require(operation.length <= receive.length, "a message that is longer than the buffer for it");
    std::memcpy(receive.into, operation.from, operation.length);
    to.queue->done.push_back({.op_context = receive.context,
                              .flags = FI_RECV | FI_MSG,
                              .len = operation.length,
                              .buf = nullptr,
                              .data = 0});
  }
  if (error == 0) {
    endpoint.queue->done.push_back({.op_context = operation.context,
                                    .flags = operation.reads ? FI_READ : FI_SEND,
                                    .len = 0,
                                    .buf = nullptr,
                                    .data = 0});
  } else {
    fi_cq_err_entry entry{};
    entry.op_context = operation.context;
    entry.err = error;
    endpoint.queue->failed.push_back(entry);
  }
  return true;
}

void carry_all(Endpoint& endpoint) {
  std::set<std::uint64_t> late;  // those whose messages have to keep their order
  for (auto at = endpoint.sent.begin(); at != endpoint.sent.end();) {
    if ((!at->reads && late.count(at->to) != 0) || !carry(endpoint, *at)) {
      late.insert(at->to);
      ++at;
    } else {
      at = endpoint.sent.erase(at);
    }
  }
}

// ---- what libfabric calls ----

ssize_t start(fid_ep* object, Operation operation, void* descriptor, fi_addr_t to) {
  auto& endpoint = *self<Endpoint>(object);
  if (endpoint.sent.size() >= 64) return -FI_EAGAIN;
  const auto entry = endpoint.vector->entries.find(to);
  require(endpoint.enabled && entry != endpoint.vector->entries.end(), "an operation to no address");
  check_local(endpoint, operation.from, operation.length, descriptor, operation.reads ? FI_READ : FI_SEND,
              operation.context);
  operation.to = entry->second;
  endpoint.sent.push_back(operation);
  return 0;
}
ssize_t ep_send(fid_ep* ep, const void* from, std::size_t length, void* descriptor, fi_addr_t to,
                void* context) {
  return start(ep, {false, from, length, 0, 0, 0, context}, descriptor, to);
}
ssize_t ep_read(fid_ep* ep, void* into, std::size_t length, void* descriptor, fi_addr_t from,
                std::uint64_t address, std::uint64_t key, void* context) {
  return start(ep, {true, into, length, 0, address, key, context}, descriptor, from);
}
ssize_t ep_recvmsg(fid_ep* ep, const fi_msg* message, std::uint64_t flags) {
  auto& endpoint = *self<Endpoint>(ep);
  require((flags & FI_MULTI_RECV) == 0 && message->iov_count == 1, "a receive that was not offered");
  const iovec& where = message->msg_iov[0];
  // A buffer may be larger than any message.
  check_local(endpoint, where.iov_base, std::min(where.iov_len, endpoint.domain->card.max_message),
              message->desc == nullptr ? nullptr : message->desc[0], FI_RECV, message->context);
  endpoint.receives.push_back({where.iov_base, where.iov_len, message->context});
  return 0;
}
int ep_getname(fid* object, void* into, std::size_t* length) {
  const auto address = self<Endpoint>(object)->address;
  if (*length < sizeof address) return -FI_ETOOSMALL;
  std::memcpy(into, &address, *length = sizeof address);
  return 0;
}
int ep_bind(fid* object, fid* other, std::uint64_t) {
  auto& endpoint = *self<Endpoint>(object);
  if (other->fclass == FI_CLASS_AV) endpoint.vector = self<Vector>(other);
  if (other->fclass == FI_CLASS_CQ) {
    endpoint.queue = self<Queue>(other);
    endpoint.queue->endpoints.insert(&endpoint);
  }
  return 0;
}
int ep_control(fid* object, int command, void*) {
  auto& endpoint = *self<Endpoint>(object);
  require(command == FI_ENABLE && endpoint.vector != nullptr && endpoint.queue != nullptr,
          "an endpoint not bound");
  endpoint.enabled = true;
  endpoints[endpoint.address] = &endpoint;
  return 0;
}

ssize_t cq_read(fid_cq* object, void* buffer, std::size_t count) {
  auto& queue = *self<Queue>(object);
  for (Endpoint* endpoint : queue.endpoints) carry_all(*endpoint);
  if (!queue.failed.empty()) return -FI_EAVAIL;
  std::size_t taken = 0;
  for (; taken < count && !queue.done.empty(); ++taken) {
    static_cast<fi_cq_data_entry*>(buffer)[taken] = queue.done.front();
    queue.done.pop_front();
  }
  return taken == 0 ? -FI_EAGAIN : static_cast<ssize_t>(taken);
}
ssize_t cq_readerr(fid_cq* object, fi_cq_err_entry* entry, std::uint64_t) {
  auto& queue = *self<Queue>(object);
  if (queue.failed.empty()) return -FI_EAGAIN;
  *entry = queue.failed.front();
  queue.failed.pop_front();
  return 1;
}

int av_insert(fid_av* object, const void* addresses, std::size_t count, fi_addr_t* into, std::uint64_t,
              void*) {
  auto& vector = *self<Vector>(object);
  require(count == 1, "more than one address");
  std::uint64_t address;
  std::memcpy(&address, addresses, sizeof address);
  for (const auto& entry : vector.entries)
    require(entry.second != address, "an address that is there already");
  vector.entries[*into = vector.next++] = address;
  return 1;
}
int av_remove(fid_av* object, fi_addr_t* which, std::size_t, std::uint64_t) {
  return self<Vector>(object)->entries.erase(*which) == 1 ? 0 : -FI_EINVAL;
}

int mr_bind(fid* object, fid* other, std::uint64_t) {
  self<Region>(object)->endpoint = self<Endpoint>(other);
  return 0;
}
constexpr std::size_t raw_bytes = 24;
int mr_control(fid* object, int command, void* argument) {
  auto& region = *self<Region>(object);
  if (command == FI_ENABLE) {
    require(region.endpoint != nullptr, "a region enabled before it is bound");
    region.enabled = true;
    return 0;
  }
  require(command == FI_GET_RAW_MR, "an unknown command");
  const auto& attributes = *static_cast<struct fi_mr_raw_attr*>(argument);
  if (*attributes.key_size < raw_bytes) return -FI_ETOOSMALL;
  *attributes.base_addr = region.base;
  *attributes.key_size = raw_bytes;
  std::memset(attributes.raw_key, 0x5a, raw_bytes);
  std::memcpy(attributes.raw_key, &region.key, sizeof region.key);
  return 0;
}
int mr_reg(fid* object, const void* memory, std::size_t length, std::uint64_t access, std::uint64_t,
           std::uint64_t key, std::uint64_t, fid_mr** into, void*) {
  static fi_ops ops{
      .size = sizeof ops, .close = close_by_delete<Region>, .bind = mr_bind, .control = mr_control};
  auto& domain = *self<Domain>(object);
  if (domain.asks(FI_MR_ALLOCATED)) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(memory) / page * page;
    std::vector<unsigned char> there((reinterpret_cast<std::uintptr_t>(memory) + length - first + page - 1) /
                                     page);
    require(::mincore(reinterpret_cast<void*>(first), there.size() * page, there.data()) == 0, "mincore");
    for (const unsigned char one : there)
      require((one & 1) != 0, "FI_MR_ALLOCATED, and pages that are not there");
  }
  if (domain.asks(FI_MR_PROV_KEY)) {
    do key = domain.card.key_size >= 8 ? domain.random() : domain.random() >> (64 - 8 * domain.card.key_size);
    while (domain.regions.count(key) != 0);
  } else if (domain.card.key_size < 8) {
    require(key >> 8 * domain.card.key_size == 0, "a key that is longer than mr_key_size");
  }
  if (domain.regions.count(key) != 0) return -FI_ENOKEY;
  auto* region = new Region;
  region->domain = &domain;
  region->base = reinterpret_cast<std::uintptr_t>(memory);
  region->length = length;
  region->access = access;
  region->key = key;
  region->enabled = !domain.asks(FI_MR_ENDPOINT);
  region->mr.fid = {FI_CLASS_MR, nullptr, &ops};
  region->mr.mem_desc = region;
  region->mr.key = domain.asks(FI_MR_RAW) ? FI_KEY_NOTAVAIL : key;
  domain.regions[key] = region;
  domain.all.insert(region);
  *into = &region->mr;
  return 0;
}

int domain_control(fid* object, int command, void* argument) {
  auto& domain = *self<Domain>(object);
  if (command == FI_UNMAP_KEY) {
    require(domain.mapped.erase(*static_cast<std::uint64_t*>(argument)) == 1,
            "a key unmapped that was not mapped");
    return 0;
  }
  require(command == FI_MAP_RAW_MR, "an unknown command");
  const auto& map = *static_cast<struct fi_mr_map_raw*>(argument);
  if (map.key_size != raw_bytes || map.raw_key[raw_bytes - 1] != 0x5a) return -FI_EINVAL;
  std::uint64_t key;
  std::memcpy(&key, map.raw_key, sizeof key);
  *map.key = domain.random();
  domain.mapped[*map.key] = key;
  return 0;
}
int domain_close(fid* object) {
  auto* domain = self<Domain>(object);
  require(domain->all.empty(), "a domain that closes with regions");
  require(domain->mapped.empty(), "a domain that closes with mapped keys");
  delete domain;
  return 0;
}
int open_av(fid_domain*, fi_av_attr*, fid_av** into, void*) {
  static fi_ops ops{.size = sizeof ops, .close = close_by_delete<Vector>};
  static fi_ops_av calls{.size = sizeof calls, .insert = av_insert, .remove = av_remove};
  auto* vector = new Vector;
  vector->av = {{FI_CLASS_AV, nullptr, &ops}, &calls};
  *into = &vector->av;
  return 0;
}
int open_cq(fid_domain*, fi_cq_attr* attributes, fid_cq** into, void*) {
  static fi_ops ops{.size = sizeof ops, .close = close_by_delete<Queue>};
  static fi_ops_cq calls{.size = sizeof calls, .read = cq_read, .readerr = cq_readerr};
  if (attributes->wait_obj != FI_WAIT_NONE || attributes->format != FI_CQ_FORMAT_DATA) return -FI_ENOSYS;
  auto* queue = new Queue;
  queue->cq = {{FI_CLASS_CQ, nullptr, &ops}, &calls};
  *into = &queue->cq;
  return 0;
}
int open_ep(fid_domain* domain, fi_info*, fid_ep** into, void*) {
  static fi_ops ops{
      .size = sizeof ops, .close = close_by_delete<Endpoint>, .bind = ep_bind, .control = ep_control};
  static fi_ops_ep calls{.size = sizeof calls};
  static fi_ops_cm names{.size = sizeof names, .getname = ep_getname};
  static fi_ops_msg messages{.size = sizeof messages, .recvmsg = ep_recvmsg, .send = ep_send};
  static fi_ops_rma reads{.size = sizeof reads, .read = ep_read};
  auto* endpoint = new Endpoint;
  endpoint->ep.fid = {FI_CLASS_EP, nullptr, &ops};
  endpoint->ep.ops = &calls;
  endpoint->ep.cm = &names;
  endpoint->ep.msg = &messages;
  endpoint->ep.rma = &reads;
  endpoint->domain = self<Domain>(domain);
  *into = &endpoint->ep;
  return 0;
}

const Card* card_named(const char* domain) {
  for (const auto& card : cards)
    if (std::strcmp(card.domain, domain) == 0) return &card;
  return nullptr;
}
int open_domain(fid_fabric*, fi_info* info, fid_domain** into, void*) {
  static fi_ops ops{.size = sizeof ops, .close = domain_close, .control = domain_control};
  static fi_ops_domain calls{
      .size = sizeof calls, .av_open = open_av, .cq_open = open_cq, .endpoint = open_ep};
  static fi_ops_mr registers{.size = sizeof registers, .reg = mr_reg};
  auto* domain = new Domain;
  domain->card = *card_named(info->domain_attr->name);
  domain->domain = {{FI_CLASS_DOMAIN, nullptr, &ops}, &calls, &registers};
  *into = &domain->domain;
  return 0;
}
int open_fabric(fi_fabric_attr*, fid_fabric** into, void*) {
  static fi_ops ops{.size = sizeof ops, .close = close_by_delete<Fabric>};
  static fi_ops_fabric calls{.size = sizeof calls, .domain = open_domain};
  auto* fabric = new Fabric;
  fabric->fabric = {{FI_CLASS_FABRIC, nullptr, &ops}, &calls};
  *into = &fabric->fabric;
  return 0;
}

int close_nic(fid* object) {
  auto* nic = self<fid_nic>(object);
  std::free(nic->device_attr->name);
  std::free(nic->device_attr);
  std::free(nic->bus_attr);
  std::free(nic->link_attr);
  std::free(nic);
  return 0;
}
fid_nic* make_nic(const char* name, std::uint8_t bus);
int control_nic(fid* object, int command, void* into) {
  if (command != FI_DUP) return -FI_ENOSYS;
  const auto& nic = *self<fid_nic>(object);
  *static_cast<fid_nic**>(into) = make_nic(nic.device_attr->name, nic.bus_attr->attr.pci.bus_id);
  return 0;
}
fid_nic* make_nic(const char* name, std::uint8_t bus) {
  static fi_ops ops{.size = sizeof ops, .close = close_nic, .control = control_nic};
  const auto zeroed = [](auto*& into) {
    into = static_cast<std::remove_reference_t<decltype(into)>>(std::calloc(1, sizeof *into));
  };
  fid_nic* nic = nullptr;
  zeroed(nic);
  zeroed(nic->device_attr);
  zeroed(nic->bus_attr);
  zeroed(nic->link_attr);
  nic->fid = {FI_CLASS_NIC, nullptr, &ops};
  nic->device_attr->name = ::strdup(name);
  nic->bus_attr->bus_type = FI_BUS_PCI;
  nic->bus_attr->attr.pci.bus_id = bus;
  return nic;
}

int get_info(std::uint32_t, const char*, const char*, std::uint64_t, const fi_info* hints, fi_info** into) {
  fi_info* first = nullptr;
  fi_info** last = &first;
  for (const auto& card : cards) {
    if (hints == nullptr || (hints->caps & FI_MULTI_RECV) != 0) continue;
    if (hints->domain_attr->name != nullptr && card_named(hints->domain_attr->name) != &card) continue;
    // Not offered to callers that cannot do what the provider requires.
    if ((card.mr_mode & ~hints->domain_attr->mr_mode) != 0 || (hints->mode & FI_CONTEXT2) == 0) continue;
    fi_info* info = fi_dupinfo(hints);
    std::free(info->fabric_attr->prov_name);  // the core fills it in
    std::free(info->domain_attr->name);
    info->fabric_attr->prov_name = nullptr;
    info->fabric_attr->name = ::strdup("mock");
    info->domain_attr->name = ::strdup(card.domain);
    info->domain_attr->mr_mode = card.mr_mode;
    info->domain_attr->mr_key_size = card.key_size;
    info->mode = FI_CONTEXT | FI_CONTEXT2;
    info->ep_attr->type = FI_EP_RDM;
    info->ep_attr->max_msg_size = card.max_message;
    info->tx_attr->msg_order = info->rx_attr->msg_order = FI_ORDER_SAS;
    info->tx_attr->size = info->rx_attr->size = 64;
    info->nic = make_nic(("card_" + std::string(card.domain)).c_str(), card.bus);
    *last = info;
    last = &info->next;
  }
  *into = first;
  return first == nullptr ? -FI_ENODATA : 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) fi_provider* fi_prov_ini() {
  static fi_provider provider{.version = FI_VERSION(1, 0),
                              .fi_version = FI_VERSION(1, 17),
                              .context = {},
                              .name = "mock",
                              .getinfo = get_info,
                              .fabric = open_fabric,
                              .cleanup = [] {}};
  return &provider;
}
