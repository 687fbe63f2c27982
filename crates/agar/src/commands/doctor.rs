//! `agar doctor`: what this machine can do, found out by trying.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::block::{self, Block};
use crate::ui::palette::{Palette, Tone};
use crate::ui::table::{Cell, Table};
use agar_core::fault::Kind;
use agar_core::text::printable;
use agar_core::walls::Tier;
use agar_engine::doctor::{DoctorAnswer, DoctorRequest, Finding, Health, doctor};

/// Try every mechanism agar needs, and say how to mend what is missing
///
/// Nothing is guessed: each wall is raised for real. Ends with the strongest tier that works here
/// and how long a sandbox takes to be ready. Exit status 6 if the full tier does not work.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar doctor
  agar doctor --json | jq '.findings[] | select(.health != \"ok\")'")]
pub struct DoctorArgs {
    /// How many sandboxes to time
    #[arg(long, value_name = "COUNT")]
    pub tries: Option<u32>,
}

/// Tries.
pub fn run(args: &DoctorArgs, context: &Context) -> Result<u8, Failure> {
    let request = DoctorRequest { tries: args.tries };
    let answer = doctor(&context.engine()?, &request)?;
    context.ui.answer(&answer, words)?;
    Ok(if answer.tier == Some(Tier::Full) {
        DONE
    } else {
        Kind::Unsupported.exit_code()
    })
}

fn words(answer: &DoctorAnswer, palette: Palette) -> String {
    let mut table = Table::default();
    for finding in &answer.findings {
        table.row(vec![
            printable(&finding.name).into_owned().into(),
            printable(&finding.detail).into_owned().into(),
            health(finding.health),
        ]);
    }
    let mut text = table.render(palette);
    text.push_str(&summary(answer));
    let fixes = fixes(&answer.findings);
    if !fixes.is_empty() {
        text.push('\n');
        text.push_str(&fixes.render(palette));
    }
    text
}

fn health(health: Health) -> Cell {
    match health {
        Health::Ok => Cell::toned(Tone::Good, "ok"),
        Health::Note => Cell::toned(Tone::Name, "note"),
        Health::Weaker => Cell::toned(Tone::Warn, "weaker"),
        Health::Missing => Cell::toned(Tone::Bad, "missing"),
    }
}

fn summary(answer: &DoctorAnswer) -> String {
    let Some(tier) = answer.tier else {
        return "no tier works here\n".to_owned();
    };
    match answer.ready_us {
        Some(micros) => format!(
            "tier {tier} · sandbox ready in {}.{} ms ({} tries)\n",
            micros / 1000,
            micros % 1000 / 100,
            answer.tries
        ),
        None => format!("tier {tier}\n"),
    }
}

fn fixes(findings: &[Finding]) -> Block {
    let mut block = Block::new();
    for finding in findings {
        let mut lines = finding.fix.iter().flat_map(|fix| fix.lines());
        if let Some(first) = lines.next() {
            let name = printable(&finding.name);
            block.push(block::FIX, format!("{name}: {}", printable(first)));
        }
        for line in lines {
            block.push_more(printable(line));
        }
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::examples;

    #[test]
    fn findings_come_first_then_the_tier_then_the_fixes() {
        insta::assert_snapshot!(words(&examples::doctor(), Palette::Plain), @r"
        namespaces  user mount pid net ipc uts cgroup  ok
        reflink     not on ext4; first freeze copies   note
        tmux        not installed                      weaker
        tier full · sandbox ready in 2.1 ms (5 tries)

        fix   tmux: sudo apt-get install tmux
        ");
    }
}
