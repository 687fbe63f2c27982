//! `cargo xtask calibrate FILE.jsonl`: replays a stream of outcomes and prints how good agar's
//! confidence was beside simple answers. With `--synthetic WORLD SEED LINES` it writes a made-up
//! stream instead, with `--made-up WORLD SEED LINES` it replays one.
#![expect(
    clippy::print_stdout,
    reason = "the report is what this program is for"
)]

use agar_memory::replay::{World, replay, replay_made, synthetic, synthetic_text};
use std::error::Error;
use std::io::BufReader;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--synthetic", world, seed, lines] => {
            print!(
                "{}",
                synthetic_text(named(world)?, seed.parse()?, lines.parse()?)
            );
            Ok(())
        }
        ["--made-up", world, seed, lines] => {
            let directory = tempfile::tempdir()?;
            let made = synthetic(named(world)?, seed.parse()?, lines.parse()?);
            let (report, held) = replay_made(&[made], directory.path())?;
            print!("{report}");
            println!(
                "interval (90 %) holds the chance of {:.0} % of the lines",
                held * 100.0
            );
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
        _ => Err("usage: calibrate FILE.jsonl | --synthetic WORLD SEED LINES | --made-up WORLD SEED LINES".into()),
    }
}

fn named(name: &str) -> Result<World, Box<dyn Error>> {
    let world = World::ALL.into_iter().find(|it| it.word() == name);
    world.ok_or_else(|| {
        let words: Vec<&str> = World::ALL.iter().map(|it| it.word()).collect();
        format!("there is no world {name}: {}", words.join(", ")).into()
    })
}
