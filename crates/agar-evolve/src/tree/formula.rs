//! Expressions as people learn them at school: `x^2 + 2*x - 1`.

use super::{Node, NotATree, Operator, Tree};

/// Parentheses that may be open at once.
const DEPTH_MAX: usize = 200;

/// The largest power that is written out as a product.
const POWER_MAX: u32 = 16;

/// Nodes that a formula may become.
const NODES_MAX: usize = 10_000;

impl Tree {
    /// Reads a formula: `+ - * / ^`, parentheses, `x0 x1 …` (`x`, `y` and `z` are the first three),
    /// and the operators by name, as in `max(x, 0)`. There are as many arguments as it names, at
    /// least one.
    pub fn formula(text: &str) -> Result<Self, NotATree> {
        let mut reader = Reader {
            rest: text,
            depth: 0,
        };
        let nodes = reader.sum()?;
        reader.skip();
        if !reader.rest.is_empty() {
            return Err(reader.unexpected());
        }
        let used = nodes.iter().filter_map(|node| match node {
            Node::Argument(index) => Some(index.saturating_add(1)),
            Node::Number(_) | Node::Apply(_) => None,
        });
        Self::new(used.max().unwrap_or(1), nodes)
    }

    /// The expression as a formula that [`Tree::formula`] reads.
    pub fn to_formula(&self) -> String {
        let mut parts: Vec<(String, u8)> = Vec::new();
        for node in self.nodes() {
            let part = match node {
                Node::Number(number) if number.is_sign_negative() => (number.to_string(), PREFIX),
                Node::Number(number) => (number.to_string(), ATOM),
                Node::Argument(0) if self.arguments() == 1 => ("x".to_owned(), ATOM),
                Node::Argument(index) => (format!("x{index}"), ATOM),
                Node::Apply(operator) => {
                    let operands = parts.split_off(parts.len() - operator.arity());
                    write(*operator, &operands)
                }
            };
            parts.push(part);
        }
        parts.pop().map(|(text, _)| text).unwrap_or_default()
    }
}

const SUM: u8 = 0;
const PRODUCT: u8 = 1;
const PREFIX: u8 = 2;
const ATOM: u8 = 3;

fn write(operator: Operator, operands: &[(String, u8)]) -> (String, u8) {
    let at = |index: usize, least: u8| match operands.get(index) {
        Some((text, strength)) if *strength < least => format!("({text})"),
        Some((text, _)) => text.clone(),
        None => String::new(),
    };
    match operator {
        Operator::Add => (format!("{} + {}", at(0, SUM), at(1, PRODUCT)), SUM),
        Operator::Sub => (format!("{} - {}", at(0, SUM), at(1, PRODUCT)), SUM),
        Operator::Mul => (format!("{} * {}", at(0, PRODUCT), at(1, PREFIX)), PRODUCT),
        Operator::Div => (format!("{} / {}", at(0, PRODUCT), at(1, PREFIX)), PRODUCT),
        Operator::Neg => (format!("-{}", at(0, ATOM)), PREFIX),
        Operator::Min
        | Operator::Max
        | Operator::Abs
        | Operator::Sqrt
        | Operator::Floor
        | Operator::IfLess => {
            let operands: Vec<&str> = operands.iter().map(|(text, _)| text.as_str()).collect();
            (
                format!("{}({})", operator.name(), operands.join(", ")),
                ATOM,
            )
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn unexpected(&self) -> NotATree {
        let word: String = self.rest.chars().take(20).collect();
        if word.is_empty() {
            NotATree::Incomplete
        } else {
            NotATree::Word(word)
        }
    }

    fn take(&mut self, symbol: char) -> bool {
        self.skip();
        match self.rest.strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, symbol: char) -> Result<(), NotATree> {
        if self.take(symbol) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|letter| !belongs(letter));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn sum(&mut self) -> Result<Vec<Node>, NotATree> {
        self.chain(&[('+', Operator::Add), ('-', Operator::Sub)], Self::product)
    }

    fn product(&mut self) -> Result<Vec<Node>, NotATree> {
        self.chain(
            &[('*', Operator::Mul), ('/', Operator::Div)],
            Self::prefixed,
        )
    }

    fn chain(
        &mut self,
        symbols: &[(char, Operator)],
        part: impl Fn(&mut Self) -> Result<Vec<Node>, NotATree>,
    ) -> Result<Vec<Node>, NotATree> {
        let mut nodes = part(self)?;
        while let Some((_, operator)) = symbols.iter().find(|(symbol, _)| self.take(*symbol)) {
            nodes.extend(part(self)?);
            nodes.push(Node::Apply(*operator));
            if nodes.len() > NODES_MAX {
                return Err(NotATree::TooDeep);
            }
        }
        Ok(nodes)
    }

    fn prefixed(&mut self) -> Result<Vec<Node>, NotATree> {
        let mut minuses = 0_usize;
        while self.take('-') {
            minuses += 1;
        }
        let mut nodes = self.power()?;
        if let ([Node::Number(number)], 1) = (nodes.as_mut_slice(), minuses) {
            *number = -*number;
        } else {
            nodes.extend(std::iter::repeat_n(Node::Apply(Operator::Neg), minuses));
        }
        Ok(nodes)
    }

    fn power(&mut self) -> Result<Vec<Node>, NotATree> {
        let base = self.atom()?;
        if !self.take('^') {
            return Ok(base);
        }
        self.skip();
        let word = self.word(|letter| letter.is_ascii_digit());
        let power: Option<u32> = word.parse().ok().filter(|it| (1..=POWER_MAX).contains(it));
        let power = power.ok_or_else(|| NotATree::Word(format!("^{word}")))?;
        let mut nodes = base.clone();
        for _ in 1..power {
            nodes.extend_from_slice(&base);
            nodes.push(Node::Apply(Operator::Mul));
            if nodes.len() > NODES_MAX {
                return Err(NotATree::TooDeep);
            }
        }
        Ok(nodes)
    }

    fn atom(&mut self) -> Result<Vec<Node>, NotATree> {
        if self.depth == DEPTH_MAX {
            return Err(NotATree::TooDeep);
        }
        self.depth += 1;
        self.skip();
        let nodes = match self.rest.chars().next() {
            Some('(') => {
                self.expect('(')?;
                let nodes = self.sum()?;
                self.expect(')')?;
                nodes
            }
            Some(letter) if letter.is_ascii_digit() || letter == '.' => vec![self.number()?],
            Some(letter) if letter.is_ascii_alphabetic() => self.named()?,
            Some(_) | None => return Err(self.unexpected()),
        };
        self.depth -= 1;
        Ok(nodes)
    }

    fn number(&mut self) -> Result<Node, NotATree> {
        let mut word = self
            .word(|letter| letter.is_ascii_digit() || letter == '.')
            .to_owned();
        let exponent = self.rest.strip_prefix(['e', 'E']);
        let digits = exponent.map(|rest| rest.strip_prefix(['-', '+']).unwrap_or(rest));
        if digits.is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit())) {
            word.push_str(self.word(|letter| letter.is_ascii_alphabetic()));
            word.push_str(self.word(|letter| "+-".contains(letter)));
            word.push_str(self.word(|letter| letter.is_ascii_digit()));
        }
        let number: Result<f64, _> = word.parse();
        number.map(Node::Number).map_err(|_| NotATree::Word(word))
    }

    fn named(&mut self) -> Result<Vec<Node>, NotATree> {
        let name = self.word(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if let Some(operator) = Operator::named(name) {
            return self.call(operator);
        }
        let index = match name {
            "x" => Some(0),
            "y" => Some(1),
            "z" => Some(2),
            _ => name.strip_prefix('x').and_then(|index| index.parse().ok()),
        };
        let index = index.ok_or_else(|| NotATree::Word(name.chars().take(40).collect()))?;
        Ok(vec![Node::Argument(index)])
    }

    fn call(&mut self, operator: Operator) -> Result<Vec<Node>, NotATree> {
        self.expect('(')?;
        let mut nodes = Vec::new();
        for operand in 0..operator.arity() {
            if operand > 0 {
                self.expect(',')?;
            }
            nodes.extend(self.sum()?);
        }
        self.expect(')')?;
        nodes.push(Node::Apply(operator));
        Ok(nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn formulas_mean_what_people_mean() {
        for (text, at, value) in [
            ("x^2 + 2*x - 1", 3.0, 14.0),
            ("-x * 2 - -1", 3.0, -5.0),
            ("2 - 3 - 4", 0.0, -5.0),
            ("8 / 4 / 2", 0.0, 1.0),
            ("(x + 1)*(x - 1)", 4.0, 15.0),
            ("max(x, 7) + min(1, x0)", 5.0, 8.0),
            ("if_less(x, 0, 1, 1.5e1)", 5.0, 15.0),
            ("2*x^3", 2.0, 16.0),
            ("-x^2", 3.0, -9.0),
        ] {
            let tree = Tree::formula(text).unwrap();
            assert!((tree.value(&[at]) - value).abs() < 1e-12, "{text}");
        }
        assert_eq!(Tree::formula("x + y + x4").unwrap().arguments(), 5);
    }

    #[test]
    fn what_is_no_formula_is_refused() {
        for text in [
            "", "x +", "(x", "x)", "foo(x)", "x ^ y", "x^99", "1..2", "max(x)", "x x",
        ] {
            assert!(Tree::formula(text).is_err(), "{text}");
        }
        assert!(Tree::formula(&"(".repeat(100_000)).is_err());
        assert!(Tree::formula("(((x^16)^16)^16)^16").is_err());
    }

    proptest! {
        #[test]
        fn no_formula_makes_the_reader_panic(text in "[()a-z0-9x.^*/+, -]{0,60}") {
            drop(Tree::formula(&text));
        }

        #[test]
        fn a_formula_written_down_is_the_same_expression(seed: u64) {
            let mut chance = crate::Chance::of(&[seed]);
            let tree = crate::breed::grow(&crate::Soil::of(3), 6, &mut chance);
            let again = Tree::formula(&tree.to_formula()).unwrap();
            let again = Tree::new(3, again.nodes().to_vec()).unwrap();
            let at = [0.75, -3.5, 12.25];
            prop_assert_eq!(tree.value(&at).to_bits(), again.value(&at).to_bits());
        }
    }
}
