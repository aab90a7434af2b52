// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/names/status.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace weft::data {
namespace {

TEST(Status, one_for_each_error) {
  const std::pair<Errc, pmix_status_t> rows[] = {
      {Errc::again, PMIX_ERR_WOULD_BLOCK},           {Errc::invalid, PMIX_ERR_BAD_PARAM},
      {Errc::no_space, PMIX_ERR_OUT_OF_RESOURCE},    {Errc::no_memory, PMIX_ERR_NOMEM},
      {Errc::not_found, PMIX_ERR_NOT_FOUND},         {Errc::not_supported, PMIX_ERR_NOT_SUPPORTED},
      {Errc::type_mismatch, PMIX_ERR_TYPE_MISMATCH}, {Errc::outside_scope, PMIX_ERR_EXISTS_OUTSIDE_SCOPE},
      {Errc::corrupt, PMIX_ERR_UNPACK_FAILURE},      {Errc::timeout, PMIX_ERR_TIMEOUT},
      {Errc::peer_lost, PMIX_ERR_LOST_CONNECTION},   {Errc::unreachable, PMIX_ERR_UNREACH},
      {Errc::denied, PMIX_ERR_NO_PERMISSIONS},       {Errc::canceled, PMIX_ERR_INIT},
  };
  for (const auto& [code, status] : rows) EXPECT_EQ(to_status({code}), status) << static_cast<int>(code);
}

TEST(Status, system_errors_by_their_number) {
  EXPECT_EQ(to_status({Errc::os, ENOMEM}), PMIX_ERR_NOMEM);
  EXPECT_EQ(to_status({Errc::os, EMFILE}), PMIX_ERR_OUT_OF_RESOURCE);
  EXPECT_EQ(to_status({Errc::os, EACCES}), PMIX_ERR_NO_PERMISSIONS);
  EXPECT_EQ(to_status({Errc::os, ECONNREFUSED}), PMIX_ERR_UNREACH);
  EXPECT_EQ(to_status({Errc::os, EDOM}), PMIX_ERROR);
}

}  // namespace
}  // namespace weft::data
