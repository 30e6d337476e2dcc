// Arrays for NumPy that are neither copied nor filled before they are written to.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings.hpp"

namespace frugal {

// An array that grows by realloc: large ones are moved by the operating system, and never exist twice.
template <class T>
class GrowingArray {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    GrowingArray() = default;
    GrowingArray(const GrowingArray&) = delete;
    GrowingArray& operator=(const GrowingArray&) = delete;
    GrowingArray(GrowingArray&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), capacity_(std::exchange(other.capacity_, 0)) {}
    ~GrowingArray() { std::free(data_); }

    size_t size() const { return size_; }
    const T& operator[](size_t i) const { return data_[i]; }

    // A large block is best large from the start: then it never lies among small ones, which it would leave holes between.
    // What is not written to takes no memory.
    void expect(size_t n) {
        constexpr size_t enough = (size_t{64} << 20) / sizeof(T);
        reserve(std::min(n, enough));
    }

    // Room for n more, to be written by the caller.
    T* extend(size_t n) {
        if (size_ + n > capacity_) reserve(std::max(size_ + n, capacity_ + capacity_ / 4));
        size_ += n;
        return data_ + size_ - n;
    }

    void append(const std::vector<T>& values) { std::copy(values.begin(), values.end(), extend(values.size())); }

    nb::ndarray<nb::numpy, T> to_numpy(std::initializer_list<size_t> shape) && {
        reserve(std::max<size_t>(1, size_));
        T* data = std::exchange(data_, nullptr);
        return nb::ndarray<nb::numpy, T>(data, shape, nb::capsule(data, [](void* p) noexcept { std::free(p); }));
    }
    nb::ndarray<nb::numpy, T> to_numpy() && { return std::move(*this).to_numpy({size_}); }

  private:
    void reserve(size_t capacity) {
        void* moved = std::realloc(data_, capacity * sizeof(T));
        if (!moved) throw std::bad_alloc();
        data_ = static_cast<T*>(moved);
        capacity_ = capacity;
    }

    T* data_ = nullptr;
    size_t size_ = 0, capacity_ = 0;
};

}  // namespace frugal
