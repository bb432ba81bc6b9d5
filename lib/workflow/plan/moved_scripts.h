// The batch scripts of a store that was moved or copied. They name the place of their store, and
// the workers that they start work there: those of a copy for the original.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "lib/base/path.h"
#include "lib/base/result.h"
#include "lib/workflow/context/context.h"

namespace torc::workflow {

// The store that a script starts workers for, where that is another one than `store`; empty: it is
// this one, or the script does not tell. Looks at both.
[[nodiscard]] Path other_store_of(std::string_view script, const Path& store);

// Puts `now` in the place of `before` wherever the script names it, and changes nothing else. Error
// unsupported: one of them has signs that scripts write otherwise.
Result<std::string> with_other_place(std::string_view script, const Path& before, const Path& now);

// Writes the scripts in `store` anew that start workers for another one. How many there were. An
// Error says which one was left as it is.
Result<std::size_t> mend_scripts(const Context& context, const Path& store);

}  // namespace torc::workflow
