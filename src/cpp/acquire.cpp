// Buying features one at a time: for one row in progress, and for whole matrices.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "bindings.hpp"
#include "columns.hpp"
#include "parallel.hpp"
#include "random.hpp"
#include "row_run.hpp"

namespace frugal {
namespace {

constexpr size_t kRowsPerTask = 256;

TickPrices read_prices(const Vector<int64_t>& own, const Vector<int64_t>& shared, const Vector<int64_t>& group_offsets,
                       const Vector<int32_t>& group_ids, size_t n_features) {
    if (own.shape(0) != n_features || group_offsets.shape(0) != n_features + 1)
        throw std::invalid_argument("Acquirer: prices of another number of features");
    TickPrices prices;
    prices.own.assign(own.data(), own.data() + n_features);
    prices.shared.assign(shared.data(), shared.data() + shared.shape(0));
    prices.groups_of.resize(n_features);
    prices.members_of.resize(shared.shape(0));
    for (size_t f = 0; f < n_features; ++f)
        for (int64_t i = group_offsets.data()[f]; i < group_offsets.data()[f + 1]; ++i) {
            const int32_t group = group_ids.data()[i];
            prices.groups_of[f].push_back(group);
            prices.members_of[static_cast<size_t>(group)].push_back(static_cast<int32_t>(f));
        }
    return prices;
}

EnsembleArrays as_arrays(const Vector<int64_t>& node_offsets, const Vector<int32_t>& feature, const Vector<double>& threshold,
                         const Vector<uint8_t>& missing_left, const Vector<int32_t>& right, const Vector<int32_t>& category_set,
                         const Matrix<uint64_t>& category_sets, const Matrix<double>& values, const Vector<double>& base,
                         const Vector<double>& node_weight, size_t n_features, bool only_lead) {
    const size_t n_nodes = feature.shape(0), n_offsets = node_offsets.shape(0);
    if (n_offsets == 0 || node_offsets.data()[0] != 0 || node_offsets.data()[n_offsets - 1] != static_cast<int64_t>(n_nodes) ||
        threshold.shape(0) != n_nodes || missing_left.shape(0) != n_nodes || right.shape(0) != n_nodes ||
        category_set.shape(0) != n_nodes || node_weight.shape(0) != n_nodes || base.shape(0) != values.shape(1))
        throw std::invalid_argument("Acquirer: arrays of different sizes");
    return {n_offsets - 1,         n_nodes,          values.shape(0),  n_features,          values.shape(1),
            category_sets.shape(0), category_sets.shape(1), only_lead, node_offsets.data(), feature.data(), threshold.data(),
            missing_left.data(),   right.data(),     category_set.data(), category_sets.data(), values.data(),
            base.data(),           node_weight.data()};
}

// An ensemble and its prices, ready for runs.
class Acquirer {
  public:
    Acquirer(Vector<int64_t> node_offsets, Vector<int32_t> feature, Vector<double> threshold, Vector<uint8_t> missing_left,
             Vector<int32_t> right, Vector<int32_t> category_set, Matrix<uint64_t> category_sets, Matrix<double> values,
             Vector<double> base, Vector<double> node_weight, Vector<int64_t> own, Vector<int64_t> shared,
             Vector<int64_t> group_offsets, Vector<int32_t> group_ids, bool only_lead)
        : trees_(as_arrays(node_offsets, feature, threshold, missing_left, right, category_set, category_sets, values, base, node_weight,
                           own.shape(0), only_lead)),
          prices_(read_prices(own, shared, group_offsets, group_ids, own.shape(0))),
          base_(base.data(), base.data() + base.shape(0)),
          sets_(LeafSets::of(trees_)),
          stops_(trees_, values.shape(0)) {}

    const Reachable& trees() const { return trees_; }
    const TickPrices& prices() const { return prices_; }
    const std::vector<double>& base() const { return base_; }
    const LeafSets* sets() const { return sets_.get(); }

    // Runs every row to its end. leaves: (n, n_trees), where rows would end in each tree, or nothing: rows of the same leaf then
    // come one after the other, since what they read is still in the cache, and their ways are not searched again.
    // bought: features that all rows have bought together before; they are not in the mask.
    // -> (label (n), is_complete (n), estimate (n, channels) or None, mask (n, m))
    nb::tuple evaluate(AnyMatrix x_array, const Policy& policy, bool with_estimate, int n_threads, const std::optional<Matrix<int32_t>>& leaves,
                       const std::vector<int32_t>& bought) const {
        const StridedMatrix x = checked(x_array);
        const int32_t* ends = checked(leaves, x.n_rows);
        const size_t n = x.n_rows, m = trees_.n_features, k = trees_.n_channels;
        std::vector<int32_t> label(n);
        std::vector<uint8_t> is_complete(n), mask(n * m, 0);
        std::vector<double> estimates(with_estimate ? n * k : 0);
        {
            nb::gil_scoped_release release;
            for_rows(x, ends, checked(bought), policy, n_threads, [&](size_t row, RowRun& run, auto&& buy_next) {
                for (int32_t f = buy_next(); f >= 0; f = buy_next()) mask[row * m + static_cast<size_t>(f)] = 1;
                label[row] = run.answer();
                is_complete[row] = !run.has_waiting_trees();
                if (!with_estimate) return;
                const std::vector<double> estimate = run.estimate();
                std::copy_n(estimate.begin(), k, estimates.begin() + static_cast<std::ptrdiff_t>(row * k));
            });
        }
        nb::object estimate_object = nb::none();
        if (with_estimate) estimate_object = nb::cast(to_numpy(std::move(estimates), {n, k}));
        return nb::make_tuple(to_numpy(std::move(label)), to_numpy(std::move(is_complete)), estimate_object,
                              to_numpy(std::move(mask), {n, m}));
    }

    // How Stop::confidence would end at each threshold (ascending), and last how a proof ends, all from one run of each row.
    // -> (label (n, levels + 1), is_complete (the same), ticks (the same), estimate (n, levels + 1, channels) or None)
    nb::tuple ends_at(AnyMatrix x_array, Policy policy, Vector<double> confidences, bool with_estimate, int n_threads) const {
        const StridedMatrix x = checked(x_array);
        const size_t n = x.n_rows, n_ends = confidences.shape(0) + 1, k = trees_.n_channels;
        const double* level = confidences.data();
        policy.stop = Stop::label;
        std::vector<int32_t> label(n * n_ends);
        std::vector<uint8_t> is_complete(n * n_ends);
        std::vector<int64_t> ticks(n * n_ends);
        std::vector<double> estimates(with_estimate ? n * n_ends * k : 0);
        {
            nb::gil_scoped_release release;
            for_rows(x, nullptr, {}, policy, n_threads, [&](size_t row, RowRun& run, auto&& buy_next) {
                size_t place = row * n_ends;
                const size_t last = place + n_ends - 1;
                const auto end_here = [&](size_t beyond) {
                    const int32_t answer = run.answer();
                    const std::vector<double> estimate = with_estimate ? run.estimate() : std::vector<double>{};
                    for (; place < beyond; ++place) {
                        label[place] = answer;
                        is_complete[place] = !run.has_waiting_trees();
                        ticks[place] = run.purse().spent();
                        std::copy(estimate.begin(), estimate.end(), estimates.begin() + static_cast<std::ptrdiff_t>(place * k));
                    }
                };
                const auto n_reached = [&] { return static_cast<size_t>(std::upper_bound(level, level + n_ends - 1, run.confidence()) - level); };
                do {
                    if (!run.is_over() && place < last && run.confidence() >= level[place - row * n_ends]) end_here(row * n_ends + n_reached());
                } while (buy_next() >= 0);
                end_here(last + 1);
            });
        }
        nb::object estimate_object = nb::none();
        if (with_estimate) estimate_object = nb::cast(to_numpy(std::move(estimates), {n, n_ends, k}));
        return nb::make_tuple(to_numpy(std::move(label), {n, n_ends}), to_numpy(std::move(is_complete), {n, n_ends}),
                              to_numpy(std::move(ticks), {n, n_ends}), estimate_object);
    }

  private:
    StridedMatrix checked(const AnyMatrix& x) const {
        StridedMatrix matrix(x);
        if (matrix.n_columns != trees_.n_features) throw std::invalid_argument("Acquirer: X has another number of features");
        return matrix;
    }

    // -> (n, n_trees), or nullptr
    const int32_t* checked(const std::optional<Matrix<int32_t>>& leaves, size_t n_rows) const {
        if (!leaves) return nullptr;
        if (leaves->shape(0) != n_rows || leaves->shape(1) != trees_.n_trees) throw std::invalid_argument("Acquirer: leaves of other rows or trees");
        return leaves->data();
    }

    const std::vector<int32_t>& checked(const std::vector<int32_t>& features) const {
        for (const int32_t f : features)
            if (f < 0 || static_cast<size_t>(f) >= trees_.n_features) throw std::invalid_argument("Acquirer: no such feature");
        return features;
    }

    // Rows in the order of their leaves in the first tree.
    std::vector<size_t> rows_by_leaf(const int32_t* leaves, size_t n_rows) const {
        std::vector<size_t> rows(n_rows);
        std::iota(rows.begin(), rows.end(), size_t{0});
        if (leaves && trees_.n_trees > 0)
            std::sort(rows.begin(), rows.end(), [&](size_t a, size_t b) {
                return std::make_pair(leaves[a * trees_.n_trees], a) < std::make_pair(leaves[b * trees_.n_trees], b);
            });
        return rows;
    }

    // Calls use(row, run, buy_next) for every row; buy_next() buys the next feature and names it, -1 at the end.
    template <class Use>
    void for_rows(const StridedMatrix& x, const int32_t* leaves, const std::vector<int32_t>& bought, const Policy& policy, int n_threads,
                  Use&& use) const {
        const RowRun start(trees_, sets(), prices_, policy);
        const std::vector<size_t> rows = rows_by_leaf(leaves, x.n_rows);
        parallel_for((x.n_rows + kRowsPerTask - 1) / kRowsPerTask, n_threads, [&](size_t task) {
            RowRun run = start;
            std::vector<ValueCode> codes(bought.size());
            const auto code = [&](size_t row, int32_t f) { return trees_.code(static_cast<size_t>(f), value(x, row, static_cast<size_t>(f))); };
            for (size_t a = task * kRowsPerTask; a < std::min(x.n_rows, (task + 1) * kRowsPerTask); ++a) {
                const size_t row = rows[a];
                if (a + 1 < x.n_rows) prefetch(x, leaves, rows[a + 1]);
                run.restart(start);
                if (leaves) run.foresee(stops_, leaves + row * trees_.n_trees);
                std::transform(bought.begin(), bought.end(), codes.begin(), [&](int32_t f) { return code(row, f); });
                run.buy_together(bought, codes);
                use(row, run, [&] {
                    const int32_t f = run.next();
                    if (f >= 0) run.buy(f, code(row, f));
                    return f;
                });
            }
        });
    }

    // What is read of a row that comes next: rows are not in the order of memory.
    void prefetch(const StridedMatrix& x, const int32_t* leaves, size_t row) const {
        constexpr std::ptrdiff_t kLine = 64, kMost = 16 * kLine;
        const char* values = x.data + static_cast<std::ptrdiff_t>(row) * x.row_step;
        const std::ptrdiff_t row_bytes = std::min(kMost, x.column_step * static_cast<std::ptrdiff_t>(x.n_columns));
        if (x.column_step <= kLine)
            for (std::ptrdiff_t byte = 0; byte < row_bytes; byte += kLine) __builtin_prefetch(values + byte);
        if (!leaves) return;
        const auto* ends = reinterpret_cast<const char*>(leaves + row * trees_.n_trees);
        for (std::ptrdiff_t byte = 0; byte < std::min(kMost, static_cast<std::ptrdiff_t>(sizeof(int32_t) * trees_.n_trees)); byte += kLine)
            __builtin_prefetch(ends + byte);
    }

    static double value(const StridedMatrix& x, size_t row, size_t f) {
        double found = 0;
        x.with_type([&](auto type) { found = static_cast<double>(x.at<decltype(type)>(row, f)); });
        return found;
    }

    Reachable trees_;
    TickPrices prices_;
    std::vector<double> base_;
    std::unique_ptr<const LeafSets> sets_;
    Stops stops_;
};

// One row in progress, for Python. Features and values are checked there.
class Run {
  public:
    Run(const Acquirer& acquirer, const Policy& policy)
        : acquirer_(acquirer), policy_(policy), run_(acquirer.trees(), acquirer.sets(), acquirer.prices(), policy_) {}
    Run(const Run&) = delete;  // run_ points at policy_
    Run& operator=(const Run&) = delete;

    int32_t next() const { return run_.next(); }
    void buy(int32_t f, double value) { run_.buy(f, code(f, value)); }
    void learn(int32_t f, double value) { run_.learn(f, code(f, value)); }
    void buy_together(const std::vector<int32_t>& features, const std::vector<double>& values) {
        if (features.size() != values.size()) throw std::invalid_argument("Run: a value for each feature");
        std::vector<ValueCode> codes(features.size());
        std::transform(features.begin(), features.end(), values.begin(), codes.begin(), [&](int32_t f, double value) { return code(f, value); });
        run_.buy_together(features, codes);
    }
    int64_t price(int32_t f) const { return run_.purse().price(static_cast<size_t>(f)); }
    int64_t spent() const { return run_.purse().spent(); }
    int32_t leader() const { return run_.leader(); }
    bool is_proven() const { return run_.is_closed(); }
    bool is_complete() const { return !run_.has_waiting_trees(); }
    double confidence() const { return run_.confidence(); }

    int32_t answer() const { return run_.answer(); }
    nb::ndarray<nb::numpy, double> estimate() const { return to_numpy(run_.estimate()); }

    nb::tuple bounds() const {
        std::vector<double> low(acquirer_.base().size()), high(low.size());
        run_.bounds(acquirer_.base().data(), low.data(), high.data());
        return nb::make_tuple(to_numpy(std::move(low)), to_numpy(std::move(high)));
    }

    // Mean number of ticks still to come, over imagined ends of this run.
    double expected_ticks(size_t n_ends, uint64_t seed) const {
        Stream random(mix(seed));
        double total = 0;
        nb::gil_scoped_release release;
        for (size_t i = 0; i < n_ends; ++i) {
            RowRun end = run_;
            for (int32_t f = end.next(); f >= 0; f = end.next())
                end.imagine(f, static_cast<float>(random.uniform()));
            total += static_cast<double>(end.purse().spent() - run_.purse().spent());
        }
        return n_ends ? total / static_cast<double>(n_ends) : 0;
    }

  private:
    ValueCode code(int32_t f, double value) const { return acquirer_.trees().code(static_cast<size_t>(f), value); }

    const Acquirer& acquirer_;
    Policy policy_;
    RowRun run_;
};

}  // namespace

void bind_acquisition(nb::module_& m) {
    nb::enum_<Stop>(m, "Stop")
        .value("all", Stop::all)
        .value("label", Stop::label)
        .value("confidence", Stop::confidence)
        .value("budget", Stop::budget);
    nb::class_<Policy>(m, "Policy")
        .def(nb::init<>())
        .def_rw("stop", &Policy::stop)
        .def_rw("by_count", &Policy::by_count)
        .def_rw("deep", &Policy::deep)
        .def_rw("grouped", &Policy::grouped)
        .def_rw("range_weight", &Policy::range_weight)
        .def_rw("most_visits", &Policy::most_visits)
        .def_rw("hope", &Policy::hope)
        .def_rw("most_boxes", &Policy::most_boxes)
        .def_rw("tolerance", &Policy::tolerance)
        .def_rw("confidence", &Policy::confidence)
        .def_rw("budget", &Policy::budget);
    nb::class_<Acquirer>(m, "Acquirer")
        .def(nb::init<Vector<int64_t>, Vector<int32_t>, Vector<double>, Vector<uint8_t>, Vector<int32_t>, Vector<int32_t>, Matrix<uint64_t>,
                      Matrix<double>, Vector<double>, Vector<double>, Vector<int64_t>, Vector<int64_t>, Vector<int64_t>, Vector<int32_t>, bool>(),
             nb::arg("node_offsets"), nb::arg("feature"), nb::arg("threshold"), nb::arg("missing_left"), nb::arg("right"),
             nb::arg("category_set"), nb::arg("category_sets"), nb::arg("values"), nb::arg("base"), nb::arg("node_weight"),
             nb::arg("own_ticks"), nb::arg("shared_ticks"), nb::arg("group_offsets"), nb::arg("group_ids"),
             nb::arg("only_lead"))
        .def("evaluate", &Acquirer::evaluate, nb::arg("x"), nb::arg("policy"), nb::arg("with_estimate"), nb::arg("n_threads") = 1,
             nb::arg("leaves") = nb::none(), nb::arg("bought") = std::vector<int32_t>{})
        .def("ends_at", &Acquirer::ends_at, nb::arg("x"), nb::arg("policy"), nb::arg("confidences"), nb::arg("with_estimate"),
             nb::arg("n_threads") = 1);
    nb::class_<Run>(m, "Run")
        .def(nb::init<const Acquirer&, const Policy&>(), nb::arg("acquirer"), nb::arg("policy"), nb::keep_alive<1, 2>())
        .def("next", &Run::next)
        .def("buy", &Run::buy, nb::arg("feature"), nb::arg("value"))
        .def("buy_together", &Run::buy_together, nb::arg("features"), nb::arg("values"))
        .def("learn", &Run::learn, nb::arg("feature"), nb::arg("value"))
        .def("price", &Run::price, nb::arg("feature"))
        .def("bounds", &Run::bounds)
        .def("estimate", &Run::estimate)
        .def("expected_ticks", &Run::expected_ticks, nb::arg("n_ends"), nb::arg("seed"))
        .def_prop_ro("spent", &Run::spent)
        .def_prop_ro("leader", &Run::leader)
        .def_prop_ro("answer", &Run::answer)
        .def_prop_ro("is_proven", &Run::is_proven)
        .def_prop_ro("is_complete", &Run::is_complete)
        .def_prop_ro("confidence", &Run::confidence);
}

}  // namespace frugal
