// SPDX-License-Identifier: BSD-3-Clause
// What weftsim prints, for people and for programs. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "tools/weftsim/operation.hpp"

namespace weft::weftsim {

std::string text_of(const Job& job, const std::vector<Operation>& operations);
std::string json_of(const Job& job, const std::vector<Operation>& operations);
std::string text_of_networks();
std::string json_of_networks();

}  // namespace weft::weftsim
