#pragma once

/// Quantizes a row within the shared library.
/// @return whether the codes are right.
bool quantizes_row();
