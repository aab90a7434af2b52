// SPDX-License-Identifier: BSD-3-Clause
// The node's topology, when the server has discovered it already.
#include "core/topology/local.hpp"

#include "core/data/types/element.hpp"
#include "core/topology/opaque_types.hpp"
#include "synthetic.hpp"

namespace weft::topology {
namespace {

TEST(LocalXml, is_used_once_and_shared) {
  int asked = 0;
  set_local_xml_source([&] {
    ++asked;
    return test::synthetic_xml(test::two_packages);
  });
  // For localities alone it is not asked for.
  const auto processors = local_processors();
  ASSERT_TRUE(processors);
  EXPECT_EQ(*local_processors(), *processors);
  EXPECT_FALSE(is_local(*processors));
  EXPECT_EQ(asked, 0);
  const auto first = local_topology();
  ASSERT_TRUE(first);
  EXPECT_EQ(*local_topology(), *first);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(*local_processors(), *first);
  EXPECT_TRUE(is_local(*first));

  const auto everywhere = test::module().locality(*first, test::cpus("0-15").get());
  EXPECT_EQ(everywhere.value_or("?"), "NM0-1:SK0-1:L30-1:L20-3:L10-7:CR0-7:HT0-15");

  // Programs destruct what PMIx_Load_topology gave them; it must stay usable for all others.
  install_opaque_types();
  pmix_topology_t handed_out{nullptr, *first};
  data::destroy_elements(PMIX_TOPO, &handed_out, 1);
  EXPECT_EQ(handed_out.topology, nullptr);
  EXPECT_TRUE(test::module().locality(*first, test::cpus("0").get()));
}

}  // namespace
}  // namespace weft::topology
