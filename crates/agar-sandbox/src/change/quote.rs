//! Odd names, quoted as git quotes them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

/// The name as git writes it: as it is when every byte is plain, else between double quotes with
/// C escapes and octal for the rest (`core.quotePath`).
pub fn quote(name: &OsStr) -> Vec<u8> {
    quote_bytes(name.as_bytes())
}

pub(super) fn quote_bytes(name: &[u8]) -> Vec<u8> {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if name.iter().all(plain) {
        return name.to_vec();
    }
    let mut quoted = vec![b'"'];
    for byte in name {
        let letter = match byte {
            0x07 => b'a',
            0x08 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            0x0b => b'v',
            0x0c => b'f',
            b'\r' => b'r',
            b'"' | b'\\' => *byte,
            byte if plain(byte) => {
                quoted.push(*byte);
                continue;
            }
            byte => {
                quoted.extend(format!("\\{byte:03o}").into_bytes());
                continue;
            }
        };
        quoted.extend([b'\\', letter]);
    }
    quoted.push(b'"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_stay_and_odd_ones_are_escaped_as_git_does() {
        assert_eq!(quote_bytes(b"src/a b.rs"), b"src/a b.rs");
        assert_eq!(quote_bytes(b"a\nb\"\\"), b"\"a\\nb\\\"\\\\\"");
        assert_eq!(quote_bytes("ö\u{1b}".as_bytes()), b"\"\\303\\266\\033\"");
    }
}
