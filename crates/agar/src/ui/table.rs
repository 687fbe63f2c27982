//! Columns for `ls`, `ps` and `doctor`.

use super::palette::{Palette, Tone};

/// One field of a table.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    text: String,
    tone: Option<Tone>,
}

impl Cell {
    /// A field in a tone.
    pub fn toned(tone: Tone, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tone: Some(tone),
        }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            tone: None,
        }
    }
}

/// Rows whose columns line up, two spaces apart.
#[derive(Debug, Clone, Default)]
pub struct Table {
    heads: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table with these headings; none at all for a table without.
    pub fn new(heads: &[&'static str]) -> Self {
        Self {
            heads: heads.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows, aligned, without blanks at the ends of lines.
    pub fn render(&self, palette: Palette) -> String {
        let widths = self.widths();
        let mut text = String::new();
        if !self.heads.is_empty() {
            let heads: Vec<Cell> = self
                .heads
                .iter()
                .map(|&head| Cell::toned(Tone::Dim, head))
                .collect();
            render_row(&heads, &widths, palette, &mut text);
        }
        for row in &self.rows {
            render_row(row, &widths, palette, &mut text);
        }
        text
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.heads.iter().map(|head| head.chars().count()).collect();
        for row in &self.rows {
            widths.resize(widths.len().max(row.len()), 0);
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        widths
    }
}

fn render_row(cells: &[Cell], widths: &[usize], palette: Palette, text: &mut String) {
    let used = cells.iter().rposition(|cell| !cell.text.is_empty());
    let used = used.map_or(0, |last| last + 1);
    for (index, (cell, width)) in cells.iter().zip(widths).take(used).enumerate() {
        match cell.tone {
            Some(tone) => text.push_str(&palette.paint(tone, &cell.text)),
            None => text.push_str(&cell.text),
        }
        if index + 1 < used {
            text.extend(std::iter::repeat_n(' ', width - cell.width() + 2));
        }
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_do_not_end_in_blanks() {
        let mut table = Table::new(&["ID", "STATE", "NOTE"]);
        table.row(vec!["calm-fern".into(), "finished".into(), "".into()]);
        table.row(vec![
            Cell::toned(Tone::Name, "dim-reed"),
            "paused".into(),
            "größe".into(),
        ]);
        insta::assert_snapshot!(table.render(Palette::Plain), @r"
        ID         STATE     NOTE
        calm-fern  finished
        dim-reed   paused    größe
        ");
        assert!(
            table
                .render(Palette::Colour)
                .contains("\x1b[36mdim-reed\x1b[0m   paused")
        );
    }
}
