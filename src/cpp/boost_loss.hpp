// Losses of boosting: gradients and curvatures on a grid of whole numbers, so that sums are exact in any order.
//
//   logistic      one score m:            p = 1 / (1 + exp(-m)),  g = w (p - y),       h = w p (1 - p)
//   multinomial   a score per class:      p = softmax,            g = w (p_k - y_k),   h = w k / (k - 1) p_k (1 - p_k)
//   squared       a score per class or one, targets +-1:          g = w (m - t),       h = w
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "boost_math.hpp"
#include "team.hpp"

namespace frugal {

constexpr size_t kLossBlock = 2048;  // rows whose loss is added up by themselves: the sum does not depend on threads

enum class Loss { logistic, multinomial, squared };

// Sums of a set of rows. `hc` holds two numbers: the number of rows above `h_bits` bits of curvature.
struct alignas(16) Cell {
    int64_t g = 0;
    int64_t hc = 0;
};

inline Cell operator+(Cell a, Cell b) { return {a.g + b.g, a.hc + b.hc}; }
inline Cell operator-(Cell a, Cell b) { return {a.g - b.g, a.hc - b.hc}; }

// What the whole numbers mean.
struct Grid {
    int h_bits = 0;
    double g_unit = 0, h_unit = 0, g_inverse = 0, h_inverse = 0;

    Cell cell(double g, double h) const {
        return {rounded(g * g_inverse), rounded(h * h_inverse) + (int64_t{1} << h_bits)};
    }
    double g(Cell c) const { return static_cast<double>(c.g) * g_unit; }
    double h(Cell c) const { return static_cast<double>(c.hc & ((int64_t{1} << h_bits) - 1)) * h_unit; }
    uint32_t n_rows(Cell c) const { return static_cast<uint32_t>(c.hc >> h_bits); }

    // Units are powers of two; sums of |g| up to g_total and of h up to h_total fit, whatever rows they are of.
    static Grid for_totals(size_t n_rows, double g_total, double h_total) {
        Grid grid;
        grid.h_bits = 63 - bit_length(n_rows);
        const double slack = static_cast<double>(n_rows) + 1;  // every row is rounded by half a unit at most
        grid.g_unit = unit(g_total, std::ldexp(1.0, kMostBits) - slack);
        grid.h_unit = unit(h_total, std::ldexp(1.0, std::min(grid.h_bits, kMostBits)) - slack);
        grid.g_inverse = 1 / grid.g_unit;
        grid.h_inverse = 1 / grid.h_unit;
        return grid;
    }

  private:
    static constexpr int kMostBits = 50;  // of a sum: what can be rounded by adding a large number, which is fast

    static int64_t rounded(double x) {
        constexpr double kRound = 0x1.8p52;
        return static_cast<int64_t>(to_bits(x + kRound) - to_bits(kRound));
    }
    static int bit_length(size_t n) {
        int bits = 0;
        for (; n; n >>= 1) ++bits;
        return bits;
    }
    static double unit(double total, double room) {
        int exponent;
        std::frexp(std::max(total, 1e-290) / room, &exponent);
        return std::ldexp(1.0, exponent);
    }
};

// Scores, labels and weights of some rows; (n_outputs, n_rows) where there are several outputs.
struct Scored {
    Loss loss;
    size_t n_rows, n_classes, n_outputs;
    const int32_t* labels;
    const double* weights;  // (n_rows)
    std::vector<double> scores;

    Scored(Loss loss_, size_t n_rows_, size_t n_classes_, const int32_t* labels_, const double* weights_)
        : loss(loss_), n_rows(n_rows_), n_classes(n_classes_), n_outputs(outputs(loss_, n_classes_)), labels(labels_),
          weights(weights_), scores(n_rows * n_outputs, 0.0) {}

    static size_t outputs(Loss loss, size_t n_classes) {
        if (loss == Loss::logistic && n_classes != 2) throw std::invalid_argument("logistic loss needs two classes");
        return loss != Loss::multinomial && n_classes == 2 ? 1 : n_classes;
    }

    double* output(size_t k) { return scores.data() + k * n_rows; }
    const double* output(size_t k) const { return scores.data() + k * n_rows; }
    bool is_of(size_t row, size_t k) const { return labels[row] == static_cast<int32_t>(n_outputs == 1 ? 1 : k); }

    // The class of the largest score, the first of equals.
    size_t label(size_t row) const {
        if (n_outputs == 1) return output(0)[row] > 0 ? 1 : 0;
        size_t best = 0;
        for (size_t k = 1; k < n_outputs; ++k)
            if (output(k)[row] > output(best)[row]) best = k;
        return best;
    }

    double loss_of(size_t row) const {
        if (loss == Loss::logistic) {
            const double m = labels[row] ? output(0)[row] : -output(0)[row];
            return m < 0 ? logarithm(1 + exponential(m)) - m : logarithm(1 + exponential(-m));
        }
        if (loss == Loss::squared) {
            double sum = 0;
            for (size_t k = 0; k < n_outputs; ++k) {
                const double d = output(k)[row] - (is_of(row, k) ? 1 : -1);
                sum += d * d / 2;
            }
            return sum;
        }
        const double largest = output(label(row))[row];
        double sum = 0;
        for (size_t k = 0; k < n_outputs; ++k) sum += exponential(output(k)[row] - largest);
        return logarithm(sum) + largest - output(static_cast<size_t>(labels[row]))[row];
    }
};

// Gradients of all outputs at the scores of the moment. Those of one output become cells when its tree is grown.
class Gradients {
  public:
    explicit Gradients(const Scored& rows) : rows_(rows), p_(rows.loss == Loss::multinomial ? rows.scores.size() : 0) {
        for (size_t i = 0; i < rows.n_rows; ++i) total_weight_ += rows.weights[i];
    }

    void start_round(Team& team) {
        if (rows_.loss == Loss::multinomial) for_blocks(team, [&](size_t begin, size_t end) { softmax(begin, end); });
    }

    Grid cells(size_t k, Team& team, std::vector<Cell>& cells /* OUT, (n_rows) */) {
        const Grid grid = grid_of(k);
        for_blocks(team, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) cells[i] = cell(grid, i, k);
        });
        return grid;
    }

  private:
    template <class Use>
    void for_blocks(Team& team, Use&& use) const {
        const size_t n_blocks = (rows_.n_rows + kLossBlock - 1) / kLossBlock;
        team.run(n_blocks, [&](size_t b) { use(b * kLossBlock, std::min(rows_.n_rows, (b + 1) * kLossBlock)); });
    }

    Grid grid_of(size_t k) const {
        if (rows_.loss == Loss::logistic) return Grid::for_totals(rows_.n_rows, total_weight_, total_weight_ / 4);
        if (rows_.loss == Loss::multinomial) return Grid::for_totals(rows_.n_rows, total_weight_, total_weight_ / 2);
        double largest = 0;
        for (size_t i = 0; i < rows_.n_rows; ++i) largest = std::max(largest, std::fabs(rows_.output(k)[i]) + 1);
        return Grid::for_totals(rows_.n_rows, total_weight_ * largest, total_weight_);
    }

    Cell cell(const Grid& grid, size_t i, size_t k) const {
        const double w = rows_.weights[i], m = rows_.output(k)[i];
        if (rows_.loss == Loss::squared) return grid.cell(w * (m - (rows_.is_of(i, k) ? 1 : -1)), w);
        const double y = rows_.is_of(i, k) ? 1 : 0;
        if (rows_.loss == Loss::logistic) {
            const double p = sigmoid(m);
            return grid.cell(w * (p - y), w * (p * (1 - p)));
        }
        const double p = p_[k * rows_.n_rows + i], n = static_cast<double>(rows_.n_classes);
        return grid.cell(w * (p - y), w * (n / (n - 1) * (p * (1 - p))));
    }

    void softmax(size_t begin, size_t end) {
        const size_t n = rows_.n_rows;
        for (size_t i = begin; i < end; ++i) {
            const double largest = rows_.output(rows_.label(i))[i];
            double sum = 0;
            for (size_t k = 0; k < rows_.n_outputs; ++k) sum += p_[k * n + i] = exponential(rows_.output(k)[i] - largest);
            for (size_t k = 0; k < rows_.n_outputs; ++k) p_[k * n + i] /= sum;
        }
    }

    const Scored& rows_;
    std::vector<double> p_;  // (n_outputs, n_rows), multinomial
    double total_weight_ = 0;
};

}  // namespace frugal
