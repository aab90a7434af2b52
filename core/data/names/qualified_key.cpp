// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/names/qualified_key.hpp"

#include <algorithm>
#include <vector>

namespace weft::data {
namespace {

constexpr char hex[] = "0123456789abcdef";

/// "NAME=" and the bytes of the value, printable.
Result<std::string> spelling_of(const pmix_info_t& qualifier) {
  Writer encoded;
  if (auto ok = encode_value(encoded, qualifier.value); !ok) return fail(ok.error());
  auto out = std::string(key_of(qualifier)) + '=';
  for (const auto byte : encoded.view()) {
    out += hex[std::to_integer<unsigned>(byte) >> 4];
    out += hex[std::to_integer<unsigned>(byte) & 15];
  }
  return out;
}

/// Sorted, so that the order in which a caller names them does not matter.
template <class Choose>
Result<std::string> name_of(std::string_view key, const pmix_info_t* infos, std::size_t count,
                            Choose&& is_one) {
  std::vector<std::string> qualifiers;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_one(infos[i])) continue;
    auto spelling = spelling_of(infos[i]);
    if (!spelling) return fail(spelling.error());
    qualifiers.push_back(std::move(*spelling));
  }
  std::sort(qualifiers.begin(), qualifiers.end());
  auto out = std::string(key);
  for (const auto& qualifier : qualifiers) out += '\n' + qualifier;
  if (out.size() > PMIX_MAX_KEYLEN) return fail(Errc::invalid, "a key with its qualifiers is too long");
  return out;
}

}  // namespace

Result<std::string> qualified_key(std::string_view key, const pmix_info_t* infos, std::size_t count) {
  return name_of(key, infos, count,
                 [](const pmix_info_t& info) { return (info.flags & PMIX_INFO_QUALIFIER) != 0; });
}

Result<QualifiedValue> read_qualified(const pmix_value_t& value) {
  const auto* array = value.data.darray;
  if (value.type != PMIX_DATA_ARRAY || array == nullptr || array->type != PMIX_INFO || array->size == 0 ||
      array->array == nullptr)
    return fail(Errc::invalid, "PMIX_QUALIFIED_VALUE is not an array of infos");
  const auto* infos = static_cast<const pmix_info_t*>(array->array);
  const auto key = key_of(infos[0]);
  if (key.empty()) return fail(Errc::invalid, "PMIX_QUALIFIED_VALUE without a key");
  auto name = name_of(key, infos + 1, array->size - 1, [](const pmix_info_t&) { return true; });
  if (!name) return fail(name.error());
  return QualifiedValue{std::move(*name), &infos[0].value};
}

}  // namespace weft::data
