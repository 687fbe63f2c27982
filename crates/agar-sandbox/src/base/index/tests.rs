//! What a refreshed index keeps, and what it must never claim.

use super::*;
use proptest::prelude::*;

/// An index of version 2 with the given paths, every file alike.
fn index(paths: &[&str]) -> Vec<u8> {
    let mut bytes = b"DIRC\0\0\0\x02".to_vec();
    bytes.extend_from_slice(&u32::try_from(paths.len()).unwrap().to_be_bytes());
    for path in paths {
        let start = bytes.len();
        for number in [10_u32, 11, 20, 21, 1, 42, 0o100_644, 0, 0, 5] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes.extend_from_slice(&[7; 20]);
        bytes.extend_from_slice(&u16::try_from(path.len()).unwrap().to_be_bytes());
        bytes.extend_from_slice(path.as_bytes());
        let length = (bytes.len() - start + 8) & !7;
        bytes.resize(start + length, 0);
    }
    let sum = sha1_smol::Sha1::from(&bytes).digest().bytes();
    bytes.extend_from_slice(&sum);
    bytes
}

const MOVED: Moved = Moved {
    ino: 42,
    ctime_ns: 10_000_000_011,
    mtime_ns: 20_000_000_021,
    size: 5,
    new_ino: 77,
    new_ctime_ns: 30_000_000_031,
};

#[test]
fn an_entry_that_agrees_gets_the_copys_numbers() {
    let before = index(&["a", "b/c"]);
    let after = refresh(&before, ObjectFormat::Sha1, &mut |path| {
        (path == b"b/c").then_some(MOVED)
    })
    .unwrap();
    assert_eq!(after.len(), before.len());
    let body = after.len() - 20;
    assert_eq!(
        &after[12..76],
        &before[12..76],
        "the other entry is untouched"
    );
    let entry = &after[76..];
    assert_eq!(entry[..8], [0, 0, 0, 30, 0, 0, 0, 31]);
    assert_eq!(entry[20..24], [0, 0, 0, 77]);
    assert_eq!(
        after[body..],
        sha1_smol::Sha1::from(&after[..body]).digest().bytes()
    );
}

#[test]
fn an_entry_that_git_would_call_modified_stays_modified() {
    let before = index(&["a"]);
    for other in [
        Moved { size: 6, ..MOVED },
        Moved {
            mtime_ns: 20_000_000_022,
            ..MOVED
        },
        Moved {
            ctime_ns: 11_000_000_011,
            ..MOVED
        },
        Moved { ino: 43, ..MOVED },
    ] {
        assert_eq!(
            refresh(&before, ObjectFormat::Sha1, &mut |_| Some(other)).unwrap(),
            before
        );
    }
}

#[test]
fn the_number_of_entries_is_in_the_header() {
    assert_eq!(entry_count(&index(&["a", "b", "c"])[..12]), Some(3));
    assert_eq!(entry_count(b"DIRC"), None);
}

#[test]
fn an_index_that_ends_early_is_refused() {
    let whole = index(&["a", "b/c"]);
    for length in 0..whole.len() - 20 {
        assert_eq!(
            refresh(&whole[..length], ObjectFormat::Sha1, &mut |_| Some(MOVED)),
            None
        );
    }
}

#[test]
fn the_object_format_is_read_from_the_configuration() {
    let config = b"[core]\n\tbare = false\n[extensions]\n\tobjectFormat = sha256\n";
    assert_eq!(ObjectFormat::of_config(config), ObjectFormat::Sha256);
    assert_eq!(ObjectFormat::of_config(b"[core]\n"), ObjectFormat::Sha1);
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(version in 0_u32..6, count in 0_u32..5, rest: Vec<u8>) {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend_from_slice(&version.to_be_bytes());
        bytes.extend_from_slice(&count.to_be_bytes());
        bytes.extend_from_slice(&rest);
        drop(refresh(&bytes, ObjectFormat::Sha1, &mut |_| Some(MOVED)));
        drop(refresh(&bytes, ObjectFormat::Sha256, &mut |_| Some(MOVED)));
    }
}
