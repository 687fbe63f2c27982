//! Between probabilities and log odds.

/// Never nearer to certainty than this.
pub(crate) const EDGE: f64 = 0.002;

/// The probability, kept away from certainty.
pub(crate) fn bounded(p: f64) -> f64 {
    if p.is_finite() {
        p.clamp(EDGE, 1.0 - EDGE)
    } else {
        0.5
    }
}

/// The log odds of a probability.
pub(crate) fn logit(p: f64) -> f64 {
    let p = bounded(p);
    (p / (1.0 - p)).ln()
}

/// The probability of log odds.
pub(crate) fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
