// A user's matrix read in place, whatever its number type and memory order; and what a code means.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "bindings.hpp"

namespace frugal {

constexpr uint8_t kMissing = 255;  // the code of a missing value, in every feature

using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

struct StridedMatrix {
    const char* data;
    size_t n_rows, n_columns;
    std::ptrdiff_t row_step, column_step;  // in bytes
    nb::dlpack::dtype type;

    explicit StridedMatrix(const AnyMatrix& x)
        : data(static_cast<const char*>(x.data())),
          n_rows(x.shape(0)),
          n_columns(x.shape(1)),
          row_step(static_cast<std::ptrdiff_t>(x.stride(0)) * (x.dtype().bits / 8)),
          column_step(static_cast<std::ptrdiff_t>(x.stride(1)) * (x.dtype().bits / 8)),
          type(x.dtype()) {
        with_type([](auto) {});  // an unknown number type is refused here, once
    }

    template <class T>
    T at(size_t row, size_t column) const {
        return *reinterpret_cast<const T*>(data + static_cast<std::ptrdiff_t>(row) * row_step +
                                           static_cast<std::ptrdiff_t>(column) * column_step);
    }

    // Calls use(T{}) with the matrix' own number type, so that one piece of code serves them all.
    template <class Use>
    void with_type(Use&& use) const {
        if (type == nb::dtype<float>()) return use(float{});
        if (type == nb::dtype<double>()) return use(double{});
        if (type == nb::dtype<int64_t>()) return use(int64_t{});
        if (type == nb::dtype<int32_t>()) return use(int32_t{});
        if (type == nb::dtype<int16_t>()) return use(int16_t{});
        if (type == nb::dtype<int8_t>()) return use(int8_t{});
        if (type == nb::dtype<uint64_t>()) return use(uint64_t{});
        if (type == nb::dtype<uint32_t>()) return use(uint32_t{});
        if (type == nb::dtype<uint16_t>()) return use(uint16_t{});
        if (type == nb::dtype<uint8_t>()) return use(uint8_t{});
        if (type == nb::dtype<bool>()) return use(uint8_t{});
        throw std::invalid_argument("X has a number type that is not supported; convert it to float64");
    }
};

}  // namespace frugal
