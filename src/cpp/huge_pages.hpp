// Large tables that are read here and there: on pages of 2 MB, where the system has them, an address is found much faster.
#pragma once

#include <cstdlib>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace frugal {

template <class T>
struct HugePageAllocator {
    using value_type = T;
    HugePageAllocator() = default;
    template <class Other>
    HugePageAllocator(const HugePageAllocator<Other>&) {}

    T* allocate(size_t n) {
        const size_t n_bytes = n * sizeof(T);
        void* memory = ::operator new(n_bytes, alignment(n_bytes));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        if (n_bytes >= kPage) madvise(memory, n_bytes, MADV_HUGEPAGE);  // a wish: small pages do as well
#endif
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, size_t n) { ::operator delete(memory, alignment(n * sizeof(T))); }

    template <class Other>
    bool operator==(const HugePageAllocator<Other>&) const { return true; }
    template <class Other>
    bool operator!=(const HugePageAllocator<Other>&) const { return false; }

  private:
    static constexpr size_t kPage = size_t{1} << 21, kLine = 64;
    static std::align_val_t alignment(size_t n_bytes) { return std::align_val_t{n_bytes >= kPage ? kPage : kLine}; }
};

template <class T>
using HugeVector = std::vector<T, HugePageAllocator<T>>;

}  // namespace frugal
