// Of functions one for each type of a std::variant, for std::visit.
#pragma once

namespace torc {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;  // clang 14 needs it

}  // namespace torc
