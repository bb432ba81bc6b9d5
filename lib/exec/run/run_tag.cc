#include "lib/exec/run/run_tag.h"

#include "lib/base/number.h"
#include "lib/exec/machine/machine.h"

namespace torc::exec {

RunTag RunTag::of_this_process(BootTime now) {
  const ProcessIdentity process = this_process();
  return RunTag(std::to_string(process.pid) + "-" + std::to_string(process.start) + "-" +
                std::to_string(now.count()));
}

void RunTag::write(std::string& entry, const char* outer, RunKey key) const {
  entry = kVariable;
  entry.push_back('=');
  if (outer != nullptr) entry.append(outer).push_back('/');
  entry.append(identity_).append(".").append(std::to_string(key));
}

std::optional<RunKey> RunTag::key_in(std::string_view value) const {
  const std::string part = identity_ + ".";
  const auto at = value.find(part);
  if (at == std::string::npos || (at != 0 && value[at - 1] != '/')) return std::nullopt;
  return leading_number<RunKey>(value.substr(at + part.size())).value_or(0);
}

}  // namespace torc::exec
