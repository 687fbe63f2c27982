//! A settings file, key by key, with the place of whatever is wrong in it.

use super::failure::{Position, SettingsError};
use agar_core::settings::{Check, Key, Layer, NotAValue, Origin, Raw, Source};
use agar_core::suggest;
use agar_review::Format;
use serde::Deserialize as _;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Reads the text of a settings file.
///
/// `origin` is what each value will say about where it came from.
pub fn parse(
    path: &Path,
    text: &str,
    source: Source,
    origin: &Origin,
) -> Result<Layer, SettingsError> {
    let mut reader = Reader {
        path,
        text,
        origin,
        layer: Layer::new(source),
    };
    let table = DeTable::parse(text).map_err(|error| SettingsError::Syntax {
        path: path.to_owned(),
        at: reader.at(error.span().map_or(0, |span| span.start)),
        message: error.message().trim().replace('\n', "; "),
    })?;
    reader.table("", table.get_ref())?;
    Ok(reader.layer)
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    origin: &'a Origin,
    layer: Layer,
}

impl Reader<'_> {
    fn table(&mut self, group: &str, table: &DeTable<'_>) -> Result<(), SettingsError> {
        for (name, value) in table {
            let key = if group.is_empty() {
                name.get_ref().to_string()
            } else {
                format!("{group}.{}", name.get_ref())
            };
            self.entry(&key, name.span().start, value)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        name: &str,
        start: usize,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), SettingsError> {
        if let Some(key) = Key::from_name(name) {
            let raw = self.raw(key, value)?;
            let set = self.layer.set(key, &raw, self.origin.clone());
            return set.map_err(|fault| self.bad(name, value.span().start, fault));
        }
        if let Some(table) = value.get_ref().as_table().filter(|_| Key::is_group(name)) {
            return self.table(name, table);
        }
        Err(SettingsError::UnknownKey {
            path: self.path.to_owned(),
            at: self.at(start),
            key: name.to_owned(),
            suggestion: Key::suggest(name).map(str::to_owned),
        })
    }

    fn raw(&self, key: Key, value: &Spanned<DeValue<'_>>) -> Result<Raw, SettingsError> {
        if key == Key::Check {
            return self.checks(value);
        }
        let strings = |array: &toml::de::DeArray<'_>| {
            array
                .iter()
                .map(|item| item.get_ref().as_str().map(str::to_owned))
                .collect::<Option<Vec<String>>>()
        };
        Ok(match value.get_ref() {
            DeValue::String(text) => Raw::Text(text.to_string()),
            DeValue::Integer(number) => {
                i64::from_str_radix(&number.as_str().replace('_', ""), number.radix())
                    .map_or(Raw::Other("a number that large"), Raw::Integer)
            }
            DeValue::Float(number) => number
                .as_str()
                .replace('_', "")
                .parse()
                .map_or(Raw::Other("a number like that"), Raw::Float),
            DeValue::Boolean(flag) => Raw::Boolean(*flag),
            DeValue::Array(array) => {
                strings(array).map_or(Raw::Other("a list of other things"), Raw::List)
            }
            DeValue::Table(table) => {
                let allow = table.iter().next().filter(|(name, value)| {
                    table.len() == 1 && name.get_ref() == "allow" && value.get_ref().is_array()
                });
                allow
                    .and_then(|(_, value)| strings(value.get_ref().as_array()?))
                    .map_or(Raw::Other("a table"), Raw::Allow)
            }
            DeValue::Datetime(_) => Raw::Other("a date"),
        })
    }

    fn checks(&self, value: &Spanned<DeValue<'_>>) -> Result<Raw, SettingsError> {
        let Some(array) = value.get_ref().as_array() else {
            return Ok(Raw::Other("a single table"));
        };
        let mut checks: Vec<Check> = Vec::new();
        for item in array {
            let check = self.check(item)?;
            if checks.iter().any(|other| other.name == check.name) {
                let fault = fault("give each check its own name", &check.name);
                return Err(self.bad("check", item.span().start, fault));
            }
            checks.push(check);
        }
        Ok(Raw::Checks(checks))
    }

    fn check(&self, item: &Spanned<DeValue<'_>>) -> Result<Check, SettingsError> {
        for (name, _) in item.get_ref().as_table().into_iter().flatten() {
            if !Check::FIELDS.contains(&name.get_ref().as_ref()) {
                return Err(SettingsError::UnknownKey {
                    path: self.path.to_owned(),
                    at: self.at(name.span().start),
                    key: format!("check.{}", name.get_ref()),
                    suggestion: suggest::nearest(name.get_ref(), Check::FIELDS)
                        .map(|field| format!("check.{field}")),
                });
            }
        }
        let source = toml::de::ValueDeserializer::from(item.clone());
        let check = Check::deserialize(source).map_err(|error| {
            let start = error.span().map_or(item.span().start, |span| span.start);
            let fault = fault("write name and run", error.message().trim());
            self.bad("check", start, fault)
        })?;
        match &check.format {
            Some(word) if Format::from_word(word).is_none() => {
                let words = Format::ALL.map(Format::word);
                let wanted = format!("choose one of {}", words.join(", "));
                let mut fault = fault(&wanted, word);
                fault.suggestion = suggest::nearest(word, words).map(str::to_owned);
                Err(self.bad("check.format", item.span().start, fault))
            }
            Some(_) | None => Ok(check),
        }
    }

    fn bad(&self, key: &str, start: usize, fault: NotAValue) -> SettingsError {
        SettingsError::BadValue {
            path: self.path.to_owned(),
            at: self.at(start),
            key: key.to_owned(),
            fault: Box::new(fault),
        }
    }

    fn at(&self, byte: usize) -> Position {
        Position::of(self.text, byte)
    }
}

fn fault(wanted: &str, found: &str) -> NotAValue {
    NotAValue {
        wanted: wanted.to_owned(),
        found: format!("`{found}`"),
        suggestion: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agar_core::fault::{Fault as _, Kind, Remedy};
    use agar_core::settings::{Who, resolve};
    use agar_core::size::Bytes;
    use agar_core::walls::Network;

    fn read(text: &str) -> Result<Layer, SettingsError> {
        let path = Path::new("agar.toml");
        let origin = Origin::Project {
            path: path.to_owned(),
        };
        parse(path, text, Source::ApprovedProject, &origin)
    }

    fn complaint(text: &str) -> (String, Option<Remedy>) {
        let error = read(text).unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid);
        (error.to_string(), error.remedy())
    }

    #[test]
    fn a_whole_file_is_read() {
        let text = r#"
            tier = "landlock"
            base = "live"
            network = { allow = ["crates.io"] }
            mask = ["~/notes"]
            env = ["DATABASE_URL"]
            setup = ["npm ci"]
            max_concurrent_sandboxes = 3

            [limits]
            cpu = 200
            memory = "2G"
            timeout = "5m"
            disk = 100

            [cleanup]
            idle_s = 60
            disk_budget = "none"

            [apply]
            commit = true

            [[check]]
            name = "test"
            run = "cargo test"
            timeout_s = 600
        "#;
        let settings = resolve(Who::Person, &[read(text).unwrap()]).settings;
        let names = vec!["crates.io".to_owned()];
        assert_eq!(settings.network, Network::Allow { names });
        assert_eq!(settings.limits.memory_bytes, Some(Bytes(2 << 30)));
        assert_eq!(settings.limits.disk_bytes, Some(Bytes(100 << 20)));
        assert_eq!(settings.limits.timeout_ms, Some(300_000));
        assert_eq!(settings.cleanup.idle_ms, Some(60_000));
        assert_eq!(settings.cleanup.disk_budget, None);
        assert_eq!(settings.checks[0].run, "cargo test");
        assert!(settings.apply_commit);
    }

    #[test]
    fn an_unknown_key_says_where_and_what_was_meant() {
        let (said, remedy) = complaint("tier = \"full\"\nnetwrok = \"none\"\n");
        assert_eq!(said, "agar.toml:2:1: there is no setting `netwrok`");
        let value = "network".to_owned();
        assert_eq!(remedy, Some(Remedy::Suggest { value }));
        let (said, remedy) = complaint("[limits]\n  memroy = 5\n");
        assert_eq!(said, "agar.toml:2:3: there is no setting `limits.memroy`");
        let value = "limits.memory".to_owned();
        assert_eq!(remedy, Some(Remedy::Suggest { value }));
        let (said, _) = complaint("[[check]]\nname = \"a\"\nrum = \"b\"\n");
        assert_eq!(said, "agar.toml:3:1: there is no setting `check.rum`");
    }

    #[test]
    fn a_bad_value_says_where_and_what_would_fit() {
        for (text, said) in [
            (
                "tier = \"ful\"",
                "agar.toml:1:8: `tier`: choose one of full, helper, landlock, none, not `ful`",
            ),
            (
                "[limits]\nmemory = true",
                "agar.toml:2:10: `limits.memory`: write a size such as 512M or 2G, not true",
            ),
            (
                "nested = 3",
                "agar.toml:1:10: `nested`: write true or false, not 3",
            ),
            ("limits = 3", "agar.toml:1:1: there is no setting `limits`"),
        ] {
            assert_eq!(complaint(text).0, said);
        }
        assert!(
            complaint("env = [\"LD_PRELOAD\"]")
                .0
                .contains("never passed")
        );
        assert!(complaint("env = [1]").0.contains("write a list of texts"));
        assert!(
            complaint("[[check]]\nname = \"a\"")
                .0
                .contains("missing field `run`")
        );
        let twice = "[[check]]\nname='a'\nrun='b'\n[[check]]\nname='a'\nrun='c'";
        assert!(complaint(twice).0.contains("its own name"));
        let (said, remedy) = complaint("[[check]]\nname='a'\nrun='b'\nformat='junitt'");
        assert!(said.contains("choose one of junit, tap"), "{said}");
        let value = "junit".to_owned();
        assert_eq!(remedy, Some(Remedy::Suggest { value }));
    }

    #[test]
    fn what_is_not_toml_says_where() {
        let (said, _) = complaint("tier = \"full\"\nbase = = 3\n");
        assert!(said.starts_with("agar.toml:2:"), "{said}");
        let (said, _) = complaint("a\u{e9}\u{e9} = \"x");
        assert!(said.starts_with("agar.toml:1:"), "{said}");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "([a-z_.]{1,8}|=|\\[|\\]|\"|\n| |[0-9]|\u{e9}|\\{|\\}|limits|check|network|allow){0,30}") {
            drop(read(&text));
        }
    }
}
