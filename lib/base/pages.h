// Memory that nobody needs in its place any more, given back to the system.
#pragma once

#include <cstddef>
#include <string_view>

namespace torc {

// From so many bytes on it is worth a system call.
inline constexpr std::size_t kManyPages = std::size_t{1} << 20;

// Gives back the whole pages inside of `part`. What is there afterwards: of a mapped file that is
// never written to through its mapping the same bytes, which the system reads again for whoever
// looks at them; of the process's own memory zeros. Where the system does not take them (locked
// memory) nothing happens.
void give_back_pages(std::string_view part);

}  // namespace torc
