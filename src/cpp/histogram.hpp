// Engine 2: histograms of counts per bin, for every impurity, every splitting and any weights.
//
// Large nodes keep the histograms of all features: the smaller child is counted, its sibling is parent minus child.
// Below kLocalRows rows, the node's codes are copied to a compact block that fits the cache and serves the whole subtree;
// there only the bins that occur are looked at.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "categories.hpp"
#include "choice.hpp"
#include "impurity.hpp"
#include "prices.hpp"
#include "random.hpp"
#include "thresholds.hpp"
#include "tree.hpp"

namespace frugal {

constexpr size_t kLocalRows = 2048;
constexpr size_t kKeepHistogram = 512;  // nodes from this size on keep histograms of all features

struct Item {
    uint32_t row;  // in the training data, or in the local block
    uint16_t label;
    uint16_t draws;
};

// What a bin counts. `size` is the number of draws in a bin.
struct ClassCounts {
    using Number = uint32_t;
    static constexpr bool is_regression = false;
    const TrainingData& data;
    int width() const { return data.n_counts; }
    void add(Number* bin, const Item& item, uint32_t) const { bin[item.label] += item.draws; }
    Number size(const Number* bin) const { return std::accumulate(bin, bin + data.n_counts, Number{0}); }
};

struct ClassWeights {
    using Number = double;
    static constexpr bool is_regression = false;
    const TrainingData& data;
    int width() const { return data.n_counts + 1; }
    void add(Number* bin, const Item& item, uint32_t row) const {
        bin[item.label] += item.draws * data.weights[row];
        bin[data.n_counts] += item.draws;
    }
    Number size(const Number* bin) const { return bin[data.n_counts]; }
};

struct Moments {
    using Number = double;
    static constexpr bool is_regression = true;
    const TrainingData& data;
    int width() const { return 3; }
    void add(Number* bin, const Item& item, uint32_t row) const {
        bin[0] += item.draws * (data.weights ? data.weights[row] : 1.0);
        bin[1] += item.draws * data.weighted_targets[row];
        bin[2] += item.draws;
    }
    Number size(const Number* bin) const { return bin[2]; }
};

// The codes again, one row behind the other: copying a node's rows to a block then reads each row once.
struct RowMajorCodes {
    size_t n_features;
    std::vector<uint8_t> codes;
    explicit RowMajorCodes(const TrainingData& data) : n_features(data.n_features), codes(data.n_rows * data.n_features) {
        constexpr size_t block = 64;
        for (size_t i = 0; i < data.n_rows; i += block)
            for (size_t f = 0; f < n_features; ++f)
                for (size_t r = i; r < std::min(data.n_rows, i + block); ++r)
                    codes[r * n_features + f] = data.column(f)[r];
    }
    const uint8_t* row(size_t r) const { return codes.data() + r * n_features; }
};

struct BinSet {
    uint64_t words[4] = {0, 0, 0, 0};
    void clear() { words[0] = words[1] = words[2] = words[3] = 0; }
    void insert(uint8_t bin) { words[bin >> 6] |= uint64_t{1} << (bin & 63); }
    void insert(const BinSet& others) {
        for (int w = 0; w < 4; ++w) words[w] |= others.words[w];
    }
    size_t size() const {
        size_t n = 0;
        for (uint64_t word : words) n += static_cast<size_t>(__builtin_popcountll(word));
        return n;
    }
    bool has_one() const { return size() == 1; }
    bool has_missing() const { return words[3] >> 63; }
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (int w = 0; w < 4; ++w)
            for (uint64_t bits = words[w]; bits; bits &= bits - 1)
                visit(static_cast<uint8_t>(64 * w + __builtin_ctzll(bits)));
    }
};

// A set of features, one for each node: up to 64 features need no memory of their own.
class FeatureSet {
  public:
    explicit FeatureSet(size_t n_features) : more_(n_features > 64 ? (n_features - 1) / 64 : 0, 0) {}
    bool has(uint32_t f) const { return (word(f) >> (f & 63)) & 1; }
    void insert(uint32_t f) { (f < 64 ? first_ : more_[f / 64 - 1]) |= uint64_t{1} << (f & 63); }

  private:
    uint64_t word(uint32_t f) const { return f < 64 ? first_ : more_[f / 64 - 1]; }

    uint64_t first_ = 0;
    std::vector<uint64_t> more_;
};

template <class Impurity, class Accumulator, int K = 0>
class HistogramGrower {
    using Number = typename Accumulator::Number;
    static constexpr bool kTwoCounts = K == 2 && std::is_same_v<Accumulator, ClassCounts>;

  public:
    HistogramGrower(const TrainingData& data, const RowMajorCodes& row_major, const GrowParams& params,
                    const CostTable& costs, const Impurity& impurity, InstructionSet instruction_set)
        : data_(data),
          row_major_(row_major),
          params_(params),
          costs_(costs),
          prices_(costs),
          accumulator_{data},
          k_(data.n_counts),
          width_(static_cast<size_t>(accumulator_.width())),
          gains_(impurity, params.splitting, data.n_counts, data.class_weight),
          evaluate_(gains_for<Impurity, K>(instruction_set)),
          category_counts_(data.n_counts),
          category_search_(data.n_counts, data.class_weight, Accumulator::is_regression),
          samples_features_(params.max_features < data.n_features),
          counts_in_pairs_(kTwoCounts && !params.random_thresholds && params.min_samples_leaf <= 1),
          pairs_(kTwoCounts ? 256 : 0, 0),
          scratch_(256 * width_, Number{0}),
          node_bins_(width_),
          raw_(static_cast<size_t>(k_)),
          left_(width_) {}

    // The tree is this grower's, until the next one is grown.
    const Tree& grow(uint64_t seed, const std::vector<uint16_t>& draws) {
        start_tree(seed, draws);
        while (!pending_.empty()) {
            Pending next = std::move(pending_.back());
            pending_.pop_back();
            grow_node(std::move(next));
        }
        return tree_;
    }

  protected:
    using Histogram = std::unique_ptr<std::vector<Number>>;  // (n_features, 256, width)

    struct Pending {
        uint32_t parent;
        bool is_right, is_local;
        uint32_t begin, end, depth;
        uint64_t path_seed;
        FeatureSet constant;  // features that have one value here
        Histogram histogram;
    };

    void start_tree(uint64_t seed, const std::vector<uint16_t>& draws) {
        seed_ = seed;
        tree_.start(k_);
        prices_.reset_tree();
        items_.clear();
        for (uint32_t row = 0; row < data_.n_rows; ++row)
            if (draws[row] && (!data_.weights || data_.weights[row] > 0))
                items_.push_back({row, static_cast<uint16_t>(data_.labels ? data_.labels[row] : 0), draws[row]});
        spare_.resize(items_.size());
        pending_.clear();
        pending_.push_back({kNoParent, false, false, 0, static_cast<uint32_t>(items_.size()), 0, root_path_seed(seed),
                            FeatureSet(data_.n_features), nullptr});
    }

    // ------------------------------------------------------------ rows

    uint32_t global_row(const Item& item) const { return local_ ? local_rows_[item.row] : item.row; }

    const uint8_t* column(uint32_t f) const { return local_ ? block_.data() + f * block_step_ : data_.column(f); }

    // Copies the codes of a node to the block; from here on its items count rows of the block.
    void make_local(Pending& node) {
        node.is_local = true;
        block_step_ = (node.end - node.begin + 63) / 64 * 64;
        block_.resize(std::max(block_.size(), data_.n_features * block_step_));
        local_rows_.resize(kLocalRows);
        for (uint32_t i = node.begin; i < node.end; ++i) {
            const uint32_t local = i - node.begin;
            const uint8_t* codes = row_major_.row(items_[i].row);
            for (size_t f = 0; f < data_.n_features; ++f) block_[f * block_step_ + local] = codes[f];
            local_rows_[local] = items_[i].row;
            items_[i].row = local;
        }
    }

    void grow_node(Pending node) {
        if (!node.is_local && node.end - node.begin <= kLocalRows) make_local(node);
        local_ = node.is_local;
        const uint32_t number = tree_.add_node(node.parent, node.is_right);
        count_node(node);
        gains_.enter_node(raw_.data());
        if (is_leaf(node) || !split_node(node, number)) {
            gains_.enter_node(raw_.data());
            tree_.make_leaf(number, gains_.counts());
            if (node.histogram) pool_.push_back(std::move(node.histogram));
        }
    }

    void count_node(const Pending& node) {
        if constexpr (kTwoCounts) return count_two(node);
        std::fill(node_bins_.begin(), node_bins_.end(), Number{0});
        for (uint32_t i = node.begin; i < node.end; ++i) accumulator_.add(node_bins_.data(), items_[i], global_row(items_[i]));
        for (size_t c = 0; c < raw_.size(); ++c) raw_[c] = static_cast<double>(node_bins_[c]);
        size_ = static_cast<double>(accumulator_.size(node_bins_.data()));
    }

    // Both counts in one word, so that they stay in a register.
    void count_two(const Pending& node) {
        uint64_t both = 0;
        for (uint32_t i = node.begin; i < node.end; ++i) both += pair_of(items_[i]);
        raw_[0] = static_cast<double>(static_cast<uint32_t>(both));
        raw_[1] = static_cast<double>(both >> 32);
        size_ = raw_[0] + raw_[1];
    }

    static uint64_t pair_of(const Item& item) { return uint64_t{item.draws} << (32 * item.label); }

    bool is_leaf(const Pending& node) const {
        if (node.depth >= params_.max_depth || size_ < params_.min_samples_split) return true;
        if constexpr (Accumulator::is_regression) {
            const double first = data_.targets[global_row(items_[node.begin])];
            return std::all_of(items_.begin() + node.begin, items_.begin() + node.end,
                               [&](const Item& item) { return data_.targets[global_row(item)] == first; });
        } else if constexpr (std::is_same_v<Impurity, GiniIndex> || std::is_same_v<Impurity, EntropyBits>) {
            int n_classes = 0;
            for (int c = 0; c < k_; ++c) n_classes += gains_.counts()[c] > 0;
            return n_classes < 2;
        } else {
            return gains_.parent() == 0;
        }
    }

    bool split_node(Pending& node, uint32_t number) {
        price_node(node, number);
        node_seed_ = params_.seeds_by_path ? node.path_seed : node_seed(seed_, number);
        if (!samples_features_ && !node.histogram && node.end - node.begin >= kKeepHistogram) {
            node.histogram = new_histogram();
            count_all(node, *node.histogram);
        }
        Choice choice(params_.objective, params_.tradeoff, params_.at_a_loss);
        if (samples_features_)
            search_sampled(choice, node);
        else
            for (uint32_t f = 0; f < data_.n_features; ++f)
                if (!node.constant.has(f) && prices_.allows(f)) search_feature(choice, node, f);
        const Split* best = choice.result();
        if (!best) return false;
        apply(node, number, *best);
        return true;
    }

    void price_node(const Pending& node, uint32_t number) {
        if (costs_.charge != Charge::forest) return prices_.enter_node(tree_, number);
        global_items_.assign(items_.begin() + node.begin, items_.begin() + node.end);
        for (Item& item : global_items_) item.row = global_row(item);
        prices_.enter_node_rows(global_items_, size_);
    }

    // ------------------------------------------------------------ counting

    Histogram new_histogram() {
        if (pool_.empty()) return std::make_unique<std::vector<Number>>(data_.n_features * 256 * width_, Number{0});
        Histogram histogram = std::move(pool_.back());
        pool_.pop_back();
        std::fill(histogram->begin(), histogram->end(), Number{0});
        return histogram;
    }

    void count_feature(const Pending& node, uint32_t f, Number* bins /* OUT, zeroed */) const {
        const uint8_t* codes = column(f);
        for (uint32_t i = node.begin; i < node.end; ++i)
            accumulator_.add(bins + codes[items_[i].row] * width_, items_[i], global_row(items_[i]));
    }

    void count_all(const Pending& node, std::vector<Number>& histogram) const {
        for (uint32_t f = 0; f < data_.n_features; ++f)
            if (!node.constant.has(f)) count_feature(node, f, histogram.data() + f * 256 * width_);
    }

    // Counts one feature into the scratch bins and notes which bins occur.
    const Number* count_present(const Pending& node, uint32_t f) {
        present_.clear();
        if (node.histogram) {
            const Number* bins = node.histogram->data() + f * 256 * width_;
            for (int b = 0; b < 256; ++b)
                if (accumulator_.size(bins + static_cast<size_t>(b) * width_) > 0) present_.insert(static_cast<uint8_t>(b));
            return bins;
        }
        const uint8_t* codes = column(f);
        for (uint32_t i = node.begin; i < node.end; ++i) present_.insert(codes[items_[i].row]);
        if (!present_.has_one()) count_feature(node, f, scratch_.data());
        return scratch_.data();
    }

    void clear_scratch(const Pending& node) {
        if (node.histogram) return;
        present_.for_each([&](uint8_t b) { std::fill_n(scratch_.begin() + static_cast<std::ptrdiff_t>(b * width_), width_, Number{0}); });
    }

    // ------------------------------------------------------------ searching

    void search_sampled(Choice& choice, Pending& node) {
        const auto m = static_cast<uint32_t>(data_.n_features);
        features_.resize(m);
        std::iota(features_.begin(), features_.end(), 0u);
        Stream stream(node_seed_);
        uint32_t searched = 0;
        for (uint32_t i = 0; i < m && !has_enough_features(params_, i, searched); ++i) {
            std::swap(features_[i], features_[i + stream.below(m - i)]);
            const uint32_t f = features_[i];
            if (node.constant.has(f) || !prices_.allows(f)) continue;
            searched += search_feature(choice, node, f);
        }
    }

    // Offers the feature's best split; false if the feature is constant in the node.
    bool search_feature(Choice& choice, Pending& node, uint32_t f) {
        if constexpr (kTwoCounts)
            if (counts_in_pairs_ && local_ && !node.histogram && !data_.is_categorical[f]) {
                const size_t n_present = count_pairs(node, f);
                if (n_present > 0) return offer_pairs(choice, node, f, n_present);
            }
        const Number* bins = count_present(node, f);
        if (present_.has_one()) {
            node.constant.insert(f);
            return false;
        }
        Split split;
        split.feature = f;
        bool found = false;
        if (data_.is_categorical[f]) {
            copy_categories(bins);
            found = category_search_.search(category_counts_, size_, min_size(), gains_, split);
        } else {
            found = search_thresholds(f, bins, split);
        }
        clear_scratch(node);
        if (found) choice.offer(prices_.price(f), split);
        return true;
    }

    // Two classes counted whole are most of the work of small forests: both counts of a bin travel in one word, one in
    // each half, and thresholds are listed without a branch. On 500 rows a tree takes 0.6 of the time.
    //
    // Lists the bins that occur and, for each, the counts up to it; 0 if values are missing, which the general way does.
    size_t count_pairs(const Pending& node, uint32_t f) {
        const uint8_t* codes = column(f);
        uint64_t* bins = pairs_.data();
        const Item* items = items_.data();
        BinSet present, others;  // in turn: no row waits for what the one before it has stored
        uint32_t i = node.begin;
        for (; i + 1 < node.end; i += 2) {
            const uint8_t code = codes[items[i].row], other = codes[items[i + 1].row];
            bins[code] += pair_of(items[i]);
            bins[other] += pair_of(items[i + 1]);
            present.insert(code);
            others.insert(other);
        }
        if (i < node.end) {
            const uint8_t code = codes[items[i].row];
            bins[code] += pair_of(items[i]);
            present.insert(code);
        }
        present.insert(others);
        const bool has_missing = present.has_missing();
        sides_.resize(256, 2);
        double *first = sides_.raw.data(), *second = first + sides_.stride;
        thresholds_.resize(256);
        uint8_t* found = thresholds_.data();
        size_t n = 0;
        uint64_t sum = 0;
        present.for_each([&](uint8_t bin) {
            sum += bins[bin];
            bins[bin] = 0;
            found[n] = bin;
            first[n] = static_cast<double>(static_cast<uint32_t>(sum));
            second[n] = static_cast<double>(static_cast<uint32_t>(sum >> 32));
            ++n;
        });
        return has_missing ? 0 : n;
    }

    bool offer_pairs(Choice& choice, Pending& node, uint32_t f, size_t n_present) {
        const size_t n = n_present - 1;  // up to the last bin is the whole node
        if (n == 0) {
            node.constant.insert(f);
            return false;
        }
        evaluate_(sides_, n, gains_.impurity(), gains_.parent_node(), params_.splitting);
        const double* gain = sides_.gain.data();
        size_t best = 0;
        for (size_t i = 1; i < n; ++i) best = gain[i] > gain[best] ? i : best;
        Split split;
        split.feature = f;
        split.gain = gain[best];
        split.code = thresholds_[best];
        choice.offer(prices_.price(f), split);
        return true;
    }

    double min_size() const { return std::max<uint32_t>(1, params_.min_samples_leaf); }

    void copy_categories(const Number* bins) {
        category_counts_.clear();
        present_.for_each([&](uint8_t code) {
            const Number* bin = bins + code * width_;
            for (int c = 0; c < k_; ++c) category_counts_.of(code)[c] = static_cast<double>(bin[c]);
            category_counts_.size[code] = static_cast<double>(accumulator_.size(bin));
        });
    }

    void add_bin(const Number* bin) {
        for (size_t c = 0; c < width_; ++c) left_[c] += bin[c];
    }

    // Lists all thresholds in the order in which ties are decided, evaluates them together, takes the first of the best.
    bool search_thresholds(uint32_t f, const Number* bins, Split& split) {
        if (params_.random_thresholds) draw_thresholds(f);
        const bool has_missing = present_.has_missing();
        thresholds_.clear();
        sides_.resize(2 * (params_.random_thresholds ? static_cast<size_t>(n_drawn_) + 1 : present_.size()), k_);
        list_thresholds(f, bins, false);
        const size_t n_missing_right = thresholds_.size();
        if (has_missing) list_thresholds(f, bins, true);
        if (thresholds_.empty()) return false;
        evaluate_(sides_, thresholds_.size(), gains_.impurity(), gains_.parent_node(), params_.splitting);
        size_t best = 0;
        for (size_t i = 1; i < thresholds_.size(); ++i)
            if (sides_.gain[i] > sides_.gain[best]) best = i;
        split.gain = sides_.gain[best];
        split.code = thresholds_[best];
        split.missing_left = best >= n_missing_right;
        return true;
    }

    // Thresholds with missing on one side that leave enough rows on both.
    void list_thresholds(uint32_t f, const Number* bins, bool missing_left) {
        std::fill(left_.begin(), left_.end(), Number{0});
        if (missing_left) add_bin(bins + kMissing * width_);
        const double least = min_size();
        const auto offer = [&](uint8_t code) {
            const auto left_size = static_cast<double>(accumulator_.size(left_.data()));
            if (left_size < least || size_ - left_size < least) return;
            double* raw = sides_.raw.data() + thresholds_.size();
            for (int c = 0; c < k_; ++c) raw[static_cast<size_t>(c) * sides_.stride] = static_cast<double>(left_[static_cast<size_t>(c)]);
            thresholds_.push_back(code);
        };
        if (params_.random_thresholds) {
            scan_drawn(bins, offer);
            // All values against missing; among all thresholds, the last present bin offers it under its own number.
            if (present_.has_missing() && !missing_left) offer(static_cast<uint8_t>(data_.n_bins[f] - 1));
        } else {
            present_.for_each([&](uint8_t bin) {
                if (bin == kMissing) return;
                add_bin(bins + bin * width_);
                offer(bin);
            });
        }
    }

    template <class Offer>
    void scan_drawn(const Number* bins, Offer&& offer) {
        int next = 0;
        present_.for_each([&](uint8_t bin) {
            if (bin == kMissing) return;
            while (next < n_drawn_ && drawn_[next] < bin) offer(drawn_[next++]);
            add_bin(bins + bin * width_);
        });
    }

    void draw_thresholds(uint32_t f) {
        int least = -1, largest = -1;
        present_.for_each([&](uint8_t bin) {
            if (bin == kMissing) return;
            if (least < 0) least = bin;
            largest = bin;
        });
        n_drawn_ = 0;
        if (least < largest)
            n_drawn_ = random_codes(data_, f, static_cast<uint8_t>(least), static_cast<uint8_t>(largest),
                                    n_random_thresholds(static_cast<size_t>(size_)), threshold_stream(node_seed_, f), drawn_);
    }

    // ------------------------------------------------------------ splitting the rows

    void apply(Pending& node, uint32_t number, Split split) {
        if (!split.categorical) settle_threshold(node, split);
        tree_.make_split(number, split);
        prices_.take(split.feature);
        const uint32_t middle = partition(node, split);
        Pending left = child_of(node, number, false, node.begin, middle);
        Pending right = child_of(node, number, true, middle, node.end);
        if (node.histogram) share_histogram(node, left, right);
        pending_.push_back(std::move(right));
        pending_.push_back(std::move(left));
    }

    static Pending child_of(const Pending& node, uint32_t number, bool is_right, uint32_t begin, uint32_t end) {
        return {number, is_right, node.is_local, begin, end, node.depth + 1, child_path_seed(node.path_seed, is_right), node.constant, nullptr};
    }

    bool goes_left(const Split& split, uint8_t code) const {
        if (split.categorical) return contains(split.left_categories, code);
        return code == kMissing ? split.missing_left : code <= split.code;
    }

    // Moves the threshold to the middle of its gap and sends absent missing values to the heavier child.
    void settle_threshold(const Pending& node, Split& split) {
        const uint8_t* codes = column(split.feature);
        int last_left = -1, first_right = 256, largest = 0;
        for (uint32_t i = node.begin; i < node.end; ++i) {
            const int code = codes[items_[i].row], is_low = code <= split.code;
            // Products and no branches: nothing foretells which way a row goes.
            last_left = std::max(last_left, (code + 1) * is_low - 1);
            first_right = std::min(first_right, code + (256 - code) * is_low);
            largest = std::max(largest, code);
        }
        const bool has_missing = largest == kMissing;
        if (!has_missing) split.missing_left = is_heavier_left(node, split);
        if (first_right >= kMissing)
            split.code = static_cast<uint8_t>(data_.n_bins[split.feature] - 1);
        else if (!params_.random_thresholds)
            split.code = static_cast<uint8_t>((last_left + first_right - 1) / 2);
    }

    bool is_heavier_left(const Pending& node, const Split& split) {
        const uint8_t* codes = column(split.feature);
        std::fill(left_.begin(), left_.end(), Number{0});
        if constexpr (kTwoCounts) {
            uint64_t both = 0;
            for (uint32_t i = node.begin; i < node.end; ++i) both += pair_of(items_[i]) * (codes[items_[i].row] <= split.code);
            left_[0] = static_cast<Number>(both);
            left_[1] = static_cast<Number>(both >> 32);
        } else {
            for (uint32_t i = node.begin; i < node.end; ++i)
                if (codes[items_[i].row] <= split.code) accumulator_.add(left_.data(), items_[i], global_row(items_[i]));
        }
        gains_.evaluate(left_.data());
        return gains_.left_weight() > gains_.right_weight();
    }

    uint32_t partition(const Pending& node, const Split& split) {
        if (!split.categorical) {
            const uint8_t last = split.code;
            const uint32_t missing_left = split.missing_left;
            return partition_by(node, split.feature,
                                [=](uint8_t code) { return uint32_t{code <= last} | (uint32_t{code == kMissing} & missing_left); });
        }
        return partition_by(node, split.feature, [&](uint8_t code) { return uint32_t{goes_left(split, code)}; });
    }

    // Rows for which is_left(code) is 1 go to the front, in their order; -> where the others begin.
    template <class IsLeft>
    uint32_t partition_by(const Pending& node, uint32_t f, IsLeft&& is_left) {
        const uint8_t* codes = column(f);
        uint32_t left = node.begin, right = 0;
        for (uint32_t i = node.begin; i < node.end; ++i) {
            const Item item = items_[i];
            const uint32_t to_left = is_left(codes[item.row]);
            items_[left] = item;
            spare_[right] = item;
            left += to_left;
            right += 1 - to_left;
        }
        std::copy_n(spare_.begin(), right, items_.begin() + left);
        return left;
    }

    // The smaller child is counted, the larger is what remains of the parent.
    void share_histogram(Pending& node, Pending& left, Pending& right) {
        Pending& small = left.end - left.begin <= right.end - right.begin ? left : right;
        Pending& large = &small == &left ? right : left;
        if (large.end - large.begin < kKeepHistogram || large.depth >= params_.max_depth) {
            pool_.push_back(std::move(node.histogram));
            return;
        }
        Histogram counted = new_histogram();
        count_all(small, *counted);
        Number* rest = node.histogram->data();
        const Number* taken = counted->data();
        for (size_t i = 0; i < counted->size(); ++i) rest[i] -= taken[i];
        large.histogram = std::move(node.histogram);
        if (small.end - small.begin >= kKeepHistogram)
            small.histogram = std::move(counted);
        else
            pool_.push_back(std::move(counted));
    }

    const TrainingData& data_;
    const RowMajorCodes& row_major_;
    const GrowParams& params_;
    const CostTable& costs_;
    Prices prices_;
    Accumulator accumulator_;
    const int k_;
    const size_t width_;
    Gains<Impurity, K> gains_;
    const GainFunction<Impurity> evaluate_;
    Sides sides_;  // of the thresholds of one feature
    CategoryCounts category_counts_;
    CategorySearch<Gains<Impurity, K>> category_search_;
    const bool samples_features_;
    const bool counts_in_pairs_;
    std::vector<uint64_t> pairs_;  // (256), zero between two features

    uint64_t seed_ = 0, node_seed_ = 0;
    Tree tree_;
    std::vector<Item> items_, spare_, global_items_;
    std::vector<Pending> pending_;
    std::vector<Histogram> pool_;
    bool local_ = false;
    std::vector<uint8_t> block_;  // (n_features, block_step_)
    size_t block_step_ = 0;
    std::vector<uint32_t> local_rows_;
    std::vector<Number> scratch_, node_bins_;
    std::vector<double> raw_;
    std::vector<Number> left_;
    BinSet present_;
    std::vector<uint8_t> thresholds_;
    double size_ = 0;
    std::vector<uint32_t> features_;
    uint8_t drawn_[96];
    int n_drawn_ = 0;
};

}  // namespace frugal
