//! A game: setting a craft down on the moon with little fuel. Candidates are bots that play it.
//!
//! The host plays by the rules and asks the bot for one move at a time; the bot sees what a pilot
//! sees and answers how much thrust to give. Each game is played by a fresh cell, so a bot may
//! remember what it did in this game and nothing of the last. Only sums and products are computed,
//! so that a game ends alike on every machine.

use super::{Bench, Evaluation, Task, Trace};
use crate::breed::Soil;
use crate::chance::{Chance, number};
use crate::code::Code;
use crate::fitness::{Fitness, Invalid, Verdict, finite};
use crate::genome::Genome;
use std::collections::BTreeMap;

/// Half a second a move, for five minutes at most.
const MOMENT: f64 = 0.5;
const MOVES_MAX: usize = 600;
/// What the moon pulls and what a full thrust pushes, in metres by second by second.
const PULL: f64 = 1.62;
const PUSH: f64 = 4.0;
/// Seconds of full thrust in the tank, and the fastest touch-down that is no crash.
const TANK: f64 = 60.0;
const SOFT: f64 = 2.0;
/// Games that nobody is bred on.
const HELD_OUT: usize = 20;

/// How a game begins: height and speed, which is positive downwards.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Start {
    height: f64,
    speed: f64,
}

/// Landings on the moon. Candidates define or export `evaluate`, which is told
/// `{"height":…,"speed":…,"fuel":…}` and answers a thrust from 0 to 1.
#[derive(Debug, Clone)]
pub struct Lander {
    games: Vec<Start>,
    held_out: Vec<Start>,
    /// The score from which on it counts as solved.
    goal: f64,
    bots: Vec<Code>,
}

/// How a game ended.
struct Ended {
    landed: bool,
    speed: f64,
    burned: f64,
}

impl Ended {
    /// From 0 for a landing that burned nothing to 1; more than 1 for a crash, the more the harder.
    fn loss(&self) -> f64 {
        if self.landed {
            self.burned / TANK
        } else {
            1.0 + (self.speed / 100.0).min(1.0)
        }
    }
}

impl Lander {
    /// So many games that a seed draws, solved from this score on, beginning with these bots.
    pub fn new(games: usize, goal: f64, seed: u64, bots: Vec<Code>) -> Self {
        let draw = |sort: u64, count: usize| {
            let mut chance = Chance::of(&[seed, 0x6c61_6e64, sort]);
            let start = |_| Start {
                height: chance.between(200.0, 1_000.0),
                speed: chance.between(0.0, 30.0),
            };
            (0..count).map(start).collect()
        };
        Self {
            games: draw(0, games),
            held_out: draw(1, HELD_OUT),
            goal,
            bots,
        }
    }

    fn judge(&self, genome: &Genome, bench: &Bench, trace: &mut Trace) -> Verdict {
        let ended = play_all(&self.games, genome, bench, trace)?;
        let cases: Vec<f64> = ended.iter().map(Ended::loss).collect();
        let score = 1.0 - cases.iter().sum::<f64>() / number(cases.len()).max(1.0);
        let landed = ended.iter().filter(|it| it.landed).count();
        let burned: f64 = ended.iter().map(|it| it.burned).sum();
        finite(Fitness {
            score,
            components: BTreeMap::from([
                ("landed".to_owned(), number(landed)),
                ("burned".to_owned(), burned),
            ]),
            solved: landed == ended.len() && score >= self.goal,
            cases,
        })
    }
}

fn play_all(
    games: &[Start],
    genome: &Genome,
    bench: &Bench,
    trace: &mut Trace,
) -> Result<Vec<Ended>, Invalid> {
    let mut ended = Vec::with_capacity(games.len());
    for (case, start) in games.iter().enumerate() {
        ended.push(play(case, *start, (genome, bench), trace)?);
    }
    Ok(ended)
}

/// One game, by a cell of its own.
fn play(
    case: usize,
    start: Start,
    (genome, bench): (&Genome, &Bench),
    trace: &mut Trace,
) -> Result<Ended, Invalid> {
    let mut cell = bench.cell(genome)?;
    let Start {
        mut height,
        mut speed,
    } = start;
    let mut fuel = TANK;
    for _ in 0..MOVES_MAX {
        let seen = format!("{{\"height\":{height},\"speed\":{speed},\"fuel\":{fuel}}}");
        let said = cell.evaluate(seen.as_bytes());
        trace.note(cell.metrics().last_instructions, cell.artifacts())?;
        let thrust = thrust(case, &said?)?.min(fuel / MOMENT);
        fuel = (fuel - thrust * MOMENT).max(0.0);
        speed += (PULL - thrust * PUSH) * MOMENT;
        height -= speed * MOMENT;
        if height <= 0.0 {
            return Ok(Ended {
                landed: speed <= SOFT,
                speed,
                burned: TANK - fuel,
            });
        }
    }
    // Whoever hovers, or leaves for good, has not landed.
    Ok(Ended {
        landed: false,
        speed: speed.abs(),
        burned: TANK - fuel,
    })
}

/// A thrust from 0 to 1; anything else is against the rules of the game.
fn thrust(case: usize, said: &[u8]) -> Result<f64, Invalid> {
    let text = std::str::from_utf8(said).unwrap_or_default();
    match text.trim().parse::<f64>() {
        Ok(thrust) if !thrust.is_finite() => Err(Invalid::NotFinite { case }),
        Ok(thrust) if (0.0..=1.0).contains(&thrust) => Ok(thrust),
        Ok(_) | Err(_) => Err(Invalid::WrongAnswer {
            case,
            words: "a move is a thrust from 0 to 1".to_owned(),
        }),
    }
}

impl Task for Lander {
    fn name(&self) -> &'static str {
        "lander"
    }

    fn first(&self, soil: &Soil, place: usize, chance: &mut Chance) -> Code {
        match self.bots.get(place % self.bots.len().max(1)) {
            // One of each as it is; then children of theirs, so that the first generation differs.
            Some(code) if place < self.bots.len() => code.clone(),
            Some(Code::Script(source)) => Code::Script(crate::breed::mutate_script(source, chance)),
            Some(code) => code.clone(),
            None => Code::Tree(crate::breed::ramped(soil, place, chance)),
        }
    }

    fn evaluate(&self, code: &Code, bench: &Bench) -> Evaluation {
        let mut trace = Trace::default();
        let genome = bench.genome(code);
        let verdict = genome.and_then(|genome| self.judge(&genome, bench, &mut trace));
        trace.ending(verdict)
    }

    fn examine(&self, code: &Code, bench: &Bench) -> BTreeMap<String, f64> {
        let mut trace = Trace::default();
        let played = bench
            .genome(code)
            .and_then(|genome| play_all(&self.held_out, &genome, bench, &mut trace));
        let Ok(ended) = played else {
            return BTreeMap::new();
        };
        let landed = ended.iter().filter(|it| it.landed).count();
        let burned: f64 = ended.iter().map(|it| it.burned).sum();
        BTreeMap::from([
            ("held-out landings of 20".to_owned(), number(landed)),
            ("held-out fuel a game".to_owned(), burned / number(HELD_OUT)),
        ])
    }
}
