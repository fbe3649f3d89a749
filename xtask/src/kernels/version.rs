//! Debian's order of versions, as dpkg defines it (deb-version(7), "Sorting algorithm").

use std::cmp::Ordering;

/// Compares two upstream versions: runs of non-digits by dpkg's alphabet, runs of digits by value.
pub fn compare(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left.as_bytes(), right.as_bytes());
    while !left.is_empty() || !right.is_empty() {
        let words = compare_words(take(&mut left, is_word), take(&mut right, is_word));
        let order = words
            .then_with(|| compare_numbers(take(&mut left, is_digit), take(&mut right, is_digit)));
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}

fn is_word(byte: u8) -> bool {
    !is_digit(byte)
}

/// Splits off the longest head whose bytes all satisfy `belongs`.
fn take<'a>(text: &mut &'a [u8], belongs: fn(u8) -> bool) -> &'a [u8] {
    let length = text
        .iter()
        .position(|byte| !belongs(*byte))
        .unwrap_or(text.len());
    let (head, tail) = text.split_at(length);
    *text = tail;
    head
}

/// `~` comes before the end, the end before letters, letters before everything else.
fn rank(byte: Option<&u8>) -> i32 {
    match byte {
        Some(b'~') => -1,
        None => 0,
        Some(byte) if byte.is_ascii_alphabetic() => i32::from(*byte),
        Some(byte) => i32::from(*byte) + 256,
    }
}

fn compare_words(left: &[u8], right: &[u8]) -> Ordering {
    (0..left.len().max(right.len()))
        .map(|at| rank(left.get(at)).cmp(&rank(right.get(at))))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// By value, whatever the length: without leading zeros the longer number is the larger one.
fn compare_numbers(left: &[u8], right: &[u8]) -> Ordering {
    let strip = |digits: &[u8]| -> Vec<u8> {
        digits
            .iter()
            .copied()
            .skip_while(|digit| *digit == b'0')
            .collect()
    };
    let (left, right) = (strip(left), strip(right));
    left.len().cmp(&right.len()).then_with(|| left.cmp(&right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_as_dpkg_does() {
        for (older, newer) in [
            ("6.12.95+deb12", "6.12.117+deb12"),
            ("6.12.90+deb12", "6.12.90+deb12.1"),
            ("6.12.90+deb12.1", "6.12.91+deb12"),
            ("5.10.0-9", "5.10.0-46"),
            ("6.1.0-0.deb11.57", "6.1.0-57"),
            ("7.3~rc4", "7.3"),
            ("7.3.4~bpo13", "7.3.4"),
            ("7.3.4", "7.3.4+deb13"),
            ("7.3.4", "7.3.04.1"),
        ] {
            assert_eq!(compare(older, newer), Ordering::Less, "{older} < {newer}");
            assert_eq!(
                compare(newer, older),
                Ordering::Greater,
                "{newer} > {older}"
            );
        }
        assert_eq!(compare("6.1.007", "6.1.7"), Ordering::Equal);
    }
}
