//! Numbers as people read them: short, with their unit, and never rounded to what they are not.

/// A number of things or a rate: three digits or so.
pub fn count(value: f64) -> String {
    for (unit, size) in [("G", 1e9), ("M", 1e6), ("k", 1e3)] {
        // From where the smaller unit would be rounded up to this one.
        if value >= 0.9995 * size {
            return format!("{}{unit}", three_digits(value / size));
        }
    }
    match value {
        0.0 => "0".to_owned(),
        value if value < 0.05 => "<0.1".to_owned(),
        value if value < 9.95 => format!("{value:.1}").replace(".0", ""),
        value => format!("{value:.0}"),
    }
}

/// A duration, in the unit that suits it.
pub fn seconds(value: f64) -> String {
    match value {
        value if value < 0.9995e-6 => format!("{:.0} ns", value * 1e9),
        value if value < 0.9995e-3 => format!("{} µs", three_digits(value * 1e6)),
        value if value < 0.9995 => format!("{} ms", three_digits(value * 1e3)),
        value => format!("{} s", three_digits(value)),
    }
}

/// A size.
pub fn bytes(value: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut size = value as f64;
    let mut unit = "B";
    for larger in units {
        if size < 1023.95 {
            break;
        }
        (size, unit) = (size / 1024.0, larger);
    }
    if size < 9.95 && unit != "B" {
        format!("{size:.1} {unit}").replace(".0 ", " ")
    } else {
        format!("{size:.0} {unit}")
    }
}

/// A share: `100 %` only where it is all of it, `0 %` only where it is nothing.
pub fn percent(ratio: f64) -> String {
    match 100.0 * ratio {
        0.0 => "0 %".to_owned(),
        percent if percent < 0.5 => "<1 %".to_owned(),
        percent if ratio < 1.0 => format!("{:.0} %", percent.min(99.0)),
        percent => format!("{percent:.0} %"),
    }
}

fn three_digits(value: f64) -> String {
    match value {
        value if value < 9.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (0.01, "<0.1"),
            (0.25, "0.2"),
            (7.0, "7"),
            (9.99, "10"),
            (999.0, "999"),
            (999.7, "1.0k"),
            (1_234.0, "1.2k"),
            (136_900.0, "137k"),
            (999_999.0, "1.0M"),
            (4.2e9, "4.2G"),
        ] {
            assert_eq!(count(value), text);
        }
    }

    #[test]
    fn durations_have_the_unit_that_suits_them() {
        for (value, text) in [
            (716e-9, "716 ns"),
            (0.999_9e-6, "1.0 µs"),
            (1.44e-6, "1.4 µs"),
            (250e-3, "250 ms"),
            (64.0, "64 s"),
        ] {
            assert_eq!(seconds(value), text);
        }
    }

    #[test]
    fn sizes_are_powers_of_two() {
        for (value, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (98_304, "96 KiB"),
            (1_572_864, "1.5 MiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(bytes(value), text);
        }
    }

    #[test]
    fn a_share_is_all_or_nothing_only_where_it_is() {
        for (ratio, text) in [
            (0.0, "0 %"),
            (0.0001, "<1 %"),
            (0.999, "99 %"),
            (1.0, "100 %"),
            (2.5, "250 %"),
        ] {
            assert_eq!(percent(ratio), text);
        }
    }
}
