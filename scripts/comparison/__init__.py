# SPDX-License-Identifier: BSD-3-Clause
"""What compare_peers and compare_nodes share, and what each of them measures."""
