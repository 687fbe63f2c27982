//! The life of a sandbox.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Where a sandbox is in its life.
///
/// ```text
/// Creating ──▶ Running ◀──▶ Paused
///     │           │            │
///     └───────────┴─────┬──────┘
///                       ▼
///                   Finished ──promote──▶ Promoted ──┐
///                    │    ▲ └──discard──▶ Discarded ─┼──▶ Collected
///                    └────┘ ◀──take back──────┘     │
///                     start
/// ```
///
/// One that was promoted is discarded where something of it was not applied, starts again, and is
/// finished again when the promotion is undone or its files return to a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Its layers and jail are being made.
    Creating,
    /// Its jail is up.
    Running,
    /// Its processes are stopped.
    Paused,
    /// Its jail is gone, its layers are kept.
    Finished,
    /// Its changes were applied.
    Promoted,
    /// Its changes were given up.
    Discarded,
    /// Its layers are gone; the record remains.
    Collected,
}

/// Something that happens to a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The jail is up, for the first time or again.
    Start,
    /// Every process was stopped.
    Pause,
    /// The processes go on.
    Resume,
    /// The jail ended.
    Finish,
    /// The changes were applied to the project.
    Promote,
    /// A promotion was undone.
    Undo,
    /// The files went back to a snapshot, so that they are not what was applied.
    Return,
    /// The changes were given up, or what was not applied of them.
    Discard,
    /// The changes were wanted back.
    TakeBack,
    /// The layers were removed.
    Collect,
}

/// The event does not fit the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a sandbox that is {state} cannot {event}")]
pub struct OutOfTurn {
    /// Where the sandbox is.
    pub state: State,
    /// What was asked.
    pub event: Event,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 7] = [
        Self::Creating,
        Self::Running,
        Self::Paused,
        Self::Finished,
        Self::Promoted,
        Self::Discarded,
        Self::Collected,
    ];

    /// The state after an event, or why there is none.
    pub const fn after(self, event: Event) -> Result<Self, OutOfTurn> {
        match (self, event) {
            (Self::Creating | Self::Finished | Self::Promoted, Event::Start)
            | (Self::Paused, Event::Resume)
            | (Self::Running, Event::Return) => Ok(Self::Running),
            (Self::Running, Event::Pause) | (Self::Paused, Event::Return) => Ok(Self::Paused),
            (Self::Creating | Self::Running | Self::Paused | Self::Finished, Event::Finish)
            | (Self::Promoted, Event::Undo)
            | (Self::Finished | Self::Promoted, Event::Return)
            | (Self::Discarded, Event::TakeBack) => Ok(Self::Finished),
            (Self::Finished | Self::Promoted, Event::Promote) => Ok(Self::Promoted),
            (
                Self::Creating | Self::Running | Self::Paused | Self::Finished | Self::Promoted,
                Event::Discard,
            ) => Ok(Self::Discarded),
            (
                Self::Finished | Self::Promoted | Self::Discarded | Self::Collected,
                Event::Collect,
            ) => Ok(Self::Collected),
            (
                Self::Creating,
                Event::Pause
                | Event::Resume
                | Event::Promote
                | Event::Undo
                | Event::Return
                | Event::TakeBack
                | Event::Collect,
            )
            | (
                Self::Running,
                Event::Start
                | Event::Resume
                | Event::Promote
                | Event::Undo
                | Event::TakeBack
                | Event::Collect,
            )
            | (
                Self::Paused,
                Event::Start
                | Event::Pause
                | Event::Promote
                | Event::Undo
                | Event::TakeBack
                | Event::Collect,
            )
            | (Self::Finished, Event::Pause | Event::Resume | Event::Undo | Event::TakeBack)
            | (Self::Promoted, Event::Pause | Event::Resume | Event::Finish | Event::TakeBack)
            | (Self::Collected, Event::TakeBack)
            | (
                Self::Discarded | Self::Collected,
                Event::Start
                | Event::Pause
                | Event::Resume
                | Event::Finish
                | Event::Promote
                | Event::Undo
                | Event::Return
                | Event::Discard,
            ) => Err(OutOfTurn { state: self, event }),
        }
    }

    /// Whether a jail may be up.
    pub const fn is_alive(self) -> bool {
        matches!(self, Self::Creating | Self::Running | Self::Paused)
    }

    /// Whether its layers are still on disk.
    pub const fn has_layers(self) -> bool {
        !matches!(self, Self::Collected)
    }

    /// The word for it, everywhere.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Finished => "finished",
            Self::Promoted => "promoted",
            Self::Discarded => "discarded",
            Self::Collected => "collected",
        }
    }

    /// The state of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "start",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Finish => "finish",
            Self::Promote => "be promoted",
            Self::Undo => "be undone",
            Self::Return => "return to a snapshot",
            Self::Discard => "be discarded",
            Self::TakeBack => "be taken back",
            Self::Collect => "be collected",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_the_grave() {
        for event in [
            Event::Start,
            Event::Resume,
            Event::Promote,
            Event::Undo,
            Event::Discard,
        ] {
            assert!(State::Collected.after(event).is_err(), "{event}");
        }
    }

    #[test]
    fn nothing_alive_is_promoted_or_collected() {
        for state in State::ALL.into_iter().filter(|state| state.is_alive()) {
            assert!(state.after(Event::Promote).is_err(), "{state}");
            assert!(state.after(Event::Collect).is_err(), "{state}");
        }
    }

    #[test]
    fn collecting_twice_is_not_an_error() {
        assert_eq!(State::Collected.after(Event::Collect), Ok(State::Collected));
    }

    #[test]
    fn every_state_is_read_back_from_its_word() {
        for state in State::ALL {
            assert_eq!(State::from_word(state.word()), Some(state));
        }
    }
}
