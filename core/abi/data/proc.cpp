// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Data Structures and Types": keys, namespaces, ranks and process identifiers.
#include <cstring>

#include "core/data/types/memory.hpp"
#include "core/data/types/value.hpp"
#include "pmix.h"

using namespace weft;

namespace {

std::string_view or_empty(const char* text) noexcept {
  return text == nullptr ? "" : text;
}

/// Namespaces of fixed arrays too, so never further than the longest one.
std::string_view nspace_text(const char* nspace) noexcept {
  return nspace == nullptr ? std::string_view() : data::fixed_text(nspace, sizeof(pmix_nspace_t));
}

}  // namespace

extern "C" {

void PMIx_Load_key(pmix_key_t key, const char* src) {
  if (key != nullptr) data::load_fixed(key, sizeof(pmix_key_t), or_empty(src));
}

void PMIx_Load_nspace(pmix_nspace_t nspace, const char* src) {
  if (nspace != nullptr) data::load_fixed(nspace, sizeof(pmix_nspace_t), or_empty(src));
}

bool PMIx_Check_key(const char* key, const char* text) {
  return key != nullptr && text != nullptr && std::strncmp(key, text, PMIX_MAX_KEYLEN) == 0;
}

/// Reserved are all keys that begin with "pmix".
bool PMIx_Check_reserved_key(const char* key) {
  return key != nullptr && std::strncmp(key, "pmix", 4) == 0;
}

/// An empty namespace stands for any. Observed in 4.2.2.
bool PMIx_Check_nspace(const char* first, const char* second) {
  const std::string_view a = nspace_text(first), b = nspace_text(second);
  return a.empty() || b.empty() || a == b;
}

bool PMIx_Nspace_invalid(const char* nspace) {
  return nspace_text(nspace).empty();
}

bool PMIx_Check_rank(pmix_rank_t a, pmix_rank_t b) {
  return a == b || a == PMIX_RANK_WILDCARD || b == PMIX_RANK_WILDCARD;
}

bool PMIx_Rank_valid(pmix_rank_t rank) {
  return rank < PMIX_RANK_VALID;
}

bool PMIx_Check_procid(const pmix_proc_t* a, const pmix_proc_t* b) {
  return a != nullptr && b != nullptr && PMIx_Check_nspace(a->nspace, b->nspace) &&
         PMIx_Check_rank(a->rank, b->rank);
}

bool PMIx_Procid_invalid(const pmix_proc_t* proc) {
  return proc == nullptr || PMIx_Nspace_invalid(proc->nspace) || proc->rank == PMIX_RANK_INVALID;
}

void PMIx_Load_procid(pmix_proc_t* proc, const char* nspace, pmix_rank_t rank) {
  if (proc == nullptr) return;
  PMIx_Load_nspace(proc->nspace, nspace);
  proc->rank = rank;
}

void PMIx_Proc_load(pmix_proc_t* proc, const char* nspace, pmix_rank_t rank) {
  PMIx_Load_procid(proc, nspace, rank);
}

void PMIx_Xfer_procid(pmix_proc_t* dest, const pmix_proc_t* src) {
  if (dest != nullptr && src != nullptr) *dest = *src;
}

/// "cluster:nspace", cut at PMIX_MAX_NSLEN characters.
void PMIx_Multicluster_nspace_construct(pmix_nspace_t target, pmix_nspace_t cluster, pmix_nspace_t nspace) {
  if (target == nullptr) return;
  char joined[2 * sizeof(pmix_nspace_t)];
  const std::string_view first = nspace_text(cluster), second = nspace_text(nspace);
  std::memcpy(joined, first.data(), first.size());
  joined[first.size()] = ':';
  std::memcpy(joined + first.size() + 1, second.data(), second.size());
  data::load_fixed(target, sizeof(pmix_nspace_t), {joined, first.size() + 1 + second.size()});
}

/// Without a colon all of it is the cluster. Observed in 4.2.2.
void PMIx_Multicluster_nspace_parse(pmix_nspace_t target, pmix_nspace_t cluster, pmix_nspace_t nspace) {
  if (target == nullptr || cluster == nullptr || nspace == nullptr) return;
  const std::string_view all = nspace_text(target);
  const std::size_t colon = all.find(':');
  data::load_fixed(cluster, sizeof(pmix_nspace_t), all.substr(0, colon));
  data::load_fixed(nspace, sizeof(pmix_nspace_t),
                   colon == all.npos ? std::string_view() : all.substr(colon + 1));
}

/// The range of codes that the system itself raises, such as a node going down.
bool PMIx_System_event(pmix_status_t status) {
  return status <= PMIX_EVENT_SYS_BASE && status >= PMIX_EVENT_SYS_OTHER;
}

}  // extern "C"
