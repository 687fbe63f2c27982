//! The Beta distribution: how far a share can be from what was counted.

/// The logarithm of the gamma function (Lanczos, good to 1e-10).
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 6] = [
        76.180_091_729_471_46,
        -86.505_320_329_416_77,
        24.014_098_240_830_91,
        -1.231_739_572_450_155,
        0.001_208_650_973_866_179,
        -0.000_005_395_239_384_953,
    ];
    let mut denominator = x;
    let base = x + 5.5;
    let mut series = 1.000_000_000_190_015;
    for term in TERMS {
        denominator += 1.0;
        series += term / denominator;
    }
    (x + 0.5) * base.ln() - base + (2.506_628_274_631_000_5 * series / x).ln()
}

/// The continued fraction of the incomplete beta function (Lentz).
#[expect(clippy::many_single_char_names, reason = "the names of the books")]
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let guard = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / guard(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for step in 1..200_u32 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / guard(1.0 + even * d);
        c = guard(1.0 + even / c);
        value *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / guard(1.0 + odd * d);
        c = guard(1.0 + odd / c);
        let change = d * c;
        value *= change;
        if (change - 1.0).abs() < 1e-12 {
            break;
        }
    }
    value
}

/// The probability that a Beta(a, b) value lies below `x`.
pub(crate) fn below(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front =
        (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

/// The value below which this share of a Beta(a, b) lies.
pub(crate) fn quantile(a: f64, b: f64, share: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if below(a, b, middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The lower end of what a share can be after so many successes and failures, one-sided at 95 %,
/// starting from Jeffreys' prior.
pub(crate) fn lower_bound(worked: f64, failed: f64) -> f64 {
    quantile(worked + 0.5, failed + 0.5, 0.05)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values_are_met() {
        assert!((below(1.0, 1.0, 0.3) - 0.3).abs() < 1e-9);
        // I_0.5(2, 3) = 0.6875
        assert!((below(2.0, 3.0, 0.5) - 0.6875).abs() < 1e-9);
        assert!((quantile(2.0, 3.0, 0.6875) - 0.5).abs() < 1e-9);
        assert!((quantile(1.0, 1.0, 0.05) - 0.05).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn the_quantile_undoes_the_distribution(a in 0.5_f64..200.0, b in 0.5_f64..200.0, share in 0.01_f64..0.99) {
            let x = quantile(a, b, share);
            prop_assert!((below(a, b, x) - share).abs() < 1e-6);
        }

        #[test]
        fn more_successes_raise_the_lower_bound(worked in 0.0_f64..100.0, failed in 0.0_f64..100.0) {
            prop_assert!(lower_bound(worked + 1.0, failed) >= lower_bound(worked, failed));
        }
    }
}
