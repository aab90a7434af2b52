// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Process Management", section "Process Locality", and the functions of chapter
// "Server-Specific Interfaces" that make cpuset and locality strings. All but PMIx_Compute_distances_nb work
// before PMIx_Init, too.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/abi/calls/guard.hpp"
#include "core/abi/roles/role.hpp"
#include "core/data/types/value.hpp"
#include "core/topology/loader.hpp"
#include "core/topology/local.hpp"
#include "core/topology/locality.hpp"
#include "core/topology/opaque_types.hpp"
#include "pmix.h"
#include "pmix_server.h"

namespace {

namespace topology = weft::topology;
using weft::Errc;
using weft::fail;
using weft::Result;

struct Free {
  void operator()(char* text) const noexcept { std::free(text); }
};
using OwnedText = std::unique_ptr<char, Free>;

Result<OwnedText> copy_text(const std::string& text) {
  OwnedText copy(::strdup(text.c_str()));
  if (copy == nullptr) return fail(Errc::no_memory);
  return copy;
}

// A structure says which implementation it wants or holds; NULL leaves the choice to us.
Result<void> check_source(const char* source) {
  if (source == nullptr || topology::is_our_source(source)) return {};
  return fail(Errc::not_supported, "another source of topologies");
}

Result<void> check_cpuset(const pmix_cpuset_t* cpuset) {
  if (cpuset == nullptr || cpuset->bitmap == nullptr) return fail(Errc::invalid, "no cpuset");
  return check_source(cpuset->source);
}

// Fills `source` and the handle together, or neither. From now on the caller may put the handle into values.
Result<void> fill(char*& source, void*& handle, void* value) {
  topology::install_opaque_types();
  if (source == nullptr) {
    auto name = copy_text(topology::source_name);
    if (!name) return fail(name.error());
    source = name->release();
  }
  handle = value;
  return {};
}

Result<void> fill_cpuset(pmix_cpuset_t* cpuset, const topology::Module& module, const Result<void*>& bitmap) {
  if (!bitmap) return fail(bitmap.error());
  auto filled = fill(cpuset->source, cpuset->bitmap, *bitmap);
  if (!filled) module.destroy_cpuset(*bitmap);
  return filled;
}

Result<void> parse_cpuset(const char* text, pmix_cpuset_t* cpuset) {
  if (text == nullptr || cpuset == nullptr) return fail(Errc::invalid, "NULL argument");
  if (const auto ours = check_source(cpuset->source); !ours) return ours;
  const auto list = topology::without_source(text);
  if (!list) return fail(list.error());
  const auto module = topology::load_module();
  if (!module) return fail(module.error());
  return fill_cpuset(cpuset, **module, (*module)->parse_cpuset(*list));
}

// A text behind the name of its source, as the Standard wants cpuset and locality strings.
Result<void> hand_out(const Result<std::string>& text, char** out) {
  if (!text) return fail(text.error());
  auto copy = copy_text(std::string(topology::source_name) + ":" + *text);
  if (!copy) return fail(copy.error());
  *out = copy->release();
  return {};
}

// --- distances ---

struct Wanted {
  pmix_device_type_t types = 0;    // none named: all
  std::vector<std::string> names;  // uuid or name of the system; none named: all

  bool includes(const topology::Device& device) const {
    if (types != 0 && (types & device.type) == 0) return false;
    if (names.empty()) return true;
    for (const auto& name : names) {
      if (name == device.uuid || name == device.os_name) return true;
    }
    return false;
  }
};

Result<Wanted> read_wanted(const pmix_info_t* infos, std::size_t count) {
  Wanted wanted;
  if (infos != nullptr && weft::data::first_not_understood("PMIx_Compute_distances", infos, count) != nullptr)
    return fail(weft::Errc::not_supported, "required attribute");
  for (std::size_t i = 0; infos != nullptr && i < count; ++i) {
    const auto key = weft::data::key_of(infos[i]);
    const pmix_value_t& value = infos[i].value;
    if (key == PMIX_DEVICE_TYPE) {
      const auto types = value.type == PMIX_DEVTYPE ? Result<std::uint64_t>(value.data.devtype)
                                                    : weft::data::as_unsigned(value);
      if (!types) return fail(Errc::invalid, "not a type of device");
      wanted.types |= *types;
    } else if (key == PMIX_DEVICE_ID) {
      if (value.type != PMIX_STRING || value.data.string == nullptr)
        return fail(Errc::invalid, "not a device's name");
      wanted.names.emplace_back(value.data.string);
    }
  }
  return wanted;
}

// The array as C callers free it: one block, and a block for each text.
class Distances {
 public:
  static Result<Distances> of(const std::vector<topology::Device>& devices, const Wanted& wanted) {
    Distances out;
    if (devices.empty()) return out;
    out.array_ = static_cast<pmix_device_distance_t*>(std::calloc(devices.size(), sizeof *out.array_));
    if (out.array_ == nullptr) return fail(Errc::no_memory);
    for (const auto& device : devices) {
      if (!wanted.includes(device)) continue;
      auto& entry = out.array_[out.count_++];
      entry = {::strdup(device.uuid.c_str()), ::strdup(device.os_name.c_str()), device.type, device.nearest,
               device.farthest};
      if (entry.uuid == nullptr || entry.osname == nullptr) return fail(Errc::no_memory);
    }
    if (out.count_ == 0) std::free(std::exchange(out.array_, nullptr));
    return out;
  }
  Distances(Distances&& other) noexcept
      : array_(std::exchange(other.array_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  Distances& operator=(Distances&&) = delete;
  ~Distances() {
    for (std::size_t i = 0; array_ != nullptr && i < count_; ++i) {
      std::free(array_[i].uuid);
      std::free(array_[i].osname);
    }
    std::free(array_);
  }

  std::size_t count() const noexcept { return count_; }
  pmix_device_distance_t* data() noexcept { return array_; }
  pmix_device_distance_t* release() noexcept { return std::exchange(array_, nullptr); }

 private:
  Distances() = default;
  pmix_device_distance_t* array_ = nullptr;
  std::size_t count_ = 0;
};

Result<Distances> compute(const pmix_topology_t* topo, const pmix_cpuset_t* cpuset, const pmix_info_t* infos,
                          std::size_t count) {
  if (const auto usable = check_cpuset(cpuset); !usable) return fail(usable.error());
  if (topo != nullptr) {
    if (const auto ours = check_source(topo->source); !ours) return fail(ours.error());
  }
  const auto wanted = read_wanted(infos, count);
  if (!wanted) return fail(wanted.error());
  const auto module = topology::load_module();
  if (!module) return fail(module.error());
  const bool given = topo != nullptr && topo->topology != nullptr;
  const auto where = given ? Result<void*>(topo->topology) : topology::local_topology();
  if (!where) return fail(where.error());
  const auto devices = (*module)->devices(*where, cpuset->bitmap);
  if (!devices) return fail(devices.error());
  return Distances::of(*devices, *wanted);
}

// A non-blocking call's answer: from its callback until the callback's release it owns itself.
struct Answer {
  explicit Answer(Distances computed) noexcept : distances(std::move(computed)) {}
  Distances distances;
  std::shared_ptr<Answer> self;
};

void release_answer(void* answer) {
  std::exchange(static_cast<Answer*>(answer)->self, nullptr).reset();
}

}  // namespace

/// PMIx_Load_topology: the hwloc_topology_t of this node, shared by the whole process and read-only.
///   topo  source NULL or "hwloc"; receives both fields. PMIx_Topology_destruct leaves the topology itself
///         alone.
///   Errors: PMIX_ERR_BAD_PARAM, _NOT_SUPPORTED (another source, or weft/topology.so is not installed),
///   _NOMEM Cost: the first call discovers the node (milliseconds to seconds), later ones nothing. Source:
///   PMIx Standard 5, "Process Locality". Tests: tests/unit/core/topology
extern "C" pmix_status_t PMIx_Load_topology(pmix_topology_t* topo) {
  return weft::abi::guarded([&]() -> Result<void> {
    if (topo == nullptr) return fail(Errc::invalid, "NULL argument");
    if (const auto ours = check_source(topo->source); !ours) return ours;
    const auto local = topology::local_topology();
    if (!local) return fail(local.error());
    return fill(topo->source, topo->topology, *local);
  });
}

/// PMIx_Get_cpuset: where this process (the union of all its threads) or this thread may run now.
///   cpuset  source NULL or "hwloc"; receives an hwloc_bitmap_t, to be freed with PMIx_Cpuset_destruct
///   Errors: PMIX_ERR_BAD_PARAM (NULL, another envelope), _NOT_SUPPORTED as PMIx_Load_topology, _NOMEM
///   Cost: one system call a thread; the topology is not loaded.
extern "C" pmix_status_t PMIx_Get_cpuset(pmix_cpuset_t* cpuset, pmix_bind_envelope_t ref) {
  return weft::abi::guarded([&]() -> Result<void> {
    if (cpuset == nullptr) return fail(Errc::invalid, "NULL argument");
    if (ref != PMIX_CPUBIND_PROCESS && ref != PMIX_CPUBIND_THREAD)
      return fail(Errc::invalid, "unknown envelope");
    if (const auto ours = check_source(cpuset->source); !ours) return ours;
    const auto module = topology::load_module();
    if (!module) return fail(module.error());
    return fill_cpuset(cpuset, **module, (*module)->current_cpuset(ref == PMIX_CPUBIND_PROCESS));
  });
}

/// PMIx_Parse_cpuset_string: the bitmap of a PMIX_CPUSET string.
///   cpuset_string  "hwloc:0-3,8", or the list alone
///   Errors: PMIX_ERR_BAD_PARAM (NULL, malformed), _NOT_SUPPORTED (another source), _NOMEM
extern "C" pmix_status_t PMIx_Parse_cpuset_string(const char* cpuset_string, pmix_cpuset_t* cpuset) {
  return weft::abi::guarded([&] { return parse_cpuset(cpuset_string, cpuset); });
}

/// PMIx_Get_relative_locality: what the processes of two PMIX_LOCALITY_STRINGs share. Needs no hwloc.
///   locality  PMIX_LOCALITY_SHARE_NODE and a bit for each level in which they touch the same object
///   Errors: PMIX_ERR_BAD_PARAM (NULL, malformed), _NOT_SUPPORTED (another source)
extern "C" pmix_status_t PMIx_Get_relative_locality(const char* locality1, const char* locality2,
                                                    pmix_locality_t* locality) {
  return weft::abi::guarded([&]() -> Result<void> {
    if (locality1 == nullptr || locality2 == nullptr || locality == nullptr) {
      return fail(Errc::invalid, "NULL argument");
    }
    const auto shared = topology::relative_locality(locality1, locality2);
    if (!shared) return fail(shared.error());
    *locality = *shared;
    return {};
  });
}

/// PMIx_Compute_distances: how far the node's devices are from a cpuset, in steps of the topology's tree.
///   topo   NULL, or without a topology: this node
///   info   [ninfo] PMIX_DEVICE_TYPE (bits; several are joined), PMIX_DEVICE_ID (uuid or name of the system);
///          without any: all devices
///   distances, ndist  array from malloc; NULL and 0 if no device matches
///   Errors: PMIX_ERR_BAD_PARAM, _NOT_SUPPORTED, _NOMEM. Cost: processors x devices, beside loading the
///   topology.
extern "C" pmix_status_t PMIx_Compute_distances(pmix_topology_t* topo, pmix_cpuset_t* cpuset,
                                                pmix_info_t info[], size_t ninfo,
                                                pmix_device_distance_t** distances, size_t* ndist) {
  return weft::abi::guarded([&]() -> Result<void> {
    if (distances == nullptr || ndist == nullptr) return fail(Errc::invalid, "NULL argument");
    auto computed = compute(topo, cpuset, info, ninfo);
    if (!computed) return fail(computed.error());
    *ndist = computed->count();
    *distances = computed->release();
    return {};
  });
}

/// PMIx_Compute_distances_nb: the same, and PMIX_ERR_INIT before PMIx_Init; errors are returned at once, and
/// the callback then does not run. It runs on the library's thread and may keep the array until it calls its
/// release.
extern "C" pmix_status_t PMIx_Compute_distances_nb(pmix_topology_t* topo, pmix_cpuset_t* cpuset,
                                                   pmix_info_t info[], size_t ninfo,
                                                   pmix_device_dist_cbfunc_t cbfunc, void* cbdata) {
  return weft::abi::guarded([&]() -> Result<void> {
    if (cbfunc == nullptr) return fail(Errc::invalid, "NULL argument");
    // Without a role there is no thread to call back on.
    if (weft::abi::roles().acting() == nullptr) return fail(Errc::canceled, "before PMIx_Init");
    auto computed = compute(topo, cpuset, info, ninfo);
    if (!computed) return fail(computed.error());
    const auto answer = std::make_shared<Answer>(std::move(*computed));
    weft::abi::run_later([answer, cbfunc, cbdata] {
      answer->self = answer;
      cbfunc(PMIX_SUCCESS, answer->distances.data(), answer->distances.count(), cbdata, release_answer,
             answer.get());
    });
    return {};
  });
}

/// PMIx_server_generate_locality_string: what PMIx_Get_relative_locality reads, for a cpuset on this node.
///   locality  "hwloc:NM0:SK0:L30:L20:L10:CR0:HT0" (core/topology/locality.hpp), from malloc
///   Errors: PMIX_ERR_BAD_PARAM (NULL, no processor of this node), _NOT_SUPPORTED, _NOMEM
///   Cost: the first call looks at the node's processors (milliseconds).
extern "C" pmix_status_t PMIx_server_generate_locality_string(const pmix_cpuset_t* cpuset, char** locality) {
  return weft::abi::guarded([&]() -> Result<void> {
    if (locality == nullptr) return fail(Errc::invalid, "NULL argument");
    if (const auto usable = check_cpuset(cpuset); !usable) return usable;
    const auto processors = topology::local_processors();
    if (!processors) return fail(processors.error());
    return hand_out((*topology::load_module())->locality(*processors, cpuset->bitmap), locality);
  });
}

/// PMIx_server_generate_cpuset_string: "hwloc:0-3,8" for PMIX_CPUSET, from malloc.
///   Errors: PMIX_ERR_BAD_PARAM, _NOT_SUPPORTED (another source), _NOMEM
extern "C" pmix_status_t PMIx_server_generate_cpuset_string(const pmix_cpuset_t* cpuset,
                                                            char** cpuset_string) {
  return weft::abi::guarded([&]() -> Result<void> {
    if (cpuset_string == nullptr) return fail(Errc::invalid, "NULL argument");
    if (const auto usable = check_cpuset(cpuset); !usable) return usable;
    const auto module = topology::load_module();
    if (!module) return fail(module.error());
    return hand_out((*module)->format_cpuset(cpuset->bitmap), cpuset_string);
  });
}

/// PMIx_server_generate_cpuset: the inverse. In no published Standard; taken to do what
/// PMIx_Parse_cpuset_string does.
extern "C" pmix_status_t PMIx_server_generate_cpuset(const char* cpuset_string, pmix_cpuset_t* cpuset) {
  return weft::abi::guarded([&] { return parse_cpuset(cpuset_string, cpuset); });
}
