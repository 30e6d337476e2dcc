// Random thresholds: the paper's 80 / 40 / 20 stumps per feature, moved to the nearest bin edge.
#pragma once

#include <algorithm>

#include "random.hpp"
#include "tree.hpp"

namespace frugal {

// Draws n_draws thresholds between the least and the largest code of feature f in a node, least < largest.
// OUT codes: sorted, each once. Returns how many.
inline int random_codes(const TrainingData& data, uint32_t f, uint8_t least, uint8_t largest, int n_draws, Stream stream,
                        uint8_t* codes) {
    const double* edges = data.edges + data.edge_offsets[f];
    const double low = data.bin_min[data.bin_offsets[f] + least], high = data.bin_max[data.bin_offsets[f] + largest];
    for (int i = 0; i < n_draws; ++i) {
        const double u = low + (high - low) * stream.uniform();
        const double* first = edges + least;
        const double* last = edges + largest - 1;  // thresholds are edges[least .. largest - 1]
        const double* edge = std::lower_bound(first, last, u);
        if (edge > first && u - edge[-1] <= *edge - u) --edge;
        codes[i] = static_cast<uint8_t>(edge - edges);
    }
    std::sort(codes, codes + n_draws);
    return static_cast<int>(std::unique(codes, codes + n_draws) - codes);
}

}  // namespace frugal
