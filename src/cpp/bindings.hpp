// What every binding file needs: array types and the functions that module.cpp calls.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace frugal {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using MutableMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Hands a vector to NumPy without a copy: the array owns it from now on.
template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T>&& values, std::initializer_list<size_t> shape) {
    auto owned = std::make_unique<std::vector<T>>(std::move(values));
    T* data = owned->data();
    nb::capsule owner(owned.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T>(data, shape, owner);
}

template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T>&& values) {
    const size_t n = values.size();
    return to_numpy(std::move(values), {n});
}

void bind_binning(nb::module_& m);
void bind_growing(nb::module_& m);
void bind_routing(nb::module_& m);
void bind_acquisition(nb::module_& m);
void bind_panels(nb::module_& m);
void bind_boosting(nb::module_& m);
void bind_pruning(nb::module_& m);

}  // namespace frugal
