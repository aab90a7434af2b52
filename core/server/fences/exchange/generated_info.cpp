// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/fences/exchange/generated_info.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/data/types/value.hpp"
#include "core/link/messages.hpp"
#include "core/server/jobs/job_level.hpp"
#include "core/store/cards/blob.hpp"
#include "core/store/get/job_keys.hpp"

namespace weft::server {
namespace {

using store::KeyOwner;
using store::Realm;

/// Whether a key is of this node and was given by its own host. Keys that another node brought are that
/// node's to tell.
bool is_generated_here(const Job& job, KeyOwner owner, bool is_added) {
  const auto& view = job.view();
  if (owner.realm == Realm::rank) return view.local_index(owner.index) != store::none;
  if (owner.realm == Realm::node) return owner.index == view.my_node();
  return is_added;
}

bool travels(const store::Record& record) {
  if (record.scope != PMIX_INTERNAL || record.key.starts_with("weft.")) return false;
  const bool is_of_this_node = record.owner.realm == Realm::rank || record.owner.realm == Realm::node;
  return is_of_this_node || !is_of_one_node(record.key);
}

/// The newest of each key.
struct KeyOfOwner {
  KeyOwner owner;
  std::string_view key;
  bool operator<(const KeyOfOwner& other) const noexcept {
    return std::tie(owner.realm, owner.index, key) <
           std::tie(other.owner.realm, other.owner.index, other.key);
  }
};

std::map<KeyOfOwner, Bytes> generated_here(const Job& job) {
  std::map<KeyOfOwner, Bytes> out;
  const auto see_from = [&](std::uint64_t from, bool is_added) {
    (void)job.view().info().visit(from, [&](const store::Record& record) {
      if (travels(record) && is_generated_here(job, record.owner, is_added))
        out.insert_or_assign({record.owner, record.key}, record.value);
    });
  };
  see_from(0, false);
  see_from(job.info_at_registration, true);
  return out;
}

}  // namespace

Blob GeneratedInfo::collect(const Procs& procs) const {
  auto out = store::begin_blob(store::BlobKind::generated);
  std::string_view before;
  for (const auto& proc : procs) {  // they are sorted
    const auto nspace = link::nspace_of(proc);
    const auto* job = nspace == before ? nullptr : jobs_.find(nspace);
    before = nspace;
    if (job == nullptr || job->is_learned) continue;
    bool is_first = true;
    for (const auto& [name, value] : generated_here(*job)) {
      out.text(is_first ? nspace : std::string_view());
      out.scalar(name.owner.realm);
      out.u32(name.owner.index);
      out.text(name.key);
      out.bytes(value);
      is_first = false;
    }
  }
  return store::finish_blob(std::move(out));
}

Result<void> GeneratedInfo::read(Bytes blobs, const std::function<void(const Record&)>& see) {
  Result<void> read;
  auto seen = store::read_blobs(blobs, [&](store::BlobKind kind, Bytes body) {
    if (kind != store::BlobKind::generated || !read) return;
    data::Reader in(body);
    std::string_view nspace;
    while (in.left() != 0 && read) {
      if (const auto told = in.text(); !told.empty()) nspace = told;
      const auto realm = in.scalar<Realm>();
      const auto index = in.u32();
      const auto key = in.text();
      const auto value = in.bytes();
      const bool is_sound = in.ok() && !nspace.empty() && realm <= Realm::session && !key.empty() &&
                            key.size() <= store::max_key_bytes;
      if (!is_sound)
        read = fail(Errc::corrupt, "generated key");
      else
        see({nspace, {realm, index}, key, value});
    }
  });
  return read ? seen : read;
}

pmix_status_t GeneratedInfo::take(Bytes blobs) {
  auto status = PMIX_SUCCESS;
  const auto seen = read(blobs, [&](const Record& record) {
    if (const auto taken = take(record); taken != PMIX_SUCCESS) status = taken;
  });
  return seen ? status : PMIX_ERR_UNPACK_FAILURE;
}

pmix_status_t GeneratedInfo::take(const Record& record) {
  auto* job = jobs_.find(record.nspace);
  if (job == nullptr) return PMIX_SUCCESS;
  const auto& view = job->view();
  const auto [realm, index] = record.owner;
  const bool is_of_rank = realm == Realm::rank, is_of_node = realm == Realm::node;
  if (is_of_rank && (index >= view.ranks() || view.local_index(index) != store::none)) return PMIX_SUCCESS;
  if (is_of_node && (index >= view.nodes() || index == view.my_node())) return PMIX_SUCCESS;
  const auto hash = store::hash_key(record.key);
  const auto known = view.find_info(record.owner, record.key, hash);
  const bool is_of_all = !is_of_rank && !is_of_node;
  if (known && (is_of_all || std::ranges::equal(known->value, record.value))) return PMIX_SUCCESS;
  if (const auto computed = store::compute_key(view, record.owner, record.key, hash)) {
    data::Writer bytes;
    const bool is_same = data::encode_value(bytes, computed->get()).has_value() &&
                         std::ranges::equal(bytes.view(), record.value);
    if (is_of_all || is_same) return PMIX_SUCCESS;
  }
  // The scope tells the record from what the host of this node said.
  return job->writer->add_record({record.owner, PMIX_REMOTE, record.key, record.value})
             ? PMIX_SUCCESS
             : PMIX_ERR_OUT_OF_RESOURCE;
}

}  // namespace weft::server
