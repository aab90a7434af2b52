// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/streams/output_form.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <ctime>

#include "core/link/messages.hpp"

namespace weft::client {
namespace {

const char* name_of(pmix_iof_channel_t channel) {
  return (channel & PMIX_FWD_STDOUT_CHANNEL) != 0 ? "stdout" : "stderr";
}

bool is_set(const data::Infos& directives, const char* key) {
  const auto* info = directives.find(key);
  return info != nullptr && data::is_true(info->value);
}

/// A path as the caller gave it; empty: none.
Result<std::string> text_of(const data::Infos& directives, const char* key) {
  const auto* info = directives.find(key);
  if (info == nullptr) return std::string();
  if (info->value.type != PMIX_STRING || info->value.data.string == nullptr) return fail(Errc::invalid);
  std::string text(info->value.data.string);
  // With room for the namespace, the rank and the stream behind it.
  if (text.empty() || text.size() > PATH_MAX - 2 * PMIX_MAX_NSLEN) return fail(Errc::invalid);
  return text;
}

/// "2026-01-31T12:00:00.123"
std::string local_time() {
  std::timespec now{};
  std::timespec_get(&now, TIME_UTC);
  std::tm parts{};
  ::localtime_r(&now.tv_sec, &parts);
  std::array<char, 40> text{};
  const auto length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text.data() + length, text.size() - length, ".%03ld", now.tv_nsec / 1000000);
  return text.data();
}

void add_escaped(std::string_view text, std::string& out) {
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) < ' ' && c != '\t')
      out += "&#" + std::to_string(static_cast<unsigned char>(c)) + ";";
    else
      out += c;
  }
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace

Result<OutputForm> OutputForm::of(const data::Infos& directives) {
  OutputForm out;
  out.tag = is_set(directives, PMIX_IOF_TAG_OUTPUT) || is_set(directives, PMIX_IOF_TAG_DETAILED_OUTPUT) ||
            is_set(directives, PMIX_IOF_TAG_FULLNAME_OUTPUT);
  out.rank = is_set(directives, PMIX_IOF_RANK_OUTPUT);
  out.time = is_set(directives, PMIX_IOF_TIMESTAMP_OUTPUT);
  out.xml = is_set(directives, PMIX_IOF_XML_OUTPUT);
  out.merges = is_set(directives, PMIX_IOF_MERGE_STDERR_STDOUT);
  out.is_pattern = is_set(directives, PMIX_IOF_FILE_PATTERN);
  out.file_only = is_set(directives, PMIX_IOF_FILE_ONLY);
  auto file = text_of(directives, PMIX_IOF_OUTPUT_TO_FILE);
  auto directory = text_of(directives, PMIX_IOF_OUTPUT_TO_DIRECTORY);
  if (!file || !directory || (!file->empty() && !directory->empty())) return fail(Errc::invalid);
  out.file = std::move(*file);
  out.directory = std::move(*directory);
  const auto* size = directives.find(PMIX_IOF_BUFFERING_SIZE);
  const auto bytes = size == nullptr ? Result<std::uint64_t>(0) : data::as_unsigned(size->value);
  if (!bytes) return fail(Errc::invalid);
  constexpr std::uint64_t most_buffered = 16 * 1024 * 1024;
  // Bytes that may be held for a time at most are not held at all.
  if (directives.find(PMIX_IOF_BUFFERING_TIME) == nullptr)
    out.buffered_bytes = std::min(*bytes, most_buffered);
  return out;
}

std::string OutputForm::line(const pmix_proc_t& source, pmix_iof_channel_t channel,
                             std::string_view text) const {
  const std::string nspace(link::nspace_of(source)), number = std::to_string(source.rank);
  std::string out;
  if (xml) {
    out += std::string("<") + name_of(channel) + " nspace=\"";
    add_escaped(nspace, out);
    out += "\" rank=\"" + number + "\"";
    if (time) out += " time=\"" + local_time() + "\"";
    out += ">";
    add_escaped(text, out);
    return out + "</" + name_of(channel) + ">\n";
  }
  if (time) out += local_time() + " ";
  if (tag) out += "[" + nspace + "," + number + "]<" + name_of(channel) + ">: ";
  if (rank && !tag) out += "[" + number + "] ";
  out += text;
  return out + "\n";
}

std::string OutputForm::path(const pmix_proc_t& source, pmix_iof_channel_t channel) const {
  const std::string nspace(link::nspace_of(source)), number = std::to_string(source.rank);
  const std::string stream = name_of(channel_of(channel));
  if (!directory.empty()) return directory + "/" + nspace + "/rank." + number + "/" + stream;
  if (!is_pattern) return file + "." + nspace + "." + number + "." + stream;
  auto out = file;
  replace_all(out, "%n", nspace);
  replace_all(out, "%r", number);
  return out + "." + stream;
}

}  // namespace weft::client
