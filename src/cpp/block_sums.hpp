// Sums over trees for the rows of one block, and the features that they read.
//
// Trees hand over rows leaf by leaf, in any order. What leaves add is added row by row once the tree is through: a row's sums
// lie together and rows lie one behind the other, which is faster than going to all of a leaf's rows at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "coded_trees.hpp"
#include "leaf_values.hpp"

namespace frugal {

// What is asked for, for all rows; nothing is owned.
struct RowSums {
    const LeafValues& values;
    const double* base;     // (k): where sums start, or nullptr for 0
    const uint8_t* in_bag;  // (n_trees, n_rows): trees to leave out for a row, or nullptr
    size_t n_rows, n_features, n_trees;
    double* sums;   // OUT (n_rows, k)
    uint8_t* mask;  // OUT (n_rows, n_features), or nullptr
};

// One worker's part of it: one block after the other.
class BlockSums {
  public:
    BlockSums(const RowSums& asked, size_t block_rows, size_t n_words)
        : asked_(asked),
          k_(asked.values.k()),
          n_words_(n_words),
          counts_votes_(asked.values.are_votes() && !asked.base && asked.n_trees <= 255),
          arrival_of_(block_rows),
          votes_(counts_votes_ ? block_rows * k_ : 0),
          read_(asked.mask ? block_rows * n_words : 0) {}

    void start(size_t begin, size_t n) {
        begin_ = begin;
        n_ = n;
        double* sums = asked_.sums + begin * k_;
        for (size_t row = 0; row < n && asked_.base; ++row) std::copy_n(asked_.base, k_, sums + row * k_);
        if (!asked_.base && !counts_votes_) std::fill_n(sums, n * k_, 0.0);
        std::fill(votes_.begin(), votes_.end(), uint8_t{0});
        std::fill(read_.begin(), read_.end(), uint64_t{0});
    }

    void arrive(size_t /* tree */, int32_t leaf, const BlockRow* rows, size_t n, const uint64_t* path) {
        const auto number = static_cast<uint16_t>(arrivals_.size());  // no more leaves than rows: it fits
        arrivals_.push_back({leaf, asked_.values.vote_of(leaf)});
        for (size_t w = 0; w < n_words_; ++w) paths_.push_back(path[w]);
        for (size_t i = 0; i < n; ++i) arrival_of_[rows[i]] = number;
    }

    void end_tree(size_t tree) {
        if (asked_.in_bag)
            add_tree([skip = asked_.in_bag + tree * asked_.n_rows + begin_](size_t row) { return skip[row] != 0; });
        else
            add_tree([](size_t) { return false; });
        arrivals_.clear();
        paths_.clear();
    }

    void finish() const {
        if (counts_votes_) std::copy_n(votes_.data(), n_ * k_, asked_.sums + begin_ * k_);
        if (asked_.mask) unpack(asked_.mask + begin_ * asked_.n_features);
    }

  private:
    struct Arrival {
        int32_t leaf;
        uint32_t vote;  // the one sum that it adds 1 to, or k
    };

    template <class Skips>
    void add_tree(Skips skips) {
        if (counts_votes_)
            count_votes(skips);
        else if (k_ > 0)
            add_values(skips);
        if (asked_.mask) n_words_ == 1 ? mark_read<1>(skips) : mark_read<0>(skips);
    }

    template <class Skips>
    void count_votes(Skips skips) {
        uint8_t* votes = votes_.data();
        for (size_t row = 0; row < n_; ++row, votes += k_)
            if (!skips(row)) ++votes[arrivals_[arrival_of_[row]].vote];
    }

    template <class Skips>
    void add_values(Skips skips) const {
        double* sums = asked_.sums + begin_ * k_;
        for (size_t row = 0; row < n_; ++row, sums += k_) {
            if (skips(row)) continue;
            const Arrival& at = arrivals_[arrival_of_[row]];
            if (at.vote < k_)
                sums[at.vote] += 1;
            else
                asked_.values.add(at.leaf, sums);
        }
    }

    // kWords: n_words if it is known when compiling, or 0.
    template <size_t kWords, class Skips>
    void mark_read(Skips skips) {
        const size_t n_words = kWords == 0 ? n_words_ : kWords;
        for (size_t row = 0; row < n_; ++row) {
            if (skips(row)) continue;
            const uint64_t* path = paths_.data() + arrival_of_[row] * n_words;
            for (size_t w = 0; w < n_words; ++w) read_[row * n_words + w] |= path[w];
        }
    }

    // Bits to bytes, eight at a time.
    void unpack(uint8_t* mask /* OUT */) const {
        static const auto spread = [] {
            std::array<std::array<uint8_t, 8>, 256> bytes{};
            for (size_t bits = 0; bits < 256; ++bits)
                for (size_t b = 0; b < 8; ++b) bytes[bits][b] = (bits >> b) & 1;
            return bytes;
        }();
        const size_t n_features = asked_.n_features, whole = n_features / 8 * 8;
        const uint64_t* read = read_.data();
        for (size_t row = 0; row < n_; ++row, read += n_words_, mask += n_features) {
            const auto bytes = [read](size_t f) { return spread[(read[f / 64] >> (f % 64)) & 0xFF].data(); };
            for (size_t f = 0; f < whole; f += 8) std::memcpy(mask + f, bytes(f), 8);
            if (whole < n_features) std::memcpy(mask + whole, bytes(whole), n_features - whole);
        }
    }

    const RowSums& asked_;
    size_t k_, n_words_, begin_ = 0, n_ = 0;
    bool counts_votes_;                 // sums are whole numbers, and bytes take an eighth of the cache
    std::vector<uint16_t> arrival_of_;  // of each row the number of its arrival
    std::vector<uint8_t> votes_;        // (n_rows, k)
    std::vector<Arrival> arrivals_;     // in one tree
    std::vector<uint64_t> paths_;       // (n_arrivals, n_words): bits of the features read on the way
    std::vector<uint64_t> read_;        // (n_rows, n_words): those of all trees
};

}  // namespace frugal
