#include "lib/claim/rules/plan.h"

#include <algorithm>
#include <numeric>

namespace torc::claim {

const Requirement& JobClass::need_of(std::uint32_t alternative) const {
  return alternative == 0 || alternative > others.size() ? need : others[alternative - 1].need;
}

Requirement& JobClass::need_of(std::uint32_t alternative) {
  return alternative == 0 || alternative > others.size() ? need : others[alternative - 1].need;
}

JobClass JobClass::by(std::uint32_t alternative) const {
  JobClass one{need_of(alternative), scheduler, labels, limits, alone, learns_from};
  return one;
}

std::vector<std::uint32_t> JobClass::preferred() const {
  std::vector<std::uint32_t> order(alternatives());
  std::iota(order.begin(), order.end(), 0U);
  const auto weight_of = [this](std::uint32_t a) { return a == 0 ? weight : others[a - 1].weight; };
  std::ranges::stable_sort(order, std::ranges::greater{}, weight_of);
  return order;
}

}  // namespace torc::claim
