// SPDX-License-Identifier: BSD-3-Clause
// Deep copies, ends and bytes of pmix_value_t; what they own comes from malloc, as C callers expect.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "core/data/types/wire.hpp"
#include "pmix_common.h"
#include "weft/result.hpp"

namespace weft::data {

/// Deep copy. `out` is overwritten, not destroyed first, and stays untouched on error.
/// Errors: no_memory, not_supported (a type that Weft does not know).
Result<void> copy_value(pmix_value_t& out, const pmix_value_t& in);

/// Frees what the value owns and leaves it PMIX_UNDEF.
void destroy_value(pmix_value_t& value) noexcept;

/// u16 type, then the payload in the format of docs/design/wire.md.
Result<void> encode_value(Writer& out, const pmix_value_t& in);

/// The bounded inverse: `out` owns malloc'ed memory on success and is untouched on error (corrupt,
/// no_memory). Arrays inside arrays are followed to a depth of 16.
Result<void> decode_value(Reader& in, pmix_value_t& out);

/// u32 count, then of each info key, directives and value; Infos::decode reads them back.
Result<void> encode_infos(Writer& out, const pmix_info_t* infos, std::size_t count);

/// PMIX_VALUE_TYPE_DIFFERENT, or the order of the two payloads (compare_elements in
/// core/data/types/element.hpp).
pmix_value_cmp_t compare_values(const pmix_value_t& first, const pmix_value_t& second) noexcept;

/// Copies `text` into a fixed array of `size` chars (pmix_key_t, pmix_nspace_t); what is too long is cut, the
/// rest is zeroed.
void load_fixed(char* out, std::size_t size, std::string_view text) noexcept;

/// How PMIX_POINTER is decoded. kept: this process encoded the bytes, and nothing
/// else could.
enum class Pointers : bool { cleared, kept };

/// An owned pmix_value_t.
class Value {
 public:
  Value() noexcept { raw_.type = PMIX_UNDEF; }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  Value(Value&& other) noexcept : raw_(other.release()) {}
  Value& operator=(Value&& other) noexcept {
    if (this != &other) {
      end();
      raw_ = other.release();
    }
    return *this;
  }
  ~Value() { end(); }

  static Value of(bool v) noexcept;
  static Value of(std::uint16_t v) noexcept;
  static Value of(std::uint32_t v) noexcept;
  static Value of(std::uint64_t v) noexcept;
  static Value of_size(std::size_t v) noexcept;
  static Value of_rank(pmix_rank_t v) noexcept;
  static Value of_pid(pid_t v) noexcept;
  static Value of_status(pmix_status_t v) noexcept;
  /// A string, a byte object, a proc: throws std::bad_alloc.
  static Value of(std::string_view text);
  static Value of(const char* text) { return of(std::string_view(text)); }  // else it would become a bool
  static Value of_bytes(Bytes bytes);
  static Value of_proc(const pmix_proc_t& proc);
  /// Takes over what `raw` owns.
  static Value adopt(pmix_value_t raw) noexcept;
  static Result<Value> copy_of(const pmix_value_t& v);
  static Result<Value> decode(Reader& in, Pointers pointers = Pointers::cleared);

  const pmix_value_t& get() const noexcept { return raw_; }
  pmix_value_t& get() noexcept { return raw_; }
  /// The caller owns what it returns.
  pmix_value_t release() noexcept {
    const pmix_value_t out = raw_;
    raw_.type = PMIX_UNDEF;
    return out;
  }

 private:
  // Most values that end were moved from.
  void end() noexcept {
    if (raw_.type != PMIX_UNDEF) destroy_value(raw_);
  }

  pmix_value_t raw_{};
};

/// The key of an info as its caller wrote it, perhaps without a NUL.
inline std::string_view key_of(const pmix_info_t& info) noexcept {
  return {info.key, ::strnlen(info.key, PMIX_MAX_KEYLEN)};
}

/// An owned array of pmix_info_t, contiguous as the C API wants it.
class Infos {
 public:
  Infos() = default;
  Infos(const Infos&) = delete;
  Infos& operator=(const Infos&) = delete;
  Infos(Infos&&) noexcept = default;
  Infos& operator=(Infos&& other) noexcept;
  ~Infos() { clear(); }

  /// A key longer than PMIX_MAX_KEYLEN is cut.
  void add(std::string_view key, Value value, pmix_info_directives_t flags = 0);
  static Result<Infos> copy_of(const pmix_info_t* infos, std::size_t count);
  static Result<Infos> decode(Reader& in);

  pmix_info_t* data() noexcept { return list_.empty() ? nullptr : list_.data(); }
  const pmix_info_t* data() const noexcept { return list_.empty() ? nullptr : list_.data(); }
  std::size_t size() const noexcept { return list_.size(); }
  const pmix_info_t* find(std::string_view key) const noexcept;
  /// Each of that key.
  void remove(std::string_view key) noexcept;
  void clear() noexcept;

 private:
  std::vector<pmix_info_t> list_;
};

/// Whether a directive is set: a true boolean, or PMIX_UNDEF (merely present, which the Standard counts as
/// true), or a string that says "true", "yes" or a positive number. Every other type is false.
bool is_true(const pmix_value_t& value) noexcept;
/// As is_true(), with "neither true nor false" told apart.
pmix_boolean_t truth(const pmix_value_t& value) noexcept;
/// Any integer type, booleans not included, that holds no negative number; not_found for others, so that
/// callers treat a wrong type as missing.
Result<std::uint64_t> as_unsigned(const pmix_value_t& value) noexcept;

}  // namespace weft::data
