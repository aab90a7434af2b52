// SPDX-License-Identifier: BSD-3-Clause
// Values, infos and processes as fields of a message (base/wire.hpp).
#pragma once

#include <string.h>

#include "core/data/types/value.hpp"
#include "core/data/types/wire.hpp"

namespace weft::base {

/// A value that cannot be encoded (deeper than max_depth, a handle without its module) leaves a message that
/// its receiver refuses.
template <>
struct Coding<data::Value> {
  static void write(Writer& out, const data::Value& value) { (void)data::encode_value(out, value.get()); }
  static void read(Reader& in, data::Value& value) {
    auto read = data::Value::decode(in);
    if (read)
      value = std::move(*read);
    else
      in.spoil();
  }
};

template <>
struct Coding<data::Infos> {
  static void write(Writer& out, const data::Infos& infos) {
    (void)data::encode_infos(out, infos.data(), infos.size());
  }
  static void read(Reader& in, data::Infos& infos) {
    auto read = data::Infos::decode(in);
    if (read)
      infos = std::move(*read);
    else
      in.spoil();
  }
};

/// A namespace that is too long is cut, which no comparison will match.
template <>
struct Coding<pmix_proc_t> {
  static void write(Writer& out, const pmix_proc_t& proc) {
    out.text({proc.nspace, ::strnlen(proc.nspace, PMIX_MAX_NSLEN)});
    out.u32(proc.rank);
  }
  static void read(Reader& in, pmix_proc_t& proc) {
    data::load_fixed(proc.nspace, sizeof proc.nspace, in.text());
    proc.rank = in.u32();
  }
};

}  // namespace weft::base
