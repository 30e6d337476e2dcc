// An array that starts with a cache line: a load of 64 bytes that reaches into a second line takes twice as long.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace frugal {

template <class T>
class AlignedArray {
    static constexpr size_t kPerLine = 64 / sizeof(T);

  public:
    AlignedArray() = default;
    explicit AlignedArray(size_t n, T value = T{}) { assign(n, value); }

    void assign(size_t n, T value) {
        Line line;
        std::fill_n(line.values, kPerLine, value);
        lines_.assign((n + kPerLine - 1) / kPerLine, line);
    }

    T* data() { return lines_.empty() ? nullptr : lines_.front().values; }
    const T* data() const { return lines_.empty() ? nullptr : lines_.front().values; }
    T& operator[](size_t i) { return data()[i]; }
    const T& operator[](size_t i) const { return data()[i]; }

  private:
    struct alignas(64) Line {
        T values[kPerLine];
    };
    std::vector<Line> lines_;
};

}  // namespace frugal
