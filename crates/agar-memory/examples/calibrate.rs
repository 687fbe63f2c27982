//! `cargo xtask calibrate FILE.jsonl`: replays a stream of outcomes and prints how good agar's
//! confidence was beside simple answers. With `--synthetic SEED LINES` it writes the made-up stream
//! instead.
#![expect(
    clippy::print_stdout,
    reason = "the report is what this program is for"
)]

use agar_memory::replay::{replay, synthetic};
use std::error::Error;
use std::io::BufReader;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--synthetic", seed, lines] => {
            print!("{}", synthetic(seed.parse()?, lines.parse()?));
            Ok(())
        }
        [file] => {
            let directory = tempfile::tempdir()?;
            let mut lines = BufReader::new(fs_err::File::open(file)?);
            let (report, skipped) = replay(&mut lines, directory.path(), &mut |_, _| {})?;
            print!("{report}");
            if skipped.unreadable + skipped.without_outcome > 0 {
                println!(
                    "left out: {} lines that cannot be read, {} without an outcome",
                    skipped.unreadable, skipped.without_outcome
                );
            }
            Ok(())
        }
        _ => Err("usage: calibrate FILE.jsonl | --synthetic SEED LINES".into()),
    }
}
