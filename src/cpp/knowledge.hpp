// What is known of one row's features, and where that sends it in a tree.
#pragma once

#include "reachable.hpp"

namespace frugal {

class Knowledge {
  public:
    explicit Knowledge(const Reachable& trees) : trees_(&trees), values_(trees.n_features + 1), is_plain_(!trees.has_categories()) {}

    bool knows(int32_t f) const { return of(f).how != How::no; }
    bool knows_code(int32_t f) const { return of(f).how == How::really; }
    uint64_t bits() const { return bits_; }  // of known features, as in Reachable::Node::below

    void learn(int32_t f, ValueCode code) {
        know(f, code, How::really);
    }

    // A value is made up: at each of its nodes it goes left if `rank` is within the left child's share of the training rows.
    // One rank for all nodes keeps them nearly consistent.
    void imagine(int32_t f, float rank) {
        rank_.resize(trees_->n_features);
        rank_[static_cast<size_t>(f)] = rank;
        know(f, 0, How::imagined);
    }

    // The code is between two others, both included.
    void narrow(int32_t f, ValueCode first, ValueCode last) {
        last_code_.resize(trees_->n_features);
        last_code_[static_cast<size_t>(f)] = last;
        know(f, first, How::between);
    }
    ValueCode first_code(int32_t f) const { return knows(f) ? of(f).code : 0; }
    ValueCode last_code(int32_t f) const { return knows(f) ? last_code_[static_cast<size_t>(f)] : kMissingValue - 1; }

    // The child the row goes to, or -1 at a leaf and where what is known does not tell.
    int32_t child(int32_t i) const {
        const Reachable::Node& node = trees_->node(i);
        const Value value = of(node.feature);
        if (value.how == How::no) return -1;
        const auto f = static_cast<size_t>(node.feature);
        bool left = false;
        if (value.how == How::really) {
            left = trees_->goes_left(node, value.code);
        } else if (value.how == How::imagined) {
            left = rank_[f] <= node.left_share;
        } else {
            left = node.limit >= last_code_[f];
            if (!left && node.limit >= value.code) return -1;
        }
        return left ? i + 1 : node.right;
    }

    // Every value is known by its code or not at all, and no feature has categories: `step` may be asked.
    bool is_plain() const { return is_plain_; }

    // Moves to the child the row goes to, if what is known tells -> whether it does
    bool step_anyhow(int32_t& i) const {
        const int32_t following = child(i);
        if (following >= 0) i = following;
        return following >= 0;
    }
    // The same where all is plain, without a branch, which could only be guessed.
    bool step(int32_t& i) const {
        const Reachable::Node& node = trees_->node(i);
        const Value value = of(node.feature);
        const bool left = (value.code <= node.limit) | ((value.code == kMissingValue) & node.missing_left);
        const bool is_known = value.how != How::no;
        const int32_t to_left = i + 1, child = node.right ^ ((node.right ^ to_left) & -static_cast<int32_t>(left));
        i ^= (i ^ child) & -static_cast<int32_t>(is_known);
        return is_known;
    }

  private:
    enum class How : uint8_t { no, really, imagined, between };
    struct Value {
        ValueCode code = 0;
        How how = How::no;
    };

    const Value& of(int32_t f) const { return values_[static_cast<size_t>(f + 1)]; }
    void know(int32_t f, ValueCode code, How how) {
        is_plain_ &= how == How::really;
        values_[static_cast<size_t>(f + 1)] = {code, how};
        bits_ |= Reachable::bit(f);
    }

    const Reachable* trees_;
    std::vector<Value> values_;         // (1 + n_features): the first one stands for leaves, and is never known
    std::vector<float> rank_;           // (n_features), of imagined values
    std::vector<ValueCode> last_code_;  // (n_features), of values between a code and this
    uint64_t bits_ = 0;
    bool is_plain_;
};

}  // namespace frugal
