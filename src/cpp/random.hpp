// Randomness as a function of a seed and a place, never of the order of work (docs/growing.md, "Order and randomness").
#pragma once

#include <cstdint>

namespace frugal {

inline uint64_t scramble(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

inline uint64_t mix(uint64_t x) { return scramble(x + 0x9E3779B97F4A7C15ull); }

// splitmix64
class Stream {
  public:
    explicit Stream(uint64_t seed) : state_(seed) {}
    uint64_t next() { return scramble(state_ += 0x9E3779B97F4A7C15ull); }
    uint32_t below(uint32_t n) { return static_cast<uint32_t>(((next() >> 32) * n) >> 32); }
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  private:
    uint64_t state_;
};

inline uint64_t node_seed(uint64_t tree_seed, uint32_t node) { return mix(tree_seed ^ mix(node)); }
// The same by the way from the root: what happens in one subtree then changes nothing in the others.
inline uint64_t root_path_seed(uint64_t tree_seed) { return mix(tree_seed); }
inline uint64_t child_path_seed(uint64_t node_seed, bool is_right) { return mix(node_seed ^ mix(is_right ? 2 : 1)); }
inline Stream threshold_stream(uint64_t node_seed, uint32_t feature) {
    return Stream(mix(node_seed ^ mix(uint64_t{feature} + 1)));
}
inline Stream bootstrap_stream(uint64_t tree_seed) { return Stream(mix(tree_seed ^ 0xB0075742A9ull)); }

}  // namespace frugal
