//! `agar config`: the settings in force.

use super::approve::{self, ApproveArgs};
use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::block::{self, Block};
use crate::ui::palette::{Palette, Tone};
use crate::ui::table::{Cell, Table};
use agar_core::text::printable;
use agar_engine::config::{ConfigAnswer, ConfigRequest, config};

/// Show the settings in force
#[derive(Debug, Clone, clap::Args)]
pub struct ConfigArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: ConfigAction,
}

/// What can be done with settings.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum ConfigAction {
    /// Print every setting, and with --origin where it came from
    ///
    /// Built-in defaults, then your own file, the project's agar.toml, AGAR_* variables and flags;
    /// later wins. A project file cannot loosen the walls until you have accepted it with `agar
    /// approve`.
    #[command(after_long_help = "\
Examples:
  agar config show
  agar config show limits --origin")]
    Show(ShowArgs),
    /// Accept the settings of this project: the same as `agar approve`
    Approve(ApproveArgs),
}

/// Which settings.
#[derive(Debug, Clone, clap::Args)]
pub struct ShowArgs {
    /// Only this key and those below it
    #[arg(value_name = "KEY")]
    pub key: Option<String>,

    /// Say where each value came from
    #[arg(long)]
    pub origin: bool,
}

/// Shows them.
pub fn run(args: &ConfigArgs, context: &Context) -> Result<u8, Failure> {
    let show = match &args.action {
        ConfigAction::Show(show) => show,
        ConfigAction::Approve(args) => return approve::run(args, context),
    };
    let request = ConfigRequest {
        key: show.key.clone(),
    };
    let answer = config(&context.engine()?, &request)?;
    context.ui.answer(&answer, |answer, palette| {
        words(answer, show.origin, palette)
    })?;
    if !answer.unapproved.is_empty() && context.ui.form == crate::ui::Form::Words {
        let waiting = printable(&answer.unapproved.join(", ")).into_owned();
        context.ui.say_block(
            &Block::new()
                .line(
                    block::NOTE,
                    format!("not in force until accepted: {waiting}"),
                )
                .line(
                    block::HINT,
                    "read agar.toml, then accept it with `agar approve`",
                ),
        );
    }
    Ok(DONE)
}

fn words(answer: &ConfigAnswer, origin: bool, palette: Palette) -> String {
    let mut table = Table::default();
    for setting in &answer.settings {
        let value = printable(&setting.value.to_string()).into_owned();
        let mut row = vec![Cell::from(setting.key.clone()), value.into()];
        if origin {
            let origin = printable(&setting.origin).into_owned();
            row.push(Cell::toned(Tone::Dim, origin));
        }
        table.row(row);
    }
    table.render(palette)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::examples;

    #[test]
    fn settings_are_shown_with_their_origin_when_asked() {
        let answer = examples::config();
        insta::assert_snapshot!(words(&answer, false, Palette::Plain), @r#"
        limits.memory  "512M"
        network.mode   "none"
        "#);
        insta::assert_snapshot!(words(&answer, true, Palette::Plain), @r#"
        limits.memory  "512M"  /home/ana/src/shop/agar.toml
        network.mode   "none"  default
        "#);
    }
}
