//! What `top` shows and what keys do to it: plain data, without a terminal.

use agar_core::id::SandboxId;
use agar_core::seam::Timestamp;
use agar_core::state::State;
use agar_engine::list::{ListAnswer, Listed};
use std::collections::BTreeMap;

/// A key that was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Up,
    Down,
    Home,
    End,
    Escape,
}

/// What the person wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    Leave,
    Stop(SandboxId),
    Pause(SandboxId),
    Resume(SandboxId),
    Remove(SandboxId),
}

/// The columns that the table can be sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Column {
    #[default]
    Age,
    Name,
    State,
    Cpu,
    Memory,
    Disk,
    Runs,
}

impl Column {
    pub(super) const ALL: [Self; 7] = [
        Self::Name,
        Self::State,
        Self::Cpu,
        Self::Memory,
        Self::Disk,
        Self::Runs,
        Self::Age,
    ];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Age => "AGE",
            Self::Name => "ID",
            Self::State => "STATE",
            Self::Cpu => "CPU",
            Self::Memory => "MEM",
            Self::Disk => "DISK",
            Self::Runs => "RUNS",
        }
    }

    fn next(self) -> Self {
        let at = Self::ALL.iter().position(|it| *it == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()]
    }
}

/// What stands over the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Over {
    #[default]
    Nothing,
    Help,
    /// Asks whether to remove this one.
    Sure(SandboxId),
}

/// One sandbox.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) id: SandboxId,
    pub(super) alias: String,
    pub(super) state: State,
    pub(super) cpu_percent: Option<u32>,
    pub(super) memory_bytes: Option<u64>,
    pub(super) disk_bytes: Option<u64>,
    pub(super) runs: u32,
    pub(super) age_ms: u64,
    pub(super) note: String,
}

/// Everything that is shown.
#[derive(Debug, Default)]
pub(super) struct Board {
    pub(super) rows: Vec<Row>,
    pub(super) sort: Column,
    pub(super) reversed: bool,
    pub(super) selected: Option<SandboxId>,
    pub(super) over: Over,
    /// What came of the last wish.
    pub(super) said: String,
    /// Processor time when it was last looked at, and when that was.
    before: BTreeMap<SandboxId, (u64, Timestamp)>,
}

impl Board {
    /// Takes in how things are now.
    pub(super) fn look(&mut self, answer: ListAnswer, now: Timestamp) {
        let mut seen = BTreeMap::new();
        self.rows = answer
            .sandboxes
            .into_iter()
            .map(|listed| {
                if let Some(cpu_ms) = listed.cpu_ms {
                    seen.insert(listed.sandbox.id, (cpu_ms, now));
                }
                self.row(listed, now)
            })
            .collect();
        self.before = seen;
        self.order();
        if self.at().is_none() {
            self.selected = self.rows.first().map(|row| row.id);
        }
    }

    fn row(&self, listed: Listed, now: Timestamp) -> Row {
        let sandbox = listed.sandbox;
        let last = listed.last_run.map(|run| run.command);
        Row {
            cpu_percent: self
                .cpu(sandbox.id, listed.cpu_ms, now)
                .or(listed.cpu_percent),
            id: sandbox.id,
            alias: sandbox.alias,
            state: sandbox.state,
            memory_bytes: listed.memory_bytes,
            disk_bytes: listed.disk_bytes,
            runs: sandbox.runs,
            age_ms: now.since(sandbox.created_at),
            note: sandbox.note.or(last).unwrap_or_default(),
        }
    }

    /// What it used of a processor since the last look.
    fn cpu(&self, id: SandboxId, cpu_ms: Option<u64>, now: Timestamp) -> Option<u32> {
        let (before, then) = self.before.get(&id)?;
        // What ended meanwhile took its time with it.
        let used = cpu_ms?.saturating_sub(*before);
        let percent = (used * 100).checked_div(now.since(*then))?;
        u32::try_from(percent).ok()
    }

    fn order(&mut self) {
        let sort = self.sort;
        self.rows.sort_by(|one, other| {
            let ordering = match sort {
                Column::Age => one.age_ms.cmp(&other.age_ms),
                Column::Name => one.alias.cmp(&other.alias),
                Column::State => one.state.cmp(&other.state),
                // The largest first: that is what one looks for.
                Column::Cpu => other.cpu_percent.cmp(&one.cpu_percent),
                Column::Memory => other.memory_bytes.cmp(&one.memory_bytes),
                Column::Disk => other.disk_bytes.cmp(&one.disk_bytes),
                Column::Runs => other.runs.cmp(&one.runs),
            };
            ordering.then_with(|| one.alias.cmp(&other.alias))
        });
        if self.reversed {
            self.rows.reverse();
        }
    }

    /// The place of the selected row.
    pub(super) fn at(&self) -> Option<usize> {
        let selected = self.selected?;
        self.rows.iter().position(|row| row.id == selected)
    }

    pub(super) fn row_of(&self, id: SandboxId) -> Option<&Row> {
        self.rows.iter().find(|row| row.id == id)
    }

    fn select(&mut self, at: usize) {
        let last = self.rows.len().saturating_sub(1);
        self.selected = self.rows.get(at.min(last)).map(|row| row.id);
    }

    /// A key was pressed. What has to be done about it, if anything.
    pub(super) fn press(&mut self, key: Key) -> Option<Wish> {
        self.said.clear();
        match (std::mem::take(&mut self.over), key) {
            (Over::Sure(id), Key::Char('y')) => return Some(Wish::Remove(id)),
            (Over::Sure(_), _) => "kept".clone_into(&mut self.said),
            (Over::Help, _) => {}
            (Over::Nothing, key) => return self.act(key),
        }
        None
    }

    fn act(&mut self, key: Key) -> Option<Wish> {
        let at = self.at().unwrap_or(0);
        match key {
            Key::Char('q' | '\u{3}') | Key::Escape => return Some(Wish::Leave),
            Key::Up | Key::Char('k') => self.select(at.saturating_sub(1)),
            Key::Down | Key::Char('j') => self.select(at + 1),
            Key::Home | Key::Char('g') => self.select(0),
            Key::End | Key::Char('G') => self.select(usize::MAX),
            Key::Char('o') => {
                self.sort = self.sort.next();
                self.order();
            }
            Key::Char('r') => {
                self.reversed = !self.reversed;
                self.order();
            }
            Key::Char('s') => return self.stop(),
            Key::Char('p') => return self.pause(),
            Key::Char('x') => self.over = self.selected.map_or(Over::Nothing, Over::Sure),
            Key::Char('?' | 'h') => self.over = Over::Help,
            Key::Char(_) => {}
        }
        None
    }

    /// Pauses what runs, and has go on what is paused.
    fn pause(&mut self) -> Option<Wish> {
        let row = self.row_of(self.selected?)?;
        match row.state {
            State::Running => Some(Wish::Pause(row.id)),
            State::Paused => Some(Wish::Resume(row.id)),
            State::Creating
            | State::Finished
            | State::Promoted
            | State::Discarded
            | State::Collected => {
                self.said = format!("nothing runs in {}", row.alias);
                None
            }
        }
    }

    fn stop(&mut self) -> Option<Wish> {
        let row = self.row_of(self.selected?)?;
        if row.state.is_alive() {
            return Some(Wish::Stop(row.id));
        }
        self.said = format!("nothing runs in {}", row.alias);
        None
    }
}

/// Keys out of what a terminal sends for them.
pub(super) fn keys(bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    let text = String::from_utf8_lossy(bytes);
    let mut rest = text.as_ref();
    while let Some(first) = rest.chars().next() {
        let known = [
            ("\u{1b}[A", Key::Up),
            ("\u{1b}OA", Key::Up),
            ("\u{1b}[B", Key::Down),
            ("\u{1b}OB", Key::Down),
            ("\u{1b}[H", Key::Home),
            ("\u{1b}[F", Key::End),
        ];
        if let Some((sequence, key)) = known.iter().find(|(it, _)| rest.starts_with(it)) {
            keys.push(*key);
            rest = &rest[sequence.len()..];
        } else if first == '\u{1b}' {
            // Alone it is the key itself; the rest of a sequence that nobody knows is not for us.
            if rest.len() == 1 {
                keys.push(Key::Escape);
            }
            return keys;
        } else {
            keys.push(Key::Char(first));
            rest = &rest[first.len_utf8()..];
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::examples;

    fn board() -> Board {
        let mut board = Board::default();
        let answer = examples::list();
        let now = Timestamp::from_millis(answer.sandboxes[0].sandbox.created_at.millis() + 60_000);
        board.look(answer, now);
        board
    }

    #[test]
    fn nothing_is_removed_without_a_yes() {
        let mut board = board();
        let selected = board.selected;
        assert_eq!(board.press(Key::Char('x')), None);
        assert_eq!(board.press(Key::Char('q')), None);
        assert_eq!(board.said, "kept");
        assert_eq!(board.press(Key::Char('x')), None);
        assert_eq!(board.press(Key::Char('y')), selected.map(Wish::Remove));
    }

    #[test]
    fn the_selection_follows_the_sandbox_and_not_the_place() {
        let mut board = board();
        board.press(Key::Down);
        let selected = board.selected;
        for _ in Column::ALL {
            board.press(Key::Char('o'));
            board.press(Key::Char('r'));
            assert_eq!(board.selected, selected);
        }
    }

    #[test]
    fn the_processor_is_what_was_used_since_the_last_look() {
        let mut board = Board::default();
        let mut answer = examples::list();
        let id = answer.sandboxes[1].sandbox.id;
        let start = answer.sandboxes[1].sandbox.created_at.millis();
        answer.sandboxes[1].cpu_ms = Some(1_000);
        board.look(answer.clone(), Timestamp::from_millis(start + 10_000));
        answer.sandboxes[1].cpu_ms = Some(1_500);
        board.look(answer, Timestamp::from_millis(start + 11_000));
        assert_eq!(board.row_of(id).and_then(|row| row.cpu_percent), Some(50));
    }

    #[test]
    fn the_same_key_pauses_and_resumes() {
        let mut board = board();
        for (state, wish) in [
            (State::Running, Wish::Pause as fn(SandboxId) -> Wish),
            (State::Paused, Wish::Resume),
        ] {
            let id = board.rows[0].id;
            board.rows[0].state = state;
            board.selected = Some(id);
            assert_eq!(board.press(Key::Char('p')), Some(wish(id)));
        }
        board.rows[0].state = State::Finished;
        assert_eq!(board.press(Key::Char('p')), None);
        assert!(board.said.starts_with("nothing runs in"));
    }

    #[test]
    fn keys_are_read_out_of_what_a_terminal_sends() {
        assert_eq!(
            keys(b"j\x1b[A\x1bOBq"),
            [Key::Char('j'), Key::Up, Key::Down, Key::Char('q')]
        );
        assert_eq!(keys(b"\x1b"), [Key::Escape]);
        assert_eq!(keys(b"\x1b[1;5C"), []);
    }
}
