//! Listings as the kernel gives them, and as it should not.

use super::*;

/// A record of map `id`, counted or not.
fn record(id: u32, entries: Option<i64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [id, 1, 1000, 0] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes.extend(*b"flows\0\0\0\0\0\0\0\0\0\0\0");
    for word in [4, 8, 3, u32::from(entries.is_some())] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes.extend(entries.unwrap_or(0).to_ne_bytes());
    bytes
}

/// Gives what it has in small portions, and is interrupted in between.
struct Portions(Vec<u8>, bool);

impl Read for Portions {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let portion = self.0.len().min(7).min(buffer.len());
        buffer[..portion].copy_from_slice(&self.0[..portion]);
        self.0.drain(..portion);
        Ok(portion)
    }
}

#[test]
fn records_are_read_whole_in_any_portions_and_a_torn_one_is_left_out() {
    let mut bytes = record(7, Some(12));
    for id in 8..300 {
        bytes.extend(record(id, None));
    }
    bytes.extend(&record(300, None)[..9]);
    let maps = collect(Portions(bytes, false)).unwrap();
    assert_eq!(maps.len(), 293);
    let map = maps[&7];
    assert_eq!((map.map_type, map.max_entries, map.flags), (1, 1000, 0));
    assert_eq!((map.key_size, map.value_size, map.pages), (4, 8, 3));
    assert_eq!(&map.name[..6], b"flows\0");
    assert_eq!((map.entries, maps[&8].entries), (Some(12), None));
}

#[test]
fn o19_a_list_that_goes_back_ends_the_pass() {
    let repeated = std::iter::repeat_with(|| record(7, None));
    let endless: Vec<u8> = repeated.take(1000).flatten().collect();
    let mut endless = io::Cursor::new(endless);
    let error = collect(&mut endless).unwrap_err();
    assert_eq!(error.to_string(), "the kernel lists map 7 after map 7");
    assert!(endless.position() < 500 * RECORD as u64, "it read on");
}

#[test]
fn a_sum_that_was_torn_below_zero_is_zero() {
    let maps = collect(&record(7, Some(-3))[..]).unwrap();
    assert_eq!(maps[&7].entries, Some(0));
}
