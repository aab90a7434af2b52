// SPDX-License-Identifier: BSD-3-Clause
// weftinfo --settings: every environment variable of Weft, as a program that is started from here would read
// it.
#pragma once

#include <string>
#include <vector>

#include "base/settings.hpp"

namespace weft::weftinfo {

struct SettingInForce {
  const base::Setting* setting;
  base::Reading reading;
};

/// value_of(name): what the environment has, or NULL.
std::vector<SettingInForce> settings_in_force(const char* (*value_of)(const char* name));

/// complaints: values that are not accepted and unknown names, a line each; printed last.
std::string text_of(const std::vector<SettingInForce>& settings, const std::vector<std::string>& complaints);
std::string json_of(const std::vector<SettingInForce>& settings, const std::vector<std::string>& complaints);

}  // namespace weft::weftinfo
