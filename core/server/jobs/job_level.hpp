// SPDX-License-Identifier: BSD-3-Clause
// All that one server knows of a job beside its cards, as a host carries it to a server that does not know
// the job: what PMIx_server_dmodex_request of the wildcard rank answers, and direct_modex of it brings.
#pragma once

#include "base/wire.hpp"
#include "core/data/types/fields.hpp"
#include "core/server/types.hpp"
#include "core/store/segment/job_view.hpp"

namespace weft::server {

struct JobLevel {
  static constexpr std::uint32_t this_format = 1;
  std::uint32_t format = this_format;
  data::Infos
      infos;  ///< as PMIx_server_register_nspace takes them; nothing that holds for one node's processes only
};
template <class Archive>
void fields(Archive& archive, JobLevel& m) {
  archive(m.format, m.infos);
}

/// Keys of a job that say something of the server's node, and are wrong anywhere else.
bool is_of_one_node(std::string_view key) noexcept;

/// Errors: no_memory, corrupt.
Result<Blob> encode_job_level(const store::JobView& job);
/// Errors: corrupt, not_supported (another format).
Result<data::Infos> decode_job_level(Bytes bytes);

}  // namespace weft::server
