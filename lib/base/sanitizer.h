// Whether the program was built with a sanitizer: it explains crashes itself, and takes terabytes
// of address space and several times the memory, so that limits of either say nothing of it.
#pragma once

namespace torc {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace torc
