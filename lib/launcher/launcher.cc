#include "lib/launcher/launcher.h"

#include <algorithm>

#include "lib/base/text/text.h"

namespace torc::launcher {

bool is_intent(std::string_view name) {
  return !name.empty() && name.front() != '-' && name.size() <= kLongestIntent &&
         std::ranges::all_of(name, [](char c) {
           return is_digit(c) || is_letter(c) || c == '.' || c == '_' || c == '-';
         });
}

}  // namespace torc::launcher
