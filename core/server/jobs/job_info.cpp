// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/jobs/job_info.hpp"

#include "base/log_format.hpp"
#include "core/server/jobs/job_reader.hpp"

namespace weft::server {

Result<store::JobSpec> read_job_info(std::string_view nspace, int local_size, const pmix_info_t* infos,
                                     std::size_t count, const std::set<std::uint32_t>& registered,
                                     std::string_view host) {
  store::JobSpec spec;
  spec.nspace = nspace;
  JobReader reader(spec, host);
  auto done = reader.read(infos, count);
  if (done) done = reader.finish(local_size, registered);
  if (done) return spec;
  const auto& reason = reader.reason();
  base::error(base::LogPart::jobs, "{} is not registered: {}", nspace,
              reason.empty() ? std::string_view(done.error().what) : std::string_view(reason));
  return fail(done.error());
}

}  // namespace weft::server
