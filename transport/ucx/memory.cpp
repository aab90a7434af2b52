// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/memory.hpp"

#include <sys/random.h>

#include <cerrno>

#include "transport/ucx/endpoint.hpp"

namespace weft::ucx {

Result<std::unique_ptr<UcxRegion>> UcxRegion::make(UcxEndpoint& owner, std::span<std::byte> memory) {
  std::unique_ptr<UcxRegion> region(new UcxRegion(owner, memory));
  std::vector<std::byte> remote_key;
  if (owner.worker_->direct_gets()) {
    if (const auto mapped = region->map(remote_key); !mapped) return fail(mapped.error());
  }
  do {
    if (::getrandom(&region->number_, sizeof region->number_, 0) != sizeof region->number_)
      return fail(Errc::os, "getrandom, for the number of a region", errno);
  } while (region->number_ == 0 || owner.regions_.contains(region->number_));
  region->key_ =
      pack_key({region->number_, reinterpret_cast<std::uintptr_t>(memory.data()), memory.size(), remote_key});
  owner.regions_.emplace(region->number_, memory);
  if (region->key_.size() > max_key_bytes)
    return fail(Errc::os, "UCX packs a key that is too large", EMSGSIZE);
  return region;
}

Result<void> UcxRegion::map(std::vector<std::byte>& remote_key) {
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                      UCP_MEM_MAP_PARAM_FIELD_PROT | UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE;
  params.address = memory_.data();
  params.length = memory_.size();
  params.prot = UCP_MEM_MAP_PROT_LOCAL_READ | UCP_MEM_MAP_PROT_LOCAL_WRITE | UCP_MEM_MAP_PROT_REMOTE_READ;
  params.memory_type = UCS_MEMORY_TYPE_HOST;
  const auto context = owner_.worker_->context();
  const auto mapped = ucp_mem_map(context, &params, &handle_);
  if (mapped != UCS_OK) {
    handle_ = nullptr;
    return fail(error_of(mapped, "UCX does not register this memory"));
  }
  void* packed = nullptr;
  std::size_t size = 0;
  const auto done = ucp_rkey_pack(context, handle_, &packed, &size);
  if (done != UCS_OK) return fail(error_of(done, "UCX packs no key of this memory"));
  const auto* bytes = static_cast<const std::byte*>(packed);
  remote_key.assign(bytes, bytes + size);
  ucp_rkey_buffer_release(packed);
  return {};
}

UcxRegion::~UcxRegion() {
  owner_.regions_.erase(number_);  // a request that arrives from now on is answered with an error
  owner_.await_direct_gets(nullptr, this);
  owner_.cancel_if([this](const transport::Operation& o) { return o.region == this; });
  if (handle_ != nullptr) ucp_mem_unmap(owner_.worker_->context(), handle_);
}

}  // namespace weft::ucx
