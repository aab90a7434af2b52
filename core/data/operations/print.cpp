// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/operations/print.hpp"

#include <sys/time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "core/data/names/names.hpp"
#include "core/data/types/element.hpp"
#include "core/data/types/memory.hpp"
#include "core/data/types/number.hpp"
#include "core/data/types/opaque.hpp"
#include "core/data/types/types.hpp"

namespace weft::data {
namespace {

constexpr std::size_t shown_bytes = 32;

class Printer {
 public:
  explicit Printer(std::string& out) : out_(out) {}

  void element(pmix_data_type_t number, const void* in) {
    const Type* type = find_type(number);
    if (type == nullptr) {
      out_ += "unknown type " + std::to_string(number);
    } else if (in == nullptr) {
      out_ += "(null)";
    } else if (++depth_ > max_depth) {
      out_ += "...";  // whatever lies deeper cannot travel either
      --depth_;
    } else {
      one(number, *type, in);
      --depth_;
    }
  }

  void value(const pmix_value_t& in) {
    const Type* type = find_type(in.type);
    out_ += type != nullptr ? type->name : "unknown type " + std::to_string(in.type);
    if (type == nullptr || type->shape == Shape::none) return;
    out_ += ": ";
    element(in.type, payload_or_null(in));
  }

 private:
  void text(const char* in) {
    if (in == nullptr) {
      out_ += "(null)";
    } else {
      quoted(in);
    }
  }

  void quoted(std::string_view in) {
    out_ += '"';
    out_ += in;
    out_ += '"';
  }

  void bytes(std::string_view in) {
    out_ += std::to_string(in.size()) + " bytes";
    if (in.empty()) return;
    out_ += ' ';
    char hex[3];
    for (const char c : in.substr(0, shown_bytes)) {
      std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(c));
      out_ += hex;
    }
    if (in.size() > shown_bytes) out_ += "...";
  }

  /// The source, and of a handle that its library can describe what it is.
  void opaque(Opaque kind, const OpaqueBody& in) {
    text(in.source);
    const auto* ops = opaque_ops(kind);
    if (in.handle == nullptr || ops == nullptr) return;
    const std::unique_ptr<char, decltype(&std::free)> words(ops->describe(in.source, in.handle), &std::free);
    if (words) out_ += std::string(" ") + words.get();
  }

  void real(double in) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%g", in);
    out_ += digits;
  }

  void natural(pmix_data_type_t number, std::uint64_t in) {
    char hex[24];
    switch (number) {
      case PMIX_PROC_RANK:
        rank(static_cast<pmix_rank_t>(in));
        return;
      case PMIX_INFO_DIRECTIVES:
        out_ += print_directives(static_cast<pmix_info_directives_t>(in));
        return;
      case PMIX_POINTER:
      case PMIX_LOCTYPE:
      case PMIX_STOR_MEDIUM:
      case PMIX_STOR_ACCESS:
      case PMIX_STOR_PERSIST:
      case PMIX_STOR_ACCESS_TYPE:
      case PMIX_IOF_CHANNEL:
        std::snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(in));
        out_ += hex;
        return;
      default:
        break;
    }
    const char* name = constant_name(number, in);
    out_ += name != nullptr ? name : std::to_string(in);
  }

  void integer(pmix_data_type_t number, std::int64_t in) {
    const char* name = number == PMIX_STATUS ? status_name(static_cast<pmix_status_t>(in)) : nullptr;
    out_ += name != nullptr ? name : std::to_string(in);
  }

  void rank(pmix_rank_t in) {
    switch (in) {
      case PMIX_RANK_UNDEF:
        out_ += "PMIX_RANK_UNDEF";
        break;
      case PMIX_RANK_WILDCARD:
        out_ += "*";
        break;
      case PMIX_RANK_LOCAL_NODE:
        out_ += "PMIX_RANK_LOCAL_NODE";
        break;
      case PMIX_RANK_LOCAL_PEERS:
        out_ += "PMIX_RANK_LOCAL_PEERS";
        break;
      case PMIX_RANK_INVALID:
        out_ += "PMIX_RANK_INVALID";
        break;
      default:
        out_ += std::to_string(in);
    }
  }

  void list(pmix_data_type_t number, const void* first, std::size_t count) {
    const Type* type = find_type(number);
    out_ += '[';
    for (std::size_t i = 0; type != nullptr && first != nullptr && i < count; ++i) {
      if (i != 0) out_ += ", ";
      element(number, data::element(first, *type, i));
    }
    out_ += ']';
  }

  void strings(char* const* in) {
    out_ += '[';
    for (std::size_t i = 0; in != nullptr && in[i] != nullptr; ++i) {
      if (i != 0) out_ += ", ";
      quoted(in[i]);
    }
    out_ += ']';
  }

  void record(const Type& type, const void* in) {
    out_ += '{';
    for (const Field& f : type.fields) {
      if (&f != type.fields.data()) out_ += ", ";
      out_ += f.name;
      out_ += ": ";
      switch (f.role) {
        case Role::one:
          element(f.type, &at<char>(in, f.at));
          break;
        case Role::list:
          list(f.type, at<void*>(in, f.at), at<std::size_t>(in, f.count_at));
          break;
        case Role::strings:
          strings(at<char**>(in, f.at));
          break;
        case Role::key:
          out_ += fixed_text(&at<char>(in, f.at), sizeof(pmix_key_t));
          break;
      }
    }
    out_ += '}';
  }

  void info(const pmix_info_t& in) {
    out_ += fixed_text(in.key, sizeof(pmix_key_t));
    out_ += ": ";
    value(in.value);
    if (in.flags != 0) out_ += " [" + print_directives(in.flags) + "]";
  }

  void one(pmix_data_type_t number, const Type& type, const void* in) {
    switch (type.shape) {
      case Shape::boolean:
        out_ += at<std::uint8_t>(in, 0) != 0 ? "true" : "false";
        break;
      case Shape::natural:
      case Shape::pointer:
        natural(number, natural_at(in, type.width));
        break;
      case Shape::integer:
        integer(number, integer_at(in, type.width));
        break;
      case Shape::real:
        real(real_at(in, type.width));
        break;
      case Shape::timeval: {
        const auto& time = at<timeval>(in, 0);
        char digits[48];
        std::snprintf(digits, sizeof digits, "%lld.%06lld s", static_cast<long long>(time.tv_sec),
                      static_cast<long long>(time.tv_usec));
        out_ += digits;
        break;
      }
      case Shape::none:
        out_ += type.name;
        break;
      case Shape::text:
        text(at<char*>(in, 0));
        break;
      case Shape::name:
        quoted(fixed_text(in, type.width));
        break;
      case Shape::blob: {
        const auto& object = at<pmix_byte_object_t>(in, 0);
        bytes(object.bytes == nullptr ? std::string_view() : std::string_view(object.bytes, object.size));
        break;
      }
      case Shape::record:
        if (number == PMIX_PROC) {
          const auto& proc = at<pmix_proc_t>(in, 0);
          out_ += fixed_text(proc.nspace, sizeof(pmix_nspace_t));
          out_ += ':';
          rank(proc.rank);
        } else {
          record(type, in);
        }
        break;
      case Shape::info:
        info(at<pmix_info_t>(in, 0));
        break;
      case Shape::value:
        value(at<pmix_value_t>(in, 0));
        break;
      case Shape::array: {
        const auto& array = at<pmix_data_array_t>(in, 0);
        const Type* of = find_type(array.type);
        out_ += of != nullptr ? of->name : "unknown type " + std::to_string(array.type);
        list(array.type, array.array, array.size);
        break;
      }
      case Shape::buffer:
        bytes(unread(at<pmix_data_buffer_t>(in, 0)));
        break;
      case Shape::topology:
        opaque(Opaque::topology, at<OpaqueBody>(in, 0));
        break;
      case Shape::cpuset:
        opaque(Opaque::cpuset, at<OpaqueBody>(in, 0));
        break;
    }
  }

  std::string& out_;
  unsigned depth_ = 0;
};

}  // namespace

void print_element(std::string& out, pmix_data_type_t type, const void* element) {
  Printer(out).element(type, element);
}

std::string print_value(const pmix_value_t& value) {
  std::string out;
  Printer(out).value(value);
  return out;
}

std::string print_info(const pmix_info_t& info) {
  std::string out;
  Printer(out).element(PMIX_INFO, &info);
  return out;
}

std::string print_proc(const pmix_proc_t& proc) {
  std::string out;
  Printer(out).element(PMIX_PROC, &proc);
  return out;
}

std::string print_directives(pmix_info_directives_t flags) {
  std::string out = (flags & PMIX_INFO_REQD) != 0        ? "REQUIRED"
                    : (flags & PMIX_INFO_QUALIFIER) != 0 ? "QUALIFIER"
                                                         : "OPTIONAL";
  if ((flags & PMIX_INFO_REQD) != 0 && (flags & PMIX_INFO_QUALIFIER) != 0) out += ":QUALIFIER";
  if ((flags & PMIX_INFO_REQD_PROCESSED) != 0) out += ":PROCESSED";
  if ((flags & PMIX_INFO_PERSISTENT) != 0) out += ":PERSISTENT";
  if ((flags & PMIX_INFO_ARRAY_END) != 0) out += ":END";
  return out;
}

}  // namespace weft::data
