// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftinfo/settings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/messages/json.hpp"

namespace weft::weftinfo {
namespace {

using Source = base::Reading::Source;

const char* name_of(Source source) {
  switch (source) {
    case Source::by_default:
      return "default";
    case Source::environment:
      return "environment";
    case Source::refused:
      return "default; the environment's value is not accepted";
  }
  return "";
}

std::string without_backticks(std::string text) {
  std::erase(text, '`');
  return text;
}

/// A variable that a server has given to a process is shown as set or not: a token belongs to its process.
std::string value_of(const SettingInForce& one) {
  if (one.setting->is_internal) return one.reading.source == Source::environment ? "(set)" : "";
  return one.reading.text;
}

void append(std::string& out, const SettingInForce& one) {
  const auto value = value_of(one);
  out += fmt::format("{:<20} {} ({}", one.setting->name, value.empty() ? "-" : value,
                     name_of(one.reading.source));
  if (one.reading.source == Source::environment && *one.setting->fallback != '\0')
    out += fmt::format("; default {}", one.setting->fallback);
  out += fmt::format(")\n    {}\n", without_backticks(one.setting->text));
  if (!one.setting->is_internal)
    out += fmt::format("    accepted: {}\n", base::accepted_values(*one.setting));
}

}  // namespace

std::vector<SettingInForce> settings_in_force(const char* (*value_of)(const char* name)) {
  std::vector<SettingInForce> out;
  for (const auto& setting : base::all_settings())
    out.push_back({&setting, base::read(setting, value_of(setting.name))});
  return out;
}

std::string text_of(const std::vector<SettingInForce>& settings, const std::vector<std::string>& complaints) {
  std::string out = "Settings, as a program that is started from here reads them:\n\n";
  for (const auto& one : settings)
    if (!one.setting->is_internal) append(out, one);
  out += "\nSet by servers for their processes:\n\n";
  for (const auto& one : settings)
    if (one.setting->is_internal) append(out, one);
  if (!complaints.empty()) out += '\n';
  for (const auto& complaint : complaints) out += complaint + '\n';
  return out;
}

std::string json_of(const std::vector<SettingInForce>& settings, const std::vector<std::string>& complaints) {
  weft::messages::Json out;
  out.object().key("settings").array();
  for (const auto& one : settings) {
    out.object().field("name", one.setting->name).field("value", value_of(one));
    out.field("default", one.setting->fallback).field("source", name_of(one.reading.source));
    out.field("accepted", base::accepted_values(*one.setting)).field("internal", one.setting->is_internal);
    out.field("text", one.setting->text).end();
  }
  out.end().key("complaints").array();
  for (const auto& complaint : complaints) out.value(complaint);
  out.end().end();
  return std::move(out).take();
}

}  // namespace weft::weftinfo
