//! Durations, counts and paths, said the way a person would.

use agar_core::text;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A duration of microseconds, for a reader: `840 µs`, `4.2 ms`.
pub fn micros(micros: u64) -> String {
    match micros {
        0..1000 => format!("{micros} µs"),
        1000..10_000 => format!("{}.{} ms", micros / 1000, micros % 1000 / 100),
        _ => duration(micros / 1000),
    }
}

/// How long something took: `340 ms`, `14.2 s`, `3 m 5 s`, `2 h 4 m`.
pub fn duration(millis: u64) -> String {
    let seconds = millis / 1000;
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{}.{} s", seconds, millis % 1000 / 100),
        60_000..3_600_000 => two(seconds / 60, "m", seconds % 60, "s"),
        3_600_000.. => two(seconds / 3600, "h", seconds % 3600 / 60, "m"),
    }
}

fn two(large: u64, unit: &str, small: u64, part: &str) -> String {
    if small == 0 {
        return format!("{large} {unit}");
    }
    format!("{large} {unit} {small} {part}")
}

/// How long ago something was, to one unit: `9 s`, `2 m`, `3 h`, `12 d`.
pub fn age(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} m", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3600),
        86_400.. => format!("{} d", seconds / 86_400),
    }
}

/// A number with its noun: `1 file`, `3 files`.
pub fn count(number: impl TryInto<u64>, one: &str, many: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    if number == 1 {
        format!("1 {one}")
    } else {
        format!("{number} {many}")
    }
}

/// One line each.
pub fn lines<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    for item in items {
        text.push_str(item.as_ref());
        text.push('\n');
    }
    text
}

/// A path from inside a sandbox, safe to print.
pub fn path(path: &Path) -> String {
    text::printable_bytes(path.as_os_str().as_bytes())
}

/// A path on this machine, with the home directory written as `~`.
pub fn place(place: &Path, home: &Path) -> String {
    match place.strip_prefix(home) {
        Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Ok(rest) => format!("~/{}", path(rest)),
        Err(_) => path(place),
    }
}

/// A duration as people type it: `90`, `90s`, `5m`, `2h`, `1500ms`.
pub fn parse_duration(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a duration; write for example 90s, 5m or 2h");
    let split = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale: u64 = match unit.trim() {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(scale).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short_and_have_a_unit() {
        let said: Vec<String> = [0, 999, 1_000, 14_250, 185_000, 300_000, 7_440_000]
            .into_iter()
            .map(duration)
            .collect();
        assert_eq!(
            said,
            [
                "0 ms", "999 ms", "1.0 s", "14.2 s", "3 m 5 s", "5 m", "2 h 4 m"
            ]
        );
    }

    #[test]
    fn an_age_is_one_number() {
        let said: Vec<String> = [0, 9_400, 150_000, 11_000_000, 1_100_000_000]
            .into_iter()
            .map(age)
            .collect();
        assert_eq!(said, ["0 s", "9 s", "2 m", "3 h", "12 d"]);
    }

    #[test]
    fn a_duration_is_read_as_people_type_it() {
        for (text, millis) in [
            ("90", 90_000),
            ("90s", 90_000),
            ("5m", 300_000),
            ("15ms", 15),
        ] {
            assert_eq!(parse_duration(text), Ok(millis), "{text}");
        }
        for text in ["", "m", "-1s", "5 parsecs", "99999999999999999999d"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_place_at_home_is_short_and_escapes_are_shown() {
        let home = Path::new("/home/ana");
        assert_eq!(place(Path::new("/home/ana/src/shop"), home), "~/src/shop");
        assert_eq!(place(Path::new("/home/ana"), home), "~");
        assert_eq!(place(Path::new("/srv/\x1b[2J"), home), "/srv/\\e[2J");
    }
}
