#include "lib/workflow/context/context.h"

#include "lib/base/text/quote.h"

namespace torc::workflow {

std::string shown_path(const Context& context, const Path& path) {
  const std::string relative = path.lexically_relative(context.directory).string();
  if (relative.empty() || relative.starts_with("..")) return shell_word(path.string());
  return shell_word(relative.starts_with('-') ? "./" + relative : relative);
}

}  // namespace torc::workflow
