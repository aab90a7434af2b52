// SPDX-License-Identifier: BSD-3-Clause
// Empty: the target that owns the precompiled header of all tests needs a source (tests/programs.cmake).
