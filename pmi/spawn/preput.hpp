// SPDX-License-Identifier: BSD-3-Clause
// Keys that a spawned job has in its space from the start, on their way to it: each child has them in its
// environment, as WEFT_PMI_PREPUT. The variable is there also where it has no key: it says that the job was
// spawned by PMI.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pmi/spawn/spawn_order.hpp"

namespace weft::pmi {

/// Linux's limit for one variable, 128 KiB, less its name.
inline constexpr std::size_t preput_room = std::size_t{120} << 10;

/// "3:key,5:value,": lengths, so that a value may have any bytes. Nothing: it is longer than preput_room.
std::optional<std::string> encode_preput(const std::vector<KeyValue>& pairs);
/// Nothing: the text is none of encode_preput's.
std::optional<std::vector<KeyValue>> decode_preput(std::string_view text);

/// Of this process; nothing: PMI did not spawn it.
std::optional<std::vector<KeyValue>> own_preput();

}  // namespace weft::pmi
