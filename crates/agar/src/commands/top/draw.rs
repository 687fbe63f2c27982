//! How `top` looks.

use super::board::{Board, Column, Over, Row};
use crate::ui::human;
use crate::ui::palette::Palette;
use crate::ui::table::Table as PlainTable;
use agar_core::size::Bytes;
use agar_core::state::State;
use agar_core::text::printable;
use ratatui_core::layout::{Constraint, Layout, Rect};
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::terminal::Frame;
use ratatui_core::text::Line;
use ratatui_core::widgets::Widget as _;
use ratatui_widgets::block::Block;
use ratatui_widgets::borders::Borders;
use ratatui_widgets::clear::Clear;
use ratatui_widgets::paragraph::Paragraph;
use ratatui_widgets::table::{self, Table, TableState};

const NOTHING: &str = "–";
const KEYS: &str = "↑↓ select  o sort  r reverse  p pause  s stop  x remove  ? help  q leave";

const HELP: [&str; 10] = [
    "↑ ↓ j k    select a sandbox",
    "g G        the first, the last",
    "o          sort by the next column",
    "r          turn the order round",
    "p          have it stand still, or go on",
    "s          end what runs in it, keep what changed",
    "x          remove it; asks first",
    "q, Ctrl-C  leave",
    "",
    "any key closes this",
];

/// Draws everything.
pub(super) fn draw(board: &Board, frame: &mut Frame<'_>) {
    let [head, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let bold = Style::new().add_modifier(Modifier::BOLD);
    frame.render_widget(Line::styled(heading(board), bold), head);
    let mut state = TableState::default().with_selected(board.at());
    frame.render_stateful_widget(&rows(board), body, &mut state);
    let line = if board.said.is_empty() {
        Line::styled(KEYS, Style::new().add_modifier(Modifier::DIM))
    } else {
        Line::raw(printable(&board.said).into_owned())
    };
    frame.render_widget(line, foot);
    match board.over {
        Over::Nothing => {}
        Over::Help => over(frame, " keys ", &HELP),
        Over::Sure(id) => {
            let name = board.row_of(id).map_or("it", |row| row.alias.as_str());
            let question = format!("remove {name} and end what runs in it?");
            over(
                frame,
                " sure? ",
                &[&question, "", "y removes it, any other key does not"],
            );
        }
    }
}

fn heading(board: &Board) -> String {
    let running = board.rows.iter().filter(|row| row.state == State::Running);
    let cpu: u32 = board.rows.iter().filter_map(|row| row.cpu_percent).sum();
    let memory: u64 = board.rows.iter().filter_map(|row| row.memory_bytes).sum();
    let disk: u64 = board.rows.iter().filter_map(|row| row.disk_bytes).sum();
    format!(
        "agar  {} · {} up · cpu {cpu} % · memory {} · disk {}",
        human::count(board.rows.len() as u64, "sandbox", "sandboxes"),
        running.count(),
        Bytes(memory),
        Bytes(disk)
    )
}

fn rows(board: &Board) -> Table<'_> {
    let widths = [
        Constraint::Length(18),
        Constraint::Length(9),
        Constraint::Length(6),
        Constraint::Length(8),
        Constraint::Length(8),
        Constraint::Length(5),
        Constraint::Length(6),
        Constraint::Min(4),
    ];
    let titles = Column::ALL.map(|column| match (column == board.sort, board.reversed) {
        (true, false) => format!("{}▾", column.title()),
        (true, true) => format!("{}▴", column.title()),
        (false, _) => column.title().to_owned(),
    });
    let titles = titles.into_iter().chain(["NOTE".to_owned()]);
    let header = table::Row::new(titles).style(Style::new().add_modifier(Modifier::DIM));
    let rows = board.rows.iter().map(|row| {
        let tone = match row.state {
            State::Running | State::Creating => Style::new().fg(Color::Green),
            State::Paused => Style::new().fg(Color::Yellow),
            State::Finished => Style::new(),
            State::Promoted | State::Discarded | State::Collected => {
                Style::new().add_modifier(Modifier::DIM)
            }
        };
        table::Row::new(cells(row)).style(tone)
    });
    Table::new(rows, widths)
        .header(header)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
}

fn cells(row: &Row) -> [String; 8] {
    let bytes = |bytes: Option<u64>| bytes.map(|it| Bytes(it).to_string());
    let or_nothing = |text: Option<String>| text.unwrap_or_else(|| NOTHING.to_owned());
    [
        row.alias.clone(),
        row.state.word().to_owned(),
        or_nothing(row.cpu_percent.map(|percent| format!("{percent} %"))),
        or_nothing(bytes(row.memory_bytes)),
        or_nothing(bytes(row.disk_bytes)),
        row.runs.to_string(),
        human::age(row.age_ms),
        printable(&row.note).into_owned(),
    ]
}

/// Lines in a frame over the rest.
fn over(frame: &mut Frame<'_>, title: &str, lines: &[&str]) {
    let widest = lines.iter().map(|line| line.chars().count()).max();
    let width = u16::try_from(widest.unwrap_or(0) + 4).unwrap_or(u16::MAX);
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let whole = frame.area();
    let (width, height) = (width.min(whole.width), height.min(whole.height));
    let area = Rect {
        x: (whole.width - width) / 2,
        y: (whole.height - height) / 2,
        width,
        height,
    };
    Clear.render(area, frame.buffer_mut());
    let lines: Vec<Line<'_>> = lines
        .iter()
        .map(|line| Line::raw(format!(" {line}")))
        .collect();
    let block = Block::new().borders(Borders::ALL).title(title.to_owned());
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// One look, for a pipe.
pub(super) fn plain(board: &Board) -> String {
    let titles = Column::ALL.map(Column::title);
    let mut table = PlainTable::new(&[&titles[..], &["NOTE"]].concat());
    for row in &board.rows {
        table.row(cells(row).into_iter().map(Into::into).collect());
    }
    table.render(Palette::Plain)
}

#[cfg(test)]
mod tests {
    use super::super::board::Key;
    use super::*;
    use crate::schema::examples;
    use agar_core::seam::Timestamp;
    use ratatui_core::backend::TestBackend;
    use ratatui_core::terminal::Terminal;

    fn drawn(keys: &[Key], (columns, rows): (u16, u16)) -> String {
        let mut board = Board::default();
        let answer = examples::list();
        let now = Timestamp::from_millis(answer.sandboxes[0].sandbox.created_at.millis() + 60_000);
        board.look(answer, now);
        for key in keys {
            board.press(*key);
        }
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| draw(&board, frame)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn it_is_readable_at_eighty_columns() {
        insta::assert_snapshot!(drawn(&[], (80, 8)));
    }

    #[test]
    fn the_question_stands_over_the_table() {
        insta::assert_snapshot!(drawn(&[Key::Down, Key::Char('x')], (80, 10)));
    }

    #[test]
    fn a_window_of_any_size_is_drawn() {
        for size in [(1, 1), (5, 2), (20, 3), (300, 100)] {
            drawn(&[Key::Char('?')], size);
        }
    }
}
