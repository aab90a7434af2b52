// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/messages.hpp"

namespace weft::link {

pmix_proc_t make_proc(std::string_view nspace, std::uint32_t rank) noexcept {
  pmix_proc_t proc{};
  nspace.copy(proc.nspace, PMIX_MAX_NSLEN);  // the rest is zero already
  proc.rank = rank;
  return proc;
}

}  // namespace weft::link
