// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/fences/participants.hpp"

#include <xxhash.h>

#include "core/data/types/wire.hpp"
#include "core/link/messages.hpp"

namespace weft::server {
namespace {

/// A hash of namespaces and ranks in canonical order, so that it is the same on all nodes.
collectives::Signature signature_of(const Procs& procs) {
  data::Writer text;
  text.u32(static_cast<std::uint32_t>(procs.size()));
  for (const auto& proc : procs) {
    text.text(link::nspace_of(proc));
    text.u32(proc.rank);
  }
  const auto hash = XXH3_128bits(text.view().data(), text.size());
  return {hash.high64, hash.low64};
}

}  // namespace

Participants::Participants(Procs procs, OperationName operation, collectives::AfterLoss after_loss,
                           std::optional<FenceName> begun_as) {
  const auto set = signature_of(procs);
  auto signature = set;
  if (!operation.is_fence()) {
    const auto bytes = base::encode(OperationName{operation.kind, operation.group});
    signature.high = XXH3_64bits(bytes.data(), bytes.size());
    signature.low = XXH3_64bits_withSeed(&set, sizeof set, signature.high ^ operation.series);
  }
  shared_ = std::make_shared<const Shared>(
      Shared{std::move(procs), std::move(operation), after_loss, signature, set, std::move(begun_as)});
}

}  // namespace weft::server
