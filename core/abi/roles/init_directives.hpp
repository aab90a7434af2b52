// SPDX-License-Identifier: BSD-3-Clause
// What the calls of PMIx_Init in this process have asked for. Several programming models of one process each
// call it, and no call may undo what an earlier one was promised (RFC 0017). Guarded by the lock under which
// the roles change.
#pragma once

#include <string_view>

#include "core/data/types/value.hpp"

namespace weft::abi {

/// By these a programming model declares itself. Each model brings values of its own: they conflict with no
/// other call's.
bool is_model_key(std::string_view key) noexcept;

class InitDirectives {
 public:
  /// Adds those of one more call. PMIX_ERR_BAD_PARAM: a key has another value than in an earlier call, or two
  /// values in this one; then nothing is added. Cost: the product of both numbers of keys, some ten each.
  pmix_status_t add(const pmix_info_t* infos, std::size_t ninfo);

 private:
  data::Infos known_;  ///< each key once; no model keys
};

}  // namespace weft::abi
