// Engine 1: minimax splits by bisection over class-sorted byte columns.
//
// An admissible F is monotone, so F(left) rises and F(right) falls with the threshold and max(F(left), F(right)) is least
// where they cross: bisection needs about five counts per feature where a histogram scans up to 255 bins. "How many of
// class c are <= t" is a byte comparison over a contiguous run, because each node's rows lie together, sorted by class.
//
// Supermodularity gives bounds for nothing: a child's gain on a feature never exceeds its parent's, and while a
// bisection runs the gain is at most F(S) - max(F(left) below the crossing, F(right) above it). Features whose bound
// cannot beat the best split are left alone. (With random thresholds the parent's gain is of other thresholds: no bound.)
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "bisections.hpp"
#include "categories.hpp"
#include "choice.hpp"
#include "class_order.hpp"
#include "kernels.hpp"
#include "prices.hpp"
#include "random.hpp"
#include "thresholds.hpp"
#include "tree.hpp"

namespace frugal {

constexpr size_t kSideBySide = 1024;  // rows; above, counting takes longer than deciding, and stopping early pays

template <class Impurity, int K = 0>
class MinimaxGrower {
  public:
    MinimaxGrower(const TrainingData& data, const ClassOrder& order, const GrowParams& params, const CostTable& costs,
                  const Impurity& impurity, const Kernels& kernels)
        : data_(data),
          order_(order),
          params_(params),
          kernels_(kernels),
          prices_(costs),
          k_(data.n_counts),
          gains_(impurity, Splitting::minimax, data.n_counts, data.class_weight),
          category_counts_(data.n_counts),
          category_search_(data.n_counts, data.class_weight, false),
          samples_features_(params.max_features < data.n_features),
          uses_stale_bounds_(!params.random_thresholds && !samples_features_),
          evaluate_(values_for<Impurity, K>(kernels.instruction_set)),
          evaluate_two_(values_for<Impurity, 2>(kernels.instruction_set)),
          leaves_out_absent_(K == 0 && !std::is_same_v<Impurity, PolynomialSum> &&
                             std::none_of(data.is_categorical, data.is_categorical + data.n_features, [](uint8_t c) { return c; })),
          bisects_at_once_(std::is_same_v<Impurity, PlainPairs> && kernels.bisect_small_pairs &&
                           std::all_of(data.class_weight, data.class_weight + k_, [](double weight) { return weight == 1; })),
          class_rows_(static_cast<size_t>(k_)),
          counts_(static_cast<size_t>(k_)),
          raw_(static_cast<size_t>(k_)),
          probe_(static_cast<size_t>(k_)) {
        std::iota(all_thresholds_, all_thresholds_ + 256, uint8_t{0});
    }

    // The tree is this grower's, until the next one is grown.
    const Tree& grow(uint64_t seed, const std::vector<uint16_t>& draws) {
        start_tree(seed, draws);
        while (!pending_.empty()) {
            const Pending next = pending_.back();
            pending_.pop_back();
            candidates_.resize(next.candidates_end);
            std::copy_n(pending_counts_.end() - k_, k_, counts_.begin());
            pending_counts_.resize(pending_counts_.size() - static_cast<size_t>(k_));
            grow_node(next);
        }
        return tree_;
    }

  private:
    // A feature that may still split the node, where its parent's search ended, and a bound on its gain.
    struct Candidate {
        uint32_t feature;
        uint8_t guess;
        double bound;
    };

    struct Pending {
        uint32_t parent;
        bool is_right;
        bool is_small;     // rows are bits of `rows` at `begin`; else they are [begin, begin + size)
        uint32_t begin, size, depth;
        uint64_t rows;
        size_t candidates_begin, candidates_end;
    };

    // One bisection: thresholds are table[0 .. n_thresholds), compared as uint8(code + shift) <= table[i] + shift.
    struct Search {
        bool found = false;
        uint8_t shift = 0;
        int place = 0;       // in the table
        bool right_decides = false;  // F(right) is the larger side: smaller thresholds may have the same F(right)
        double gain = 0;
        double bound = 0;    // gain cannot exceed this
    };

    uint8_t* column(uint32_t f) { return columns_.data() + size_t{f} * stride_; }

    void start_tree(uint64_t seed, const std::vector<uint16_t>& draws) {
        seed_ = seed;
        tree_.start(k_);
        prices_.reset_tree();
        sample_.draw(order_, draws, counts_);
        const size_t n = sample_.size();
        if (n + kPadding > stride_) {
            stride_ = (n + kPadding + 63) / 64 * 64;
            columns_.assign(stride_ * data_.n_features + kPadding, 0);
            scratch_.assign(stride_ + kPadding, 0);
            bits_.assign(stride_ / 64 + 2, 0);
        }
        for (uint32_t f = 0; f < data_.n_features; ++f) sample_.copy(order_.column(f), kernels_, column(f));
        candidates_.clear();
        pending_.clear();
        pending_counts_.clear();
        for (uint32_t f = 0; f < data_.n_features; ++f)
            candidates_.push_back({f, static_cast<uint8_t>(std::max(0, data_.n_bins[f] / 2 - 1)), kUnbounded});
        // The order in which Bisections wants them; all lists below keep it.
        std::stable_sort(candidates_.begin(), candidates_.end(),
                         [&](const Candidate& a, const Candidate& b) { return data_.n_bins[a.feature] > data_.n_bins[b.feature]; });
        push({kNoParent, false, false, 0, static_cast<uint32_t>(n), 0, 0, 0, candidates_.size()}, counts_.data());
    }

    void push(Pending node, const uint32_t* counts) {
        pending_.push_back(node);
        pending_counts_.insert(pending_counts_.end(), counts, counts + k_);
    }

    void grow_node(Pending node) {
        const uint32_t number = tree_.add_node(node.parent, node.is_right);
        for (int c = 0; c < k_; ++c) raw_[static_cast<size_t>(c)] = counts_[static_cast<size_t>(c)];
        gains_.enter_node(raw_.data(), data_.class_weight, data_.n_counts);
        const bool is_leaf = node.depth >= params_.max_depth || node.size < params_.min_samples_split || !(gains_.parent() > 0);
        if (is_leaf || !split_node(node, number)) {
            gains_.enter_node(raw_.data(), data_.class_weight, data_.n_counts);
            tree_.make_leaf(number, gains_.counts());
        }
    }

    bool split_node(Pending& node, uint32_t number) {
        if (!node.is_small && node.size <= kSmallNode) make_small(node);
        enter(node);
        prices_.enter_node(tree_, number);
        node_seed_ = node_seed(seed_, number);
        Choice choice(Objective::risk, 0);
        children_candidates_.clear();
        if (samples_features_)
            search_sampled(choice, node);
        else if (node.size <= kSideBySide && uses_stale_bounds_ && params_.min_samples_leaf <= 1)
            search_side_by_side(choice, node);
        else
            search_all(choice, node);
        const Split* best = choice.result();
        if (!best) return false;
        apply(node, number, *best);
        return true;
    }

    // ------------------------------------------------------------ rows of the current node

    void make_small(Pending& node) {
        node.is_small = true;
        node.rows = node.size == 64 ? ~uint64_t{0} : (uint64_t{1} << node.size) - 1;
        uint32_t begin = 0;
        for (int c = 0; c < k_; ++c) {
            const uint32_t n = counts_[static_cast<size_t>(c)];
            const uint64_t run = n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
            class_rows_[static_cast<size_t>(c)] = begin < 64 ? run << begin : 0;
            begin += n;
        }
    }

    void enter(const Pending& node) {
        node_ = &node;
        ends_.resize(counts_.size());
        std::partial_sum(counts_.begin(), counts_.end(), ends_.begin());
        list_present();
        gains_.enter_node(present_raw_.data(), present_weight_.data(), n_present_);
    }

    // Deep nodes have few of the classes: counting only those is faster, and an absent class adds nothing to F.
    void list_present() {
        present_rows_.clear();
        present_ends_.clear();
        present_raw_.clear();
        present_weight_.clear();
        for (size_t c = 0; c < counts_.size(); ++c) {
            if (counts_[c] == 0 && leaves_out_absent_) continue;
            present_rows_.push_back(class_rows_[c]);
            present_ends_.push_back(ends_[c]);
            present_raw_.push_back(counts_[c]);
            present_weight_.push_back(data_.class_weight[c]);
        }
        n_present_ = static_cast<int>(present_raw_.size());
        probe_.resize(present_raw_.size());
    }

    void count_left(uint32_t f, uint8_t shift, uint8_t t, uint32_t* counts /* OUT */) {
        const uint8_t* codes = column(f) + node_->begin;
        const auto limit = static_cast<uint8_t>(t + shift);
        if (node_->is_small)
            kernels_.count_small(codes, node_->rows, present_rows_.data(), n_present_, shift, limit, counts);
        else
            kernels_.count_by_class(codes, present_ends_.data(), n_present_, shift, limit, counts);
    }

    uint32_t n_missing(uint32_t f) {
        if (!order_.has_missing[f]) return 0;
        const uint8_t* codes = column(f) + node_->begin;
        if (node_->is_small)
            kernels_.count_small(codes, node_->rows, present_rows_.data(), n_present_, 1, 0, probe_.data());
        else
            kernels_.count_by_class(codes, present_ends_.data(), n_present_, 1, 0, probe_.data());
        return std::accumulate(probe_.begin(), probe_.end(), 0u);
    }

    template <class Visit>
    void for_small_rows(uint64_t rows, Visit&& visit) const {
        for (; rows; rows &= rows - 1) visit(static_cast<uint32_t>(__builtin_ctzll(rows)));
    }

    void range(uint32_t f, uint8_t shift, uint8_t& least, uint8_t& largest) {
        const uint8_t* codes = column(f) + node_->begin;
        if (node_->is_small)
            small_range(codes, node_->rows, shift, least, largest);
        else
            kernels_.range(codes, node_->size, shift, &least, &largest);
    }

    void small_range(const uint8_t* codes, uint64_t rows, uint8_t shift, uint8_t& least, uint8_t& largest) const {
        least = 255;
        largest = 0;
        for_small_rows(rows, [&](uint32_t i) {
            const auto code = static_cast<uint8_t>(codes[i] + shift);
            least = std::min(least, code);
            largest = std::max(largest, code);
        });
    }

    bool is_constant(uint32_t f) {
        uint8_t least, largest;
        range(f, 0, least, largest);
        return least == largest;
    }

    // ------------------------------------------------------------ the best split of the current node

    void search_all(Choice& choice, const Pending& node) {
        const size_t begin = node.candidates_begin, end = node.candidates_end;
        if (begin == end) return;
        const size_t first = most_promising(begin, end);
        const Candidate searched = search_candidate(choice, candidates_[first]);
        for (size_t i = begin; i < end; ++i) keep(i == first ? searched : search_candidate(choice, candidates_[i]));
    }

    // In all but the largest nodes the numeric features are bisected side by side: without a branch per probe, and with
    // the impurities of several features at once, this takes half the time of one bisection after the other.
    void search_side_by_side(Choice& choice, const Pending& node) {
        const size_t begin = node.candidates_begin, end = node.candidates_end;
        if (begin == end) return;
        // Where prices are equal, bounds cut one feature in ten of a small node: not worth a search of its own.
        const bool one_goes_first = !node.is_small || !prices_.are_equal();
        const size_t first = one_goes_first ? most_promising(begin, end) : end;
        Candidate searched{};
        if (one_goes_first) searched = search_candidate(choice, candidates_[first]);
        side_by_side_.clear(end - begin);
        for (size_t i = begin; i < end; ++i) {
            const Candidate& candidate = candidates_[i];
            const uint32_t f = candidate.feature;
            if (i == first) {
                keep(searched);
            } else if (data_.is_categorical[f] || order_.has_missing[f]) {
                keep(search_candidate(choice, candidate));
            } else {
                if (prices_.allows(f) && choice.could_win(prices_.price(f), candidate.bound))
                    side_by_side_.add(f, data_.n_bins[f] - 1, children_candidates_.size());
                keep(candidate);
            }
        }
        if (node.is_small && bisects_at_once_)
            bisect_at_once();
        else
            bisect_side_by_side();
        for (size_t i = 0; i < side_by_side_.size(); ++i) offer_side_by_side(choice, i);
        drop_useless();
    }

    // Candidates are handed down to the children; one without a gain here has none below.
    void keep(const Candidate& candidate) {
        if (candidate.bound > 0) children_candidates_.push_back(candidate);
    }

    void drop_useless() {
        const auto useless = [](const Candidate& candidate) { return !(candidate.bound > 0); };
        children_candidates_.erase(std::remove_if(children_candidates_.begin(), children_candidates_.end(), useless),
                                   children_candidates_.end());
    }

    // All steps in registers. Handing counts and impurities from one loop to the next takes most of the time of a small node: without
    // it, a tree of covertype is grown in two thirds of the time.
    void bisect_at_once() {
        Bisections& all = side_by_side_;
        all.expect_results();
        kernels_.bisect_small_pairs(columns_.data() + node_->begin, stride_, all.features.data(), all.n_thresholds.data(), all.size(),
                                    node_->rows, present_rows_.data(), n_present_, all.below.data(), all.left_above.data(),
                                    all.right_below.data());
    }

    // Several bisections in step. Like bisect(): `below` is the last threshold before the crossing.
    void bisect_side_by_side() {
        Bisections& all = side_by_side_;
        all.start(gains_.parent(), n_present_);
        const uint8_t* base = columns_.data() + node_->begin;
        double* counts = all.sides.raw.data();
        const size_t stride = all.sides.stride;
        const ParentNode parent = gains_.parent_node();
        for (int step = all.first_step(); step >= 1; step /= 2) {
            const size_t n = all.aim(step);
            if (node_->is_small)
                kernels_.count_small_many(base, stride_, all.features.data(), all.probe.data(), n, node_->rows,
                                          present_rows_.data(), n_present_, counts, stride);
            else
                kernels_.count_by_class_many(base, stride_, all.features.data(), all.probe.data(), n, present_ends_.data(),
                                             n_present_, counts, stride);
            (n_present_ == 2 ? evaluate_two_ : evaluate_)(all.sides, n, gains_.impurity(), parent);
            kernels_.advance_bisections(all.sides.left_value.data(), all.sides.right_value.data(), all.last.data(), n, step,
                                        all.below.data(), all.left_above.data(), all.right_below.data());
        }
    }

    void offer_side_by_side(Choice& choice, size_t i) {
        const uint32_t f = side_by_side_.features[i];
        const double price = prices_.price(f);
        // Like offer_place(), without a branch that cannot be guessed.
        const double gain_above = gains_.parent() - side_by_side_.left_above[i], gain_below = gains_.parent() - side_by_side_.right_below[i];
        const double gain = std::max(std::max(gain_above, gain_below), 0.0);
        const bool right_decides = gain_below >= gain_above;
        const auto place = static_cast<uint8_t>(static_cast<int>(side_by_side_.below[i]) + !right_decides);
        children_candidates_[side_by_side_.notes[i]] = {f, place, gain * (1 + 1e-9)};
        if (!choice.could_win(price, gain)) return;
        Split split;
        split.feature = f;
        split.gain = gain;
        split.code = place;
        split.is_first_of_equals = !right_decides;
        choice.offer(price, split);
    }

    // A good split found first makes the bounds cut more of the others.
    size_t most_promising(size_t begin, size_t end) const {
        size_t best = begin;
        double least = std::numeric_limits<double>::infinity();
        for (size_t i = begin; i < end; ++i) {
            const double risk = prices_.price(candidates_[i].feature) / candidates_[i].bound;
            if (risk < least) {
                least = risk;
                best = i;
            }
        }
        return best;
    }

    // Offers the candidate's best split. Returns what its children start from; a bound of 0 means that they need not.
    Candidate search_candidate(Choice& choice, Candidate candidate) {
        const uint32_t f = candidate.feature;
        const double price = prices_.price(f);
        if (!prices_.allows(f) || !choice.could_win(price, candidate.bound)) return candidate;
        const double bound = search_feature(choice, f, price, candidate.guess);
        if (uses_stale_bounds_) return {f, candidate.guess, bound * (1 + 1e-9)};
        // Random thresholds may find a gain where these did not, unless f is constant.
        return {f, candidate.guess, is_constant(f) ? 0 : kUnbounded};
    }

    void search_sampled(Choice& choice, const Pending& node) {
        for (size_t i = node.candidates_begin; i < node.candidates_end; ++i) children_candidates_.push_back(candidates_[i]);
        const auto m = static_cast<uint32_t>(data_.n_features);
        features_.resize(m);
        std::iota(features_.begin(), features_.end(), 0u);
        Stream stream(node_seed_);
        uint32_t searched = 0;
        for (uint32_t i = 0; i < m && !has_enough_features(params_, i, searched); ++i) {
            std::swap(features_[i], features_[i + stream.below(m - i)]);
            const uint32_t f = features_[i];
            if (!prices_.allows(f) || is_constant(f)) continue;
            ++searched;
            uint8_t guess = static_cast<uint8_t>(std::max(0, data_.n_bins[f] / 2 - 1));
            search_feature(choice, f, prices_.price(f), guess);
        }
    }

    // Offers the feature's best split; returns a bound on the gain it can have here or in any descendant.
    double search_feature(Choice& choice, uint32_t f, double price, uint8_t& guess /* IN, OUT */) {
        Split split;
        split.feature = f;
        if (data_.is_categorical[f]) {
            count_categories(f);
            if (category_search_.search(category_counts_, node_->size, min_size(), gains_, split)) choice.offer(price, split);
            return kUnbounded;  // the order of the categories differs from node to node
        }
        const uint32_t missing = n_missing(f);
        const uint8_t* table = all_thresholds_;
        int n_values = data_.n_bins[f] - 1;
        if (params_.random_thresholds) {
            n_values = draw_thresholds(f, missing);
            table = drawn_;
        }
        // Missing right: with missing values, the last threshold has all values on the left.
        Search best = bisect(choice, f, price, table, missing ? n_values + 1 : n_values, 0, guess);
        double bound = best.bound;
        if (missing) {
            const Search other = bisect(choice, f, price, table, n_values, 1, guess);
            bound = std::max(bound, other.bound);
            if (other.found && (!best.found || other.gain > best.gain)) best = other;
        }
        if (best.found) {
            if (!params_.random_thresholds) guess = table[best.place];
            split.gain = best.gain;
            split.code = table[best.place];
            split.missing_left = best.shift == 1;
            if (best.right_decides && params_.random_thresholds && choice.could_win(price, best.gain))
                split.code = table[first_equal(f, table, best.place, best.shift, best.gain)];  // the table is of this feature only
            else
                split.is_first_of_equals = !best.right_decides;
            choice.offer(price, split);
        }
        return bound;
    }

    double min_size() const { return std::max<uint32_t>(1, params_.min_samples_leaf); }

    // Finds where F(left) overtakes F(right). Invariant: everything <= below is before the crossing, everything >= above is not.
    Search bisect(const Choice& choice, uint32_t f, double price, const uint8_t* table, int n_thresholds, uint8_t shift,
                  uint8_t guess) {
        Search result;
        result.shift = shift;
        result.bound = 0;
        if (n_thresholds <= 0) return result;
        int below = -1, above = n_thresholds, step = 1;
        double left_below = 0, right_below = 0, left_above = 0, right_above = 0;
        bool below_fits = false, above_fits = false;
        int place = params_.random_thresholds ? n_thresholds / 2 : std::min<int>(guess, n_thresholds - 1);
        for (;;) {
            const bool crossed = probe(f, shift, table[place]);
            if (crossed) {
                above = place;
                left_above = gains_.left_impurity();
                right_above = gains_.right_impurity();
                above_fits = right_fits_;
            } else {
                below = place;
                left_below = gains_.left_impurity();
                right_below = gains_.right_impurity();
                below_fits = left_fits_;
            }
            result.bound = gains_.parent() - std::max(left_below, right_above);
            if (above - below <= 1) break;
            if (!choice.could_win(price, result.bound)) return result;
            // Step away from the guess in doubling strides until the crossing is enclosed, then halve.
            if (above == n_thresholds)
                place = std::min(below + step, above - 1);
            else if (below == -1)
                place = std::max(above - step, 0);
            else
                place = (below + above) / 2;
            step *= 4;
        }
        result.bound = 0;
        if (above < n_thresholds && above_fits) offer_place(result, above, gains_.parent() - left_above, false);
        if (below >= 0 && below_fits) offer_place(result, below, gains_.parent() - right_below, true);
        if (result.found) result.bound = result.gain;
        return result;
    }

    // Of two places with equal gain the smaller threshold wins: it is offered second.
    static void offer_place(Search& result, int place, double gain, bool right_decides) {
        if (!(gain > 0) || (result.found && gain < result.gain)) return;
        result.found = true;
        result.place = place;
        result.gain = gain;
        result.right_decides = right_decides;
    }

    // Whether threshold t is at or behind the crossing. A side below min_samples_leaf moves the crossing away from it.
    bool probe(uint32_t f, uint8_t shift, uint8_t t) {
        count_left(f, shift, t, probe_.data());
        gains_.evaluate(probe_.data());
        if (params_.min_samples_leaf <= 1) {
            left_fits_ = right_fits_ = true;  // an empty side has no gain and is never taken
            return gains_.left_impurity() >= gains_.right_impurity();
        }
        const uint32_t left = std::accumulate(probe_.begin(), probe_.end(), 0u);
        left_fits_ = left >= params_.min_samples_leaf;
        right_fits_ = node_->size - left >= params_.min_samples_leaf;
        return left_fits_ && (gains_.left_impurity() >= gains_.right_impurity() || !right_fits_);
    }

    // Several thresholds may have the same gain, limited by F(right): the first of them is the one to take.
    int first_equal(uint32_t f, const uint8_t* table, int place, uint8_t shift, double gain) {
        int below = -1, above = place;
        while (above - below > 1) {
            const int middle = (below + above) / 2;
            probe(f, shift, table[middle]);
            if (left_fits_ && gains_.parent() - gains_.right_impurity() >= gain)
                above = middle;
            else
                below = middle;
        }
        return above;
    }

    int draw_thresholds(uint32_t f, uint32_t missing) {
        uint8_t least, largest, ignored;
        range(f, 0, least, largest);
        if (missing) {
            range(f, 1, ignored, largest);
            largest = static_cast<uint8_t>(largest - 1);
        }
        int n = 0;
        if (least < largest && missing < node_->size)
            n = random_codes(data_, f, least, largest, n_random_thresholds(node_->size), threshold_stream(node_seed_, f), drawn_);
        drawn_[n] = static_cast<uint8_t>(data_.n_bins[f] - 1);
        return n;
    }

    void count_categories(uint32_t f) {
        category_counts_.clear();
        const uint8_t* codes = column(f) + node_->begin;
        const auto add = [&](uint32_t i, int c) {
            category_counts_.of(codes[i])[c] += 1;
            category_counts_.size[codes[i]] += 1;
        };
        if (node_->is_small) {
            for (int c = 0; c < k_; ++c)
                for_small_rows(node_->rows & class_rows_[static_cast<size_t>(c)], [&](uint32_t i) { add(i, c); });
            return;
        }
        uint32_t i = 0;
        for (int c = 0; c < k_; ++c)
            for (; i < ends_[static_cast<size_t>(c)]; ++i) add(i, c);
    }

    // ------------------------------------------------------------ splitting the rows

    void apply(const Pending& node, uint32_t number, Split split) {
        if (!split.categorical && !split.is_first_of_equals)  // settled for the winner only: which of the equals does not matter before
            split.code = static_cast<uint8_t>(first_equal(split.feature, all_thresholds_, split.code, split.missing_left, split.gain));
        mark_left(split);
        left_counts_.assign(static_cast<size_t>(k_), 0);
        right_counts_.resize(static_cast<size_t>(k_));
        count_marked();
        uint32_t left_size = 0;
        for (size_t c = 0; c < static_cast<size_t>(k_); ++c) {
            right_counts_[c] = counts_[c] - left_counts_[c];
            left_size += left_counts_[c];
        }
        const size_t begin = candidates_.size();
        candidates_.insert(candidates_.end(), children_candidates_.begin(), children_candidates_.end());
        if (!node.is_small) partition_columns(begin);
        if (!split.categorical) settle_threshold(split, left_size);
        tree_.make_split(number, split);
        prices_.take(split.feature);

        Pending right = node, left = node;
        left.parent = right.parent = number;
        left.depth = right.depth = node.depth + 1;
        left.is_right = false;
        right.is_right = true;
        left.candidates_begin = right.candidates_begin = begin;
        left.candidates_end = right.candidates_end = candidates_.size();
        left.size = left_size;
        right.size = node.size - left_size;
        if (node.is_small) {
            left.rows = node.rows & bits_[0];
            right.rows = node.rows & ~bits_[0];
        } else {
            right.begin = node.begin + left_size;
        }
        push(right, right_counts_.data());
        push(left, left_counts_.data());
    }

    void mark_left(const Split& split) {
        const uint8_t* codes = column(split.feature) + node_->begin;
        const size_t n = node_->is_small ? 64 : node_->size;
        const uint8_t shift = split.missing_left ? 1 : 0;
        if (split.categorical) {
            for (size_t i = 0; i < n; i += 64) {
                uint64_t bits = 0;
                for (size_t j = 0; j < std::min<size_t>(64, n - i); ++j)
                    bits |= uint64_t{contains(split.left_categories, codes[i + j])} << j;
                bits_[i / 64] = bits;
            }
        } else if (node_->is_small) {
            bits_[0] = kernels_.mark_le_small(codes, shift, static_cast<uint8_t>(split.code + shift));
        } else {
            kernels_.mark_le(codes, n, shift, static_cast<uint8_t>(split.code + shift), bits_.data());
        }
    }

    void count_marked() {
        if (node_->is_small) {
            for (size_t c = 0; c < static_cast<size_t>(k_); ++c)
                left_counts_[c] = static_cast<uint32_t>(__builtin_popcountll(bits_[0] & node_->rows & class_rows_[c]));
            return;
        }
        uint32_t begin = 0;
        for (size_t c = 0; c < static_cast<size_t>(k_); ++c) {
            left_counts_[c] = count_bits(begin, ends_[c]);
            begin = ends_[c];
        }
    }

    uint32_t count_bits(uint32_t begin, uint32_t end) const {
        uint32_t count = 0;
        while (begin < end) {
            const uint32_t upto = std::min(end, (begin / 64 + 1) * 64), n = upto - begin;
            const uint64_t window = (n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1) << (begin % 64);
            count += static_cast<uint32_t>(__builtin_popcountll(bits_[begin / 64] & window));
            begin = upto;
        }
        return count;
    }

    double weight_of(const std::vector<uint32_t>& counts) const {
        double weight = 0;
        for (size_t c = 0; c < counts.size(); ++c) weight += data_.class_weight[c] * counts[c];
        return weight;
    }

    // Moves the threshold to the middle of its gap and sends absent missing values to the heavier child. Rows are parted already.
    void settle_threshold(Split& split, uint32_t left_size) {
        const uint32_t f = split.feature;
        uint8_t last_left, first_right, ignored;  // codes; with shift 1, missing is less than every value
        const uint8_t* codes = column(f) + node_->begin;
        if (node_->is_small) {
            small_range(codes, node_->rows & bits_[0], 1, ignored, last_left);
            small_range(codes, node_->rows & ~bits_[0], 0, first_right, ignored);
        } else {
            kernels_.range(codes, left_size, 1, &ignored, &last_left);
            kernels_.range(codes + left_size, node_->size - left_size, 0, &first_right, &ignored);
        }
        if (n_missing(f) == 0) split.missing_left = weight_of(left_counts_) > weight_of(right_counts_);
        if (params_.random_thresholds || split.code + 1 >= data_.n_bins[f]) return;
        split.code = first_right == kMissing ? static_cast<uint8_t>(data_.n_bins[f] - 1)
                                             : static_cast<uint8_t>((std::max<int>(last_left, 1) - 1 + first_right - 1) / 2);
    }

    void partition_columns(size_t candidates_begin) {
        const auto move = [&](uint32_t f) {
            kernels_.partition(column(f) + node_->begin, node_->size, bits_.data(), scratch_.data());
        };
        for (size_t i = candidates_begin; i < candidates_.size(); ++i) move(candidates_[i].feature);
    }

    static constexpr double kUnbounded = std::numeric_limits<double>::infinity();

    const TrainingData& data_;
    const ClassOrder& order_;
    const GrowParams& params_;
    const Kernels& kernels_;
    Prices prices_;
    const int k_;
    Gains<Impurity, K> gains_;
    CategoryCounts category_counts_;
    CategorySearch<Gains<Impurity, K>> category_search_;
    const bool samples_features_, uses_stale_bounds_;
    Bisections side_by_side_;
    const ValueFunction<Impurity> evaluate_, evaluate_two_;
    const bool leaves_out_absent_;  // classes that a node does not have; polynomials and categories know classes by number
    const bool bisects_at_once_;    // small nodes, by a kernel of their own

    uint64_t seed_ = 0, node_seed_ = 0;
    Tree tree_;
    size_t stride_ = 0;
    std::vector<uint8_t> columns_, scratch_;  // (n_features, stride), the sample's codes
    std::vector<uint64_t> bits_;              // which rows of the node go left
    ClassSample sample_;
    std::vector<Candidate> candidates_;       // lists of pending nodes, one behind the other
    std::vector<Candidate> children_candidates_;
    std::vector<Pending> pending_;
    std::vector<uint32_t> pending_counts_;
    const Pending* node_ = nullptr;
    std::vector<uint64_t> class_rows_;
    std::vector<uint32_t> ends_, counts_, left_counts_, right_counts_, features_;
    int n_present_ = 0;  // classes that the node has, and their rows, ends, counts and weights
    std::vector<uint64_t> present_rows_;
    std::vector<uint32_t> present_ends_;
    std::vector<double> present_raw_, present_weight_;
    std::vector<double> raw_;
    std::vector<uint32_t> probe_;
    bool left_fits_ = true, right_fits_ = true;
    uint8_t all_thresholds_[256];
    uint8_t drawn_[96];
};

}  // namespace frugal
