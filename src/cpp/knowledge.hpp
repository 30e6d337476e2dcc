// What is known of one row's features, and where that sends it in a tree.
#pragma once

#include "reachable.hpp"

namespace frugal {

class Knowledge {
  public:
    explicit Knowledge(const Reachable& trees) : trees_(&trees), how_(trees.n_features + 1, How::no), code_(trees.n_features, 0) {}

    bool knows(int32_t f) const { return how_[static_cast<size_t>(f + 1)] != How::no; }
    bool knows_code(int32_t f) const { return how_[static_cast<size_t>(f + 1)] == How::really; }
    uint64_t bits() const { return bits_; }  // of known features, as in Reachable::Node::below

    void learn(int32_t f, ValueCode code) {
        code_[static_cast<size_t>(f)] = code;
        know(f, How::really);
    }

    // A value is made up: at each of its nodes it goes left if `rank` is within the left child's share of the training rows.
    // One rank for all nodes keeps them nearly consistent.
    void imagine(int32_t f, float rank) {
        rank_.resize(trees_->n_features);
        rank_[static_cast<size_t>(f)] = rank;
        know(f, How::imagined);
    }

    // The code is between two others, both included.
    void narrow(int32_t f, ValueCode first, ValueCode last) {
        last_code_.resize(trees_->n_features);
        code_[static_cast<size_t>(f)] = first;
        last_code_[static_cast<size_t>(f)] = last;
        know(f, How::between);
    }
    ValueCode first_code(int32_t f) const { return knows(f) ? code_[static_cast<size_t>(f)] : 0; }
    ValueCode last_code(int32_t f) const { return knows(f) ? last_code_[static_cast<size_t>(f)] : kMissingValue - 1; }

    // The child the row goes to, or -1 at a leaf and where what is known does not tell.
    int32_t child(int32_t i) const {
        const Reachable::Node& node = trees_->node(i);
        const How how = how_[static_cast<size_t>(node.feature + 1)];
        if (how == How::no) return -1;
        const auto f = static_cast<size_t>(node.feature);
        bool left = false;
        if (how == How::really) {
            left = trees_->goes_left(node, code_[f]);
        } else if (how == How::imagined) {
            left = rank_[f] <= node.left_share;
        } else {
            left = node.limit >= last_code_[f];
            if (!left && node.limit >= code_[f]) return -1;
        }
        return left ? i + 1 : node.right;
    }

  private:
    enum class How : uint8_t { no, really, imagined, between };

    void know(int32_t f, How how) {
        how_[static_cast<size_t>(f + 1)] = how;
        bits_ |= Reachable::bit(f);
    }

    const Reachable* trees_;
    std::vector<How> how_;              // (1 + n_features): the first one stands for leaves, and is never known
    std::vector<ValueCode> code_;       // (n_features)
    std::vector<float> rank_;           // (n_features), of imagined values
    std::vector<ValueCode> last_code_;  // (n_features), of values between code_ and this
    uint64_t bits_ = 0;
};

}  // namespace frugal
