//! Reading a child from what was answered: a line of a program, or the words of a language model.

use super::super::eval::{Candidate, code};
use agar_evolve::outside::NoChild;
use agar_evolve::{Code, Tree};
use serde::Deserialize;

/// What a program may answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Reply {
    /// Why there is no child.
    error: Option<String>,
    formula: Option<String>,
    tree: Option<String>,
    wat: Option<String>,
    wasm: Option<String>,
    javascript: Option<String>,
    numbers: Option<Vec<f64>>,
}

/// How much of somebody's own words is kept.
const WORDS_KEPT: usize = 300;

/// Somebody's own words, not too many of them.
pub(super) fn some(words: &str) -> String {
    words.trim().chars().take(WORDS_KEPT).collect()
}

/// Reads an object of JSON.
pub(super) fn from_json(text: &str, arguments: u16) -> Result<Code, NoChild> {
    let reply: Reply = serde_json::from_str(text).map_err(|error| NoChild::Nonsense {
        words: error.to_string(),
    })?;
    if let Some(words) = reply.error {
        return Err(NoChild::Refused {
            words: some(&words),
        });
    }
    let candidate = Candidate {
        id: None,
        formula: reply.formula,
        tree: reply.tree,
        wat: reply.wat,
        wasm: reply.wasm,
        javascript: reply.javascript,
        numbers: reply.numbers,
    };
    code(&candidate, arguments).map_err(|words| NoChild::NotCode {
        words: some(&words),
    })
}

/// Reads what a language model said: the last fenced block, or all of it where there is none.
pub(super) fn from_words(text: &str, arguments: u16) -> Result<Code, NoChild> {
    let said = fenced(text).unwrap_or(text).trim();
    if said.is_empty() {
        return Err(NoChild::Nonsense {
            words: "it says nothing".to_owned(),
        });
    }
    if said.starts_with('{') {
        return from_json(said, arguments);
    }
    let mut candidate = Candidate::default();
    if said.starts_with("(module") {
        candidate.wat = Some(said.to_owned());
    } else if is_script(said) {
        candidate.javascript = Some(said.to_owned());
    } else if Tree::parse(said, arguments).is_ok() {
        candidate.tree = Some(said.to_owned());
    } else {
        candidate.formula = Some(formula(said).to_owned());
    }
    code(&candidate, arguments).map_err(|words| NoChild::NotCode {
        words: some(&words),
    })
}

/// Whether it defines a function as JavaScript does, which no formula contains.
fn is_script(said: &str) -> bool {
    ["function ", "=>"].iter().any(|mark| said.contains(mark))
}

/// The content of the last fenced block, without the word for its language.
fn fenced(text: &str) -> Option<&str> {
    let parts: Vec<&str> = text.split("```").collect();
    // Every second part is inside; one that is not closed counts too, since models are cut off.
    let inside = parts.iter().enumerate().filter(|(at, _)| at % 2 == 1);
    let block = inside.map(|(_, part)| *part).next_back()?;
    Some(match block.split_once('\n') {
        Some((tag, rest)) if tag.trim().chars().all(char::is_alphanumeric) => rest,
        Some(_) | None => block,
    })
}

/// The last line that says something, without `f(x) =` in front.
fn formula(said: &str) -> &str {
    let mut lines = said.lines().filter(|line| !line.trim().is_empty());
    let line = lines.next_back().unwrap_or(said);
    line.rsplit('=').next().unwrap_or(line).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(said: &str) -> String {
        match from_words(said, 1) {
            Ok(Code::Tree(tree)) => tree.to_string(),
            other => panic!("{said:?}: {other:?}"),
        }
    }

    #[test]
    fn a_child_is_found_in_what_models_say() {
        let expected = tree("x*x + 1");
        for said in [
            "Sure! Here it is:\n```\nx*x + 1\n```\nIt should do better.",
            "```python\nf(x) = x*x + 1\n```",
            "first\n```\nx\n```\nthen better\n```text\nx*x + 1\n```",
            "{\"formula\": \"x*x + 1\"}",
            "```json\n{\"formula\": \"x*x + 1\", \"why\": \"it is a parabola\"}\n```",
            "```\nx*x + 1",
            &format!("```lisp\n{expected}\n```"),
        ] {
            assert_eq!(tree(said), expected, "{said}");
        }
        let module = from_words("```wat\n(module (func (export \"f\")))\n```", 1);
        assert!(matches!(module, Ok(Code::Module(_))), "{module:?}");
        for said in [
            "```js\nfunction evaluate(input) { return 1; }\n```",
            "```javascript\nconst evaluate = (input) => 1;\n```",
            "{\"javascript\": \"const evaluate = (input) => 1;\"}",
        ] {
            let script = from_words(said, 1);
            assert!(matches!(script, Ok(Code::Script(_))), "{script:?}");
        }
    }

    #[test]
    fn what_is_no_child_has_a_word_for_it() {
        let word = |answer: Result<Code, NoChild>| answer.unwrap_err().word();
        assert_eq!(word(from_words("", 1)), "nonsense");
        assert_eq!(word(from_words("I would rather not.", 1)), "not_code");
        assert_eq!(word(from_words("(module (func", 1)), "not_code");
        assert_eq!(word(from_json("x*x", 1)), "nonsense");
        assert_eq!(word(from_json("[1, 2]", 1)), "nonsense");
        assert_eq!(word(from_json("{\"error\": \"no idea\"}", 1)), "refused");
        assert_eq!(word(from_json("{}", 1)), "not_code");
        assert_eq!(
            word(from_json("{\"formula\": \"x\", \"tree\": \"x0\"}", 1)),
            "not_code"
        );
        assert_eq!(word(from_json("{\"wasm\": \"zz\"}", 1)), "not_code");
    }
}
