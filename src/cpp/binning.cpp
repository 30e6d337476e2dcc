// Turns columns of numbers into bytes: bin edges from sorted values, and the bin of every value.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <nanobind/stl/pair.h>

#include "bindings.hpp"
#include "columns.hpp"
#include "kernels.hpp"
#include "parallel.hpp"
#include "search_table.hpp"

namespace frugal {
namespace {

constexpr size_t kBlockRows = 1024;  // a block of rows stays in the second-level cache while its columns are read
constexpr size_t kReadRows = 64;     // values of a column that are searched together

// Midpoint m of a < b with a <= m < b, also when a and b are neighbouring floats or huge.
double midpoint(double a, double b) {
    const double middle = a / 2 + b / 2;
    return middle >= a && middle < b ? middle : a;
}

struct Distinct {
    std::vector<double> values;
    std::vector<size_t> counts;
};

Distinct distinct_values(const double* sorted, size_t n) {
    Distinct distinct;
    size_t n_distinct = n > 0;
    for (size_t i = 1; i < n; ++i) n_distinct += sorted[i] != sorted[i - 1];
    distinct.values.reserve(n_distinct);  // growing step by step takes ten times as long as counting first
    distinct.counts.reserve(n_distinct);
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && sorted[end] == sorted[i]) ++end;
        distinct.values.push_back(sorted[i]);
        distinct.counts.push_back(end - i);
        i = end;
    }
    return distinct;
}

// Which distinct values start a new bin. Bins hold about equally many rows, but a value that fills a bin alone gets
// one of its own, and the others share the bins that are left: a column that is 80 % zeros keeps 254 bins for the rest.
std::vector<size_t> bin_starts(const Distinct& distinct, size_t max_bins) {
    const size_t n_values = distinct.values.size();
    std::vector<size_t> starts;
    if (n_values <= max_bins) {
        for (size_t i = 0; i < n_values; ++i) starts.push_back(i);
        return starts;
    }
    double rows_left = 0;
    for (size_t count : distinct.counts) rows_left += static_cast<double>(count);
    double bins_left = static_cast<double>(max_bins);
    std::vector<bool> is_heavy(n_values, false);
    // A heavy value raises no one's share: taking it out can only make further values heavy. Repeat until stable.
    for (bool changed = true; changed;) {
        changed = false;
        const double fair_share = rows_left / bins_left;
        for (size_t i = 0; i < n_values && bins_left > 1; ++i) {
            if (is_heavy[i] || static_cast<double>(distinct.counts[i]) < fair_share) continue;
            is_heavy[i] = changed = true;
            rows_left -= static_cast<double>(distinct.counts[i]);
            bins_left -= 1;
        }
    }
    const double fair_share = rows_left / std::max(bins_left, 1.0);
    double filled = 0;
    for (size_t i = 0; i < n_values; ++i) {
        const double count = static_cast<double>(distinct.counts[i]);
        const bool after_heavy = i > 0 && is_heavy[i - 1];
        const bool full = filled + count / 2 >= fair_share;
        if (i == 0 || is_heavy[i] || after_heavy || full) {
            starts.push_back(i);
            // What a bin holds too much or too little is carried over, so that no end of the range gets wider bins.
            filled = full && i > 0 && !after_heavy ? filled - fair_share : 0;
        }
        if (!is_heavy[i]) filled += count;
    }
    return starts;
}

// Cutting around heavy values can leave more bins than allowed: join the neighbours that hold the fewest rows together.
void join_smallest(std::vector<size_t>& starts, const Distinct& distinct, size_t max_bins) {
    std::vector<size_t> rows(starts.size(), 0);
    for (size_t b = 0; b < starts.size(); ++b) {
        const size_t end = b + 1 < starts.size() ? starts[b + 1] : distinct.values.size();
        for (size_t i = starts[b]; i < end; ++i) rows[b] += distinct.counts[i];
    }
    while (starts.size() > max_bins) {
        size_t best = 1;
        for (size_t b = 2; b < starts.size(); ++b)
            if (rows[b - 1] + rows[b] < rows[best - 1] + rows[best]) best = b;
        rows[best - 1] += rows[best];
        rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(best));
        starts.erase(starts.begin() + static_cast<std::ptrdiff_t>(best));
    }
}

nb::tuple find_bins(Vector<double> sorted, size_t max_bins) {
    std::vector<double> edges, least, largest;
    {
        nb::gil_scoped_release release;
        const Distinct distinct = distinct_values(sorted.data(), sorted.shape(0));
        std::vector<size_t> starts = bin_starts(distinct, max_bins);
        join_smallest(starts, distinct, max_bins);
        for (size_t b = 0; b < starts.size(); ++b) {
            const size_t end = b + 1 < starts.size() ? starts[b + 1] : distinct.values.size();
            least.push_back(distinct.values[starts[b]]);
            largest.push_back(distinct.values[end - 1]);
            if (b > 0) edges.push_back(midpoint(largest[b - 1], least[b]));
        }
    }
    return nb::make_tuple(to_numpy(std::move(edges)), to_numpy(std::move(least)), to_numpy(std::move(largest)));
}

// A categorical column holds the number of the category.
template <class Number>
void copy_categories(const Number* x /* IN */, size_t n, uint8_t* code /* OUT */) {
    for (size_t i = 0; i < n; ++i) code[i] = std::isnan(x[i]) ? kMissing : static_cast<uint8_t>(x[i]);
}

template <class T>
void bin_block(const StridedMatrix& x, size_t f, size_t begin, size_t end, const SearchTable<Compared<T>>& edges, bool categorical,
               const Kernels& kernels, uint8_t* codes /* OUT, of this feature */) {
    Compared<T> values[kReadRows];
    for (size_t i = begin; i < end; i += kReadRows) {
        const size_t n = std::min(kReadRows, end - i);
        for (size_t j = 0; j < n; ++j) values[j] = static_cast<Compared<T>>(x.at<T>(i + j, f));
        if (categorical)
            copy_categories(values, n, codes + i);
        else
            edges.search(kernels, values, n, codes + i);  // code = number of edges < x
    }
}

void bin_columns(AnyMatrix x_array, Vector<double> edges, Vector<int64_t> edge_offsets, Vector<uint8_t> is_categorical,
                 MutableMatrix<uint8_t> codes, int n_threads) {
    const StridedMatrix x(x_array);
    const size_t n_rows = x.n_rows, n_features = x.n_columns;
    if (codes.shape(0) != n_features || codes.shape(1) != n_rows || edge_offsets.shape(0) != n_features + 1 ||
        is_categorical.shape(0) != n_features)
        throw std::invalid_argument("bin_columns: arrays of different sizes");
    const double* edge = edges.data();
    const int64_t* offset = edge_offsets.data();
    const uint8_t* categorical = is_categorical.data();
    uint8_t* code = codes.data();
    nb::gil_scoped_release release;
    const Kernels& kernels = *find_kernels("auto");
    const size_t n_blocks = (n_rows + kBlockRows - 1) / kBlockRows;
    x.with_type([&](auto type) {
        using T = decltype(type);
        std::vector<SearchTable<Compared<T>>> tables;
        for (size_t f = 0; f < n_features; ++f) tables.emplace_back(edge + offset[f], edge + offset[f + 1]);
        parallel_for(n_blocks, n_threads, [&](size_t block) {
            const size_t begin = block * kBlockRows, end = std::min(n_rows, begin + kBlockRows);
            for (size_t f = 0; f < n_features; ++f)
                bin_block<T>(x, f, begin, end, tables[f], categorical[f] != 0, kernels, code + f * n_rows);
        });
    });
}

}  // namespace

void bind_binning(nb::module_& m) {
    m.def("find_bins", &find_bins, nb::arg("sorted_values"), nb::arg("max_bins"),
          "Cut sorted values into at most max_bins bins -> (edges, least value, largest value of each bin).");
    m.def("bin_columns", &bin_columns, nb::arg("x"), nb::arg("edges"), nb::arg("edge_offsets"),
          nb::arg("is_categorical"), nb::arg("codes"), nb::arg("n_threads") = 1,
          "Write the bin of every value of x (n_rows, n_features) into codes (n_features, n_rows); 255 is missing.");
}

}  // namespace frugal
